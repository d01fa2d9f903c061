#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace glia {

/// Memory for objects that are all released together. `allocate` advances a pointer, and `reset`
/// reuses the memory from the beginning, so that after a few rounds nothing more is requested from
/// the system. The caller runs the destructors.
class arena {
 public:
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    for (;; ++chunk_, used_ = 0) {
      if (chunk_ == chunks_.size()) {
        const std::size_t size = std::max(bytes + alignment, chunk_bytes);
        chunks_.push_back({std::unique_ptr<std::byte[]>(new std::byte[size]), size});
      }
      void* address = chunks_[chunk_].memory.get() + used_;
      std::size_t space = chunks_[chunk_].size - used_;
      if (std::align(alignment, bytes, address, space) != nullptr) {
        used_ = chunks_[chunk_].size - space + bytes;
        return address;
      }
    }
  }

  void reset() noexcept {
    chunk_ = 0;
    used_ = 0;
  }

 private:
  static constexpr std::size_t chunk_bytes = std::size_t{16} << 10U;

  struct chunk {
    std::unique_ptr<std::byte[]> memory;
    std::size_t size;
  };

  std::vector<chunk> chunks_;
  std::size_t chunk_ = 0;
  std::size_t used_ = 0;
};

}  // namespace glia

#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "glia/core/error.hpp"
#include "glia/core/mapped_file.hpp"
#include "glia/core/memory_pool.hpp"

namespace glia::detail {

/// Where bytes of a file have to begin to be a block of memory as they lie.
inline constexpr std::size_t mapped_block_alignment = 64;

/// A part of a file as a block of memory that may be written to: what is written is the block's
/// own, page by page, and the file stays as it is. It must not become shorter meanwhile, nor be
/// written over.
///
/// Throws `data_error`, naming the file, where it cannot be read; `value_error` for an offset that
/// is not aligned and for parts that reach beyond the file's end.
[[nodiscard]] inline memory_block map_block(const readable_file& file, std::size_t offset,
                                            std::size_t bytes) {
  require<value_error>(offset % mapped_block_alignment == 0 && bytes > 0 && offset <= file.size() &&
                           bytes <= file.size() - offset,
                       "map_block: ", bytes, " bytes from ", offset, " on of the ", file.size(),
                       " of ", file.path().string());
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t within = offset % page;
  // A page before the file's own, for what a block keeps ahead of its bytes.
  const std::size_t length = page + within + bytes;
  void* const room =
      mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require<data_error>(room != MAP_FAILED, file.path().string(), ": no room in memory for ", bytes,
                      " of its bytes");
  auto* const begin = static_cast<std::byte*>(room);
  try {
    file.map(offset - within, within + bytes, PROT_READ | PROT_WRITE, begin + page);
  } catch (...) {
    munmap(room, length);
    throw;
  }
  return memory_block::taken_over(begin + page + within, bytes,
                                  [](void* memory, std::size_t size) noexcept {
                                    const auto at = reinterpret_cast<std::size_t>(memory);
                                    const std::size_t behind = page + at % page;
                                    munmap(static_cast<std::byte*>(memory) - behind, behind + size);
                                  });
}

}  // namespace glia::detail

#pragma once

#include <cstddef>
#include <utility>

#include "glia/core/memory_pool.hpp"
#include "glia/core/shape.hpp"

namespace glia {

/// A handle to a contiguous row-major tensor in host memory. Copies share the elements; a kernel
/// that receives the only handle may overwrite them and hand it back as its result.
template <class T>
class host_tensor {
 public:
  using value_type = T;

  host_tensor() = default;
  /// Throws `shape_error` for a shape that no memory holds.
  host_tensor(const memory_pool& pool, const glia::shape& extents)
      : block_(pool.allocate(byte_size(extents, sizeof(T)))), shape_(extents) {}

  [[nodiscard]] const glia::shape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::size_t size() const noexcept { return shape_.size(); }
  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(block_.data()) + offset_; }
  [[nodiscard]] bool unique() const noexcept { return block_.unique(); }

  /// Whether the handle refers to a tensor at all.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(block_); }

  /// A handle that others need not know of, good while this one lives; see memory_block.
  [[nodiscard]] host_tensor borrowed() const {
    host_tensor result;
    result.block_ = block_.borrowed();
    result.offset_ = offset_;
    result.shape_ = shape_;
    return result;
  }
  /// The same as any other handle again.
  [[nodiscard]] host_tensor counted() && {
    block_ = block_.counted();
    return std::move(*this);
  }

  /// The same elements under another shape of the same size.
  [[nodiscard]] host_tensor reshaped(const glia::shape& extents) && {
    host_tensor result = std::move(*this);
    result.shape_ = extents;
    return result;
  }

  /// Rows first ... first + count - 1 of the leading axis. They share the elements, so neither this
  /// handle nor the new one is the only one while both live.
  [[nodiscard]] host_tensor rows(std::size_t first, std::size_t count) const {
    host_tensor result = *this;
    result.offset_ += first * sample_of(shape_).size();
    result.shape_ = batch_of(count, sample_of(shape_));
    return result;
  }

 private:
  memory_block block_;
  std::size_t offset_ = 0;
  glia::shape shape_;
};

}  // namespace glia

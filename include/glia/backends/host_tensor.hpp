#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "glia/core/memory_pool.hpp"
#include "glia/core/shape.hpp"
#include "glia/kernels/kernel.hpp"

namespace glia {

/// A handle to a contiguous row-major tensor in host memory, with numbers of type T, integers or
/// bytes. Copies share the elements. A kernel that receives the only handle may overwrite the
/// elements and return the handle as its result.
template <class T>
class host_tensor {
 public:
  using value_type = T;

  host_tensor() = default;
  /// Allocates a tensor. Throws `shape_error` if no memory is large enough for the shape.
  host_tensor(const memory_pool& pool, const glia::shape& extents, element type = element::real)
      : block_(pool.allocate(byte_size(extents, bytes_of<T>(type)))),
        shape_(extents),
        type_(type) {}

  /// Allocates bytes for temporary use. `part` creates tensors in them; see memory_pool::borrow.
  [[nodiscard]] static host_tensor scratch(const memory_pool& pool, std::size_t bytes) {
    host_tensor result;
    result.block_ = pool.borrow(bytes);
    result.shape_ = {bytes};
    result.type_ = element::byte;
    return result;
  }

  /// Creates a tensor from an existing block.
  host_tensor(memory_block block, const tensor_spec& spec)
      : block_(std::move(block)), shape_(spec.shape), type_(spec.type) {}

  /// Creates a tensor in memory of another owner. It is valid as long as this memory exists; see
  /// memory_block::of_others.
  [[nodiscard]] static host_tensor over(void* memory, const tensor_spec& spec) {
    return {memory_block::of_others(memory), spec};
  }

  [[nodiscard]] const glia::shape& shape() const noexcept { return shape_; }
  [[nodiscard]] element type() const noexcept { return type_; }
  [[nodiscard]] std::size_t size() const noexcept { return shape_.size(); }
  [[nodiscard]] bool unique() const noexcept { return block_.unique(); }

  /// Returns the elements of a tensor of floating-point numbers, or null if the handle refers to no
  /// tensor.
  [[nodiscard]] T* data() const noexcept { return at<T>(); }
  /// Returns the elements of a tensor of integers or bytes.
  [[nodiscard]] std::int32_t* integers() const noexcept { return at<std::int32_t>(); }
  [[nodiscard]] std::uint8_t* bytes() const noexcept { return at<std::uint8_t>(); }

  /// Returns whether both tensors are in the same memory.
  [[nodiscard]] bool shares_memory(const host_tensor& other) const noexcept {
    return static_cast<bool>(*this) == static_cast<bool>(other) && bytes() == other.bytes();
  }

  /// Returns whether the handle refers to a tensor.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(block_); }

  /// Returns an uncounted handle, which is valid as long as this handle; see memory_block.
  [[nodiscard]] host_tensor borrowed() const {
    host_tensor result;
    result.block_ = block_.borrowed();
    result.offset_ = offset_;
    result.shape_ = shape_;
    result.type_ = type_;
    return result;
  }
  /// Turns an uncounted handle into a counted handle.
  [[nodiscard]] host_tensor counted() && {
    block_ = block_.counted();
    return std::move(*this);
  }

  /// Returns the same elements with another shape of the same size.
  [[nodiscard]] host_tensor reshaped(const glia::shape& extents) && {
    host_tensor result = std::move(*this);
    result.shape_ = extents;
    return result;
  }

  /// Returns a tensor in this tensor's memory, at an offset in bytes. It is valid as long as this
  /// handle exists and is the only one.
  [[nodiscard]] host_tensor part(std::size_t offset, const tensor_spec& spec) const {
    host_tensor result = borrowed();
    result.offset_ += offset;
    result.shape_ = spec.shape;
    result.type_ = spec.type;
    return result;
  }

  /// Returns rows first ... first + count - 1 of the leading axis, in the same memory. While both
  /// handles exist, unique() is false for both.
  [[nodiscard]] host_tensor rows(std::size_t first, std::size_t count) const {
    host_tensor result = *this;
    result.offset_ += first * sample_of(shape_).size() * bytes_of<T>(type_);
    result.shape_ = batch_of(count, sample_of(shape_));
    return result;
  }

 private:
  template <class Element>
  [[nodiscard]] Element* at() const noexcept {
    if (!block_) {
      return nullptr;
    }
    return reinterpret_cast<Element*>(static_cast<unsigned char*>(block_.data()) + offset_);
  }

  memory_block block_;
  std::size_t offset_ = 0;  // in bytes
  glia::shape shape_;
  element type_ = element::none;
};

}  // namespace glia

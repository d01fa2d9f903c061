#pragma once

#include <cstddef>
#include <cstdint>

#include "glia/kernels/tensor.hpp"

namespace glia::detail {

/// A tensor in host memory as the loops of a kernel see it, with numbers of type T. It is valid as
/// long as the tensor.
template <class T>
class tensor_view {
 public:
  tensor_view(const tensor& x) noexcept : tensor_(&x), memory_(x.bytes()) {}

  [[nodiscard]] const glia::shape& shape() const noexcept { return tensor_->shape(); }
  [[nodiscard]] element type() const noexcept { return tensor_->type(); }
  [[nodiscard]] std::size_t size() const noexcept { return tensor_->size(); }
  /// Returns whether there is a tensor: an operand of a kernel can be omitted.
  [[nodiscard]] explicit operator bool() const noexcept { return memory_ != nullptr; }

  /// Returns the elements of a tensor of floating-point numbers, or null if there is no tensor.
  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(memory_); }
  /// Returns the elements of a tensor of integers or bytes.
  [[nodiscard]] std::int32_t* integers() const noexcept {
    return reinterpret_cast<std::int32_t*>(memory_);
  }
  [[nodiscard]] std::uint8_t* bytes() const noexcept { return memory_; }

 private:
  const tensor* tensor_;
  std::uint8_t* memory_;
};

/// A tensor in host memory with elements of type T: memory that loops allocate for themselves.
template <class T>
class host_tensor {
 public:
  host_tensor() = default;
  /// Allocates a tensor. Throws `shape_error` if no memory is large enough for the shape.
  host_tensor(const memory_pool& pool, const glia::shape& extents, element type = element::real)
      : tensor_(pool, {extents, type}, sizeof(T)) {}

  [[nodiscard]] const glia::shape& shape() const noexcept { return tensor_.shape(); }
  [[nodiscard]] std::size_t size() const noexcept { return tensor_.size(); }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(tensor_); }
  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(tensor_.bytes()); }
  [[nodiscard]] std::int32_t* integers() const noexcept { return tensor_.integers(); }
  [[nodiscard]] std::uint8_t* bytes() const noexcept { return tensor_.bytes(); }

  operator tensor_view<T>() const noexcept { return tensor_; }

 private:
  tensor tensor_;
};

}  // namespace glia::detail

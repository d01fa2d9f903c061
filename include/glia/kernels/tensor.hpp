#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/memory_pool.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/shared_floats.hpp"
#include "glia/kernels/kernel.hpp"

namespace glia {

/// The place of a tensor's elements.
enum class tensor_home : std::uint8_t {
  nowhere,  ///< an empty handle
  host,     ///< host memory
  buffer,   ///< an object of a device, such as a buffer of a GPU
  graph,    ///< none yet: the tensor is a value of a recorded graph
};

/// A handle to a contiguous row-major tensor on a device. It is cheap to copy, and copies share the
/// elements. A kernel that receives the only handle may overwrite the elements and return the
/// handle as its result. A default-constructed handle refers to no tensor and converts to false.
class tensor {
 public:
  tensor() = default;

  /// Makes a tensor in host memory. A number of it has `real_bytes` bytes.
  tensor(memory_block block, const tensor_spec& spec, std::size_t real_bytes)
      : block_(std::move(block)),
        shape_(spec.shape),
        type_(spec.type),
        home_(tensor_home::host),
        real_bytes_(static_cast<std::uint8_t>(real_bytes)) {}

  /// Allocates a tensor in host memory. Throws `shape_error` if no memory is large enough for the
  /// shape, and `value_error` if there is not enough memory.
  tensor(const memory_pool& pool, const tensor_spec& spec, std::size_t real_bytes)
      : tensor(block_for(pool, spec, real_bytes), spec, real_bytes) {}

  /// Allocates bytes in host memory for temporary use. `part` creates tensors in them; see
  /// memory_pool::borrow. Throws `value_error` if there is not enough memory.
  [[nodiscard]] static tensor scratch(const memory_pool& pool, std::size_t bytes,
                                      std::size_t real_bytes) {
    try {
      return {pool.borrow(bytes), {{bytes}, element::byte}, real_bytes};
    } catch (const std::bad_alloc&) {
      throw lack_of_memory("intermediate results, which need ", bytes);
    }
  }

  /// Makes a tensor in host memory of another owner. It is valid as long as this memory exists; see
  /// memory_block::of_others.
  [[nodiscard]] static tensor wrap(void* memory, const tensor_spec& spec, std::size_t real_bytes) {
    return {memory_block::of_others(memory), spec, real_bytes};
  }

  /// Makes a tensor whose elements are in an object of a device. The last handle releases the
  /// object.
  [[nodiscard]] static tensor holding(std::shared_ptr<const void> object, const tensor_spec& spec) {
    using holder = std::shared_ptr<const void>;
    constexpr std::align_val_t alignment{memory_block::ahead};
    constexpr std::size_t bytes = memory_block::ahead + sizeof(holder);
    void* const memory =
        static_cast<std::byte*>(::operator new(bytes, alignment)) + memory_block::ahead;
    new (memory) holder(std::move(object));
    const auto release = [](void* held, std::size_t) noexcept {
      static_cast<holder*>(held)->~holder();
      ::operator delete(static_cast<std::byte*>(held) - memory_block::ahead, alignment);
    };
    tensor result(memory_block::taken_over(memory, bytes, release), spec, 0);
    result.home_ = tensor_home::buffer;
    return result;
  }

  /// Makes a tensor of floats in host memory that nobody changes. Its elements are never
  /// overwritten, because `unique` is false.
  [[nodiscard]] static tensor view(const shared_floats& floats, const glia::shape& extents) {
    tensor result = holding(floats.owner, real_of(extents));
    result.home_ = tensor_home::host;
    result.real_bytes_ = sizeof(float);
    result.is_view_ = true;
    // From the memory of the owner to that of the elements; it may be negative.
    result.offset_ = reinterpret_cast<std::uintptr_t>(floats.values.data()) -
                     reinterpret_cast<std::uintptr_t>(result.block_.data());
    return result;
  }

  /// Makes a tensor that is value number `number` of a recorded graph.
  [[nodiscard]] static tensor recorded(std::uint32_t number, const tensor_spec& spec) {
    tensor result(memory_block(), spec, 0);
    result.home_ = tensor_home::graph;
    result.offset_ = number;
    return result;
  }

  [[nodiscard]] const glia::shape& shape() const noexcept { return shape_; }
  [[nodiscard]] element type() const noexcept { return type_; }
  [[nodiscard]] std::size_t size() const noexcept { return shape_.size(); }
  [[nodiscard]] tensor_home home() const noexcept { return home_; }
  /// Returns the bytes of a number of the tensor's device. 0 unless the tensor is in host memory.
  [[nodiscard]] std::size_t real_bytes() const noexcept { return real_bytes_; }
  /// Returns whether this is the only handle, so that the elements may be overwritten.
  [[nodiscard]] bool unique() const noexcept { return !is_view_ && block_.unique(); }
  /// Returns whether the handle refers to a tensor.
  [[nodiscard]] explicit operator bool() const noexcept { return home_ != tensor_home::nowhere; }

  /// Returns the memory of a tensor in host memory, or null if the handle refers to no tensor.
  [[nodiscard]] std::uint8_t* bytes() const noexcept {
    return block_ ? static_cast<std::uint8_t*>(block_.data()) + static_cast<std::ptrdiff_t>(offset_)
                  : nullptr;
  }
  /// Returns the elements of a tensor of integers in host memory.
  [[nodiscard]] std::int32_t* integers() const noexcept {
    return reinterpret_cast<std::int32_t*>(bytes());
  }
  /// Returns the object of a device that `holding` received.
  [[nodiscard]] const std::shared_ptr<const void>& object() const noexcept {
    return *static_cast<const std::shared_ptr<const void>*>(block_.data());
  }
  /// Returns the number of a value of a recorded graph.
  [[nodiscard]] std::uint32_t number() const noexcept {
    return static_cast<std::uint32_t>(offset_);
  }

  /// Returns whether both handles refer to the same elements.
  [[nodiscard]] bool shares_memory(const tensor& other) const noexcept {
    return home_ == other.home_ && offset_ == other.offset_ &&
           static_cast<bool>(block_) == static_cast<bool>(other.block_) &&
           (!block_ || block_.data() == other.block_.data());
  }

  /// Returns a handle with this shape and type, but without the elements.
  [[nodiscard]] tensor without_elements() const {
    tensor result;
    result.shape_ = shape_;
    result.type_ = type_;
    return result;
  }

  /// Returns an uncounted handle, which is valid as long as this handle; see memory_block.
  [[nodiscard]] tensor borrowed() const {
    tensor result;
    result.block_ = block_.borrowed();
    result.offset_ = offset_;
    result.shape_ = shape_;
    result.type_ = type_;
    result.home_ = home_;
    result.real_bytes_ = real_bytes_;
    result.is_view_ = is_view_;
    return result;
  }
  /// Turns an uncounted handle into a counted handle.
  [[nodiscard]] tensor counted() && {
    block_ = block_.counted();
    return std::move(*this);
  }

  /// Returns the same elements with another shape of the same size.
  [[nodiscard]] tensor reshaped(const glia::shape& extents) && {
    tensor result = std::move(*this);
    result.shape_ = extents;
    return result;
  }

  /// Returns a tensor in this tensor's memory, at an offset in bytes. It is valid as long as this
  /// handle exists and is the only one.
  [[nodiscard]] tensor part(std::size_t offset, const tensor_spec& spec) const {
    tensor result = borrowed();
    result.offset_ += offset;
    result.shape_ = spec.shape;
    result.type_ = spec.type;
    return result;
  }

  /// Returns rows first ... first + count - 1 of the leading axis, in the same memory. While both
  /// handles exist, unique() is false for both.
  [[nodiscard]] tensor rows(std::size_t first, std::size_t count) const {
    tensor result = *this;
    result.offset_ += first * sample_of(shape_).size() * glia::bytes_of(type_, real_bytes_);
    result.shape_ = batch_of(count, sample_of(shape_));
    return result;
  }

 private:
  [[nodiscard]] static memory_block block_for(const memory_pool& pool, const tensor_spec& spec,
                                              std::size_t real_bytes) {
    const std::size_t bytes = byte_size(spec.shape, glia::bytes_of(spec.type, real_bytes));
    try {
      return pool.allocate(bytes);
    } catch (const std::bad_alloc&) {
      throw lack_of_memory(text("a tensor of shape ", spec.shape, ", which needs "), bytes);
    }
  }
  [[nodiscard]] static detail::memory_error lack_of_memory(std::string_view purpose,
                                                           std::size_t bytes) {
    return detail::memory_error(text("not enough memory for ", purpose,
                                     static_cast<double>(bytes) / 1e9,
                                     " GB; use smaller batches or a smaller model"));
  }

  memory_block block_;
  std::size_t offset_ = 0;  // in bytes; of a recorded tensor, the number of its value
  glia::shape shape_;
  element type_ = element::none;
  tensor_home home_ = tensor_home::nowhere;
  std::uint8_t real_bytes_ = 0;
  bool is_view_ = false;  // whether the elements must not be overwritten
};

/// Returns the shape and element type of a tensor.
[[nodiscard]] inline tensor_spec spec_of(const tensor& x) {
  return x ? tensor_spec{x.shape(), x.type()} : tensor_spec{};
}

namespace detail {

/// Throws `shape_error` unless numbers to be copied from the host fill a tensor of this shape.
inline void require_values(std::size_t count, const shape& s) {
  require<shape_error>(count == s.size(), "from_host: ", count, " values do not match the shape ",
                       s);
}
/// Throws `value_error` if a tensor to be copied to the host is empty.
inline void require_not_empty(const tensor& x) {
  require<value_error>(static_cast<bool>(x),
                       "to_host: the tensor is empty; a variable on which the result does not "
                       "depend has no gradient");
}

}  // namespace detail

}  // namespace glia

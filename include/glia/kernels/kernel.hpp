#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"

namespace glia {

/// The type of a tensor's elements: numbers of the device's floating-point type (`real`), 32-bit
/// integers (`index`), or bytes.
enum class element : std::uint8_t { none, real, index, byte };

/// The shape and element type of a tensor. A default-constructed spec stands for an omitted
/// operand.
struct tensor_spec {
  glia::shape shape{};
  element type = element::none;

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return type != element::none; }
  friend constexpr bool operator==(const tensor_spec&, const tensor_spec&) = default;
};

/// Returns the spec of a tensor of floating-point numbers.
[[nodiscard]] constexpr tensor_spec real_of(const shape& s) { return {s, element::real}; }

/// The relation of an operand or result of a kernel to the samples of a batch.
enum class batch_axis : std::uint8_t {
  shared,  ///< the same for all samples
  rows,    ///< the leading axis is the batch axis, and samples are independent
  summed,  ///< a sum over the samples; each batch tile gives a partial sum
  whole,   ///< the kernel needs all samples in one call
  key,     ///< a step_key, with the index of the first sample of each batch tile
};

/// The relations of all operands and results of one kernel call to the samples.
template <std::size_t Operands, std::size_t Results>
struct batch_axes {
  std::array<batch_axis, Operands> operands;
  std::array<batch_axis, Results> results;

  [[nodiscard]] static constexpr batch_axes whole() {
    batch_axes result{};
    result.operands.fill(batch_axis::whole);
    result.results.fill(batch_axis::whole);
    return result;
  }
};

/// A result and an operand that it may overwrite if the caller has moved the operand into the call.
struct overwrite {
  std::size_t result;
  std::size_t operand;
};

namespace detail {

/// Calls f(operands[0], operands[1], ...) with all operands of a kernel.
template <class K, class Operands, class F>
constexpr decltype(auto) with_operands(const Operands& operands, const F& f) {
  return [&]<std::size_t... I>(std::index_sequence<I...>)->decltype(auto) {
    return f(operands[I]...);
  }
  (std::make_index_sequence<K::operands>{});
}

/// The constants of a kernel type. `kernel` checks them first, because the check for comparisons
/// may ask in turn whether a type is a kernel.
template <class K>
concept has_kernel_constants = requires {
  { K::name } -> std::convertible_to<std::string_view>;
  { K::operands } -> std::convertible_to<std::size_t>;
  { K::results } -> std::convertible_to<std::size_t>;
};

}  // namespace detail

/// A description of a primitive operation of a device: its attributes and the rules for its
/// results, but not the loops that compute them. Attributes are constants of the graph. Values that
/// change from step to step are operands.
///
/// Every kernel has
/// - `name`, and the numbers of its `operands` and `results`;
/// - `result(specs...)`: the shape and element type of the result, or an array of them for several
///   results. Throws `shape_error` or `value_error` for unsuitable operands;
/// - `flops(specs...)`: floating-point operations. A multiply-add counts as 2, a simple function of
///   an element as 1, and a function with an exponential or logarithm as 10;
/// - optionally `axes(specs...)`: the relations to the samples of a batch, if the kernel
///   does not need all samples in one call;
/// - optionally `overwrites`: the pairs of a result and an operand that it may overwrite;
/// - optionally `updates`: whether the results start from the values of the operands that they
///   overwrite;
/// - optionally `relabels(spec)`: whether the result has the same elements as its operand, in the
///   same order;
/// - optionally `compute(operands, results)`: computes the results on a device in host memory, if
///   the loops do not belong to the devices.
template <class K>
concept kernel = detail::has_kernel_constants<K> && std::copyable<K> && std::equality_comparable<K>;

/// The tensors of a kernel call that its derivative reads: bit i stands for operand or result i.
struct saved_tensors {
  unsigned operands = 0;
  unsigned results = 0;
};

/// A kernel with a derivative. Its header defines, behind the kernel:
///
/// - `saved_tensors saved_for_gradients(const K&)`: the tensors that the derivative reads.
/// - `void add_gradients(const K&, Call& call)`: adds the gradients of the operands, from the
///   gradient dy of the first result. `call.wants(i)` tells whether operand i needs one, and
///   `call.add(i, gradient)` adds it. `call.run(kernel, operands...)` runs a kernel. See
///   ops/call.hpp.
template <class K>
concept differentiable = kernel<K> && requires(const K& k) {
  { saved_for_gradients(k) } -> std::same_as<saved_tensors>;
};

template <class... Kernels>
struct kernel_list {};

/// The result of running a kernel: a tensor, or an array of several.
template <kernel K, class Tensor>
using results_t = std::conditional_t<K::results == 1, Tensor, std::array<Tensor, K::results>>;

/// Returns the specs of a kernel's results as an array, even for a single result.
template <kernel K, class... Specs>
[[nodiscard]] constexpr std::array<tensor_spec, K::results> result_specs(const K& k,
                                                                         const Specs&... operands) {
  static_assert(sizeof...(Specs) == K::operands, "wrong number of operands for this kernel");
  if constexpr (K::results == 1) {
    return {k.result(operands...)};
  } else {
    return k.result(operands...);
  }
}

namespace detail {

/// Returns the index of an operand that a result may overwrite. A smaller `choice` is preferred.
/// Returns `operands` if there is no further choice.
template <kernel K>
[[nodiscard]] constexpr std::size_t overwritten_by(std::size_t result, std::size_t choice = 0) {
  if constexpr (requires { K::overwrites; }) {
    for (const overwrite& o : K::overwrites) {
      if (o.result == result && choice-- == 0) {
        return o.operand;
      }
    }
  }
  return K::operands;
}

}  // namespace detail

/// Returns whether a kernel's results start from the values of the operands that they overwrite.
template <kernel K>
[[nodiscard]] constexpr bool updates() {
  if constexpr (requires { K::updates; }) {
    return K::updates;
  } else {
    return false;
  }
}

/// Returns whether a kernel's result has the same elements as its only operand, in the same order.
template <kernel K, class... Specs>
[[nodiscard]] constexpr bool relabels(const K& k, const Specs&... operands) {
  if constexpr (requires { k.relabels(operands...); }) {
    return k.relabels(operands...);
  } else {
    return false;
  }
}

/// Returns the relations of a kernel's operands and results to the samples of a batch.
template <kernel K, class... Specs>
[[nodiscard]] constexpr batch_axes<K::operands, K::results> axes_of(const K& k,
                                                                    const Specs&... operands) {
  if constexpr (requires { k.axes(operands...); }) {
    return k.axes(operands...);
  } else {
    return batch_axes<K::operands, K::results>::whole();
  }
}

/// Returns the size of an element in bytes, if a floating-point number takes `real_bytes`.
[[nodiscard]] constexpr std::size_t bytes_of(element type, std::size_t real_bytes) noexcept {
  return type == element::index ? sizeof(std::int32_t) : type == element::byte ? 1 : real_bytes;
}
/// Returns the size of an element in bytes, if floating-point numbers have type T.
template <class T>
[[nodiscard]] constexpr std::size_t bytes_of(element type) noexcept {
  return bytes_of(type, sizeof(T));
}

/// Throws `value_error` if a tensor is missing or has another element type. `subject` names the
/// operand.
inline void require_elements(std::string_view subject, const tensor_spec& actual,
                             element expected) {
  constexpr std::string_view names[] = {"no tensor", "numbers", "integers", "bytes"};
  require<value_error>(actual.type == expected, subject, ": expected a tensor of ",
                       names[static_cast<std::size_t>(expected)], ", got ",
                       actual ? "a tensor of " : "", names[static_cast<std::size_t>(actual.type)]);
}

inline void require_same_shape(std::string_view subject, const shape& expected,
                               const shape& actual) {
  require<shape_error>(expected == actual, subject, ": expected shape ", expected, ", got ",
                       actual);
}

namespace detail {

[[nodiscard]] constexpr double count(const shape& s) { return static_cast<double>(s.size()); }

/// Returns whether a tensor of shape `s` has one row for each sample of `batch`, the shape of a
/// batch: both have the same rank and the same leading extent.
[[nodiscard]] constexpr bool has_rows_of(const shape& s, const shape& batch) {
  return batch.rank() > 0 && s.rank() == batch.rank() && s[0] == batch[0];
}

/// Returns the relations for kernels that compute each row of the first operand from the same row
/// of the other operands. The last `shared` operands are the same for all rows.
template <class K>
[[nodiscard]] constexpr batch_axes<K::operands, K::results> by_rows(std::size_t shared = 0) {
  batch_axes<K::operands, K::results> result{};
  result.operands.fill(batch_axis::rows);
  result.results.fill(batch_axis::rows);
  for (std::size_t i = K::operands - shared; i < K::operands; ++i) {
    result.operands[i] = batch_axis::shared;
  }
  return result;
}

}  // namespace detail

}  // namespace glia

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

/// What the elements of a tensor are: numbers of the backend's own floating-point type, 32-bit
/// integers, or bytes.
enum class element : std::uint8_t { none, real, index, byte };

/// Shape and elements of a tensor; by default that of no tensor, which stands for an operand that
/// is left out.
struct tensor_spec {
  glia::shape shape{};
  element type = element::none;

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return type != element::none; }
  friend constexpr bool operator==(const tensor_spec&, const tensor_spec&) = default;
};

/// The spec of a tensor of numbers.
[[nodiscard]] constexpr tensor_spec real_of(const shape& s) { return {s, element::real}; }

/// What an operand or a result of a kernel is to the samples of a batch:
enum class batch_axis : std::uint8_t {
  shared,  ///< the same for all samples
  rows,    ///< its leading axis counts the samples, each of which is treated on its own
  summed,  ///< a sum over the samples: pieces of the batch give parts of it
  whole,   ///< the kernel must see all samples at once
  key,     ///< random words that name the first sample at hand; see step_key
};

/// The same for all operands and results of one call.
template <std::size_t Operands, std::size_t Results>
struct batch_axes {
  std::array<batch_axis, Operands> operands;
  std::array<batch_axis, Results> results;

  [[nodiscard]] static constexpr batch_axes whole() {
    batch_axes all{};
    all.operands.fill(batch_axis::whole);
    all.results.fill(batch_axis::whole);
    return all;
  }
};

/// That a result may be written over an operand which the caller has given up.
struct overwrite {
  std::size_t result;
  std::size_t operand;
};

namespace detail {

/// Calls f(operands[0], operands[1], ...) for all operands of a kernel.
template <class K, class Operands, class F>
constexpr decltype(auto) with_operands(const Operands& operands, const F& f) {
  return [&]<std::size_t... I>(std::index_sequence<I...>)->decltype(auto) {
    return f(operands[I]...);
  }
  (std::make_index_sequence<K::operands>{});
}

/// Looked at first: whether types can be compared may depend on whether they are kernels.
template <class K>
concept has_kernel_constants = requires {
  { K::name } -> std::convertible_to<std::string_view>;
  { K::operands } -> std::convertible_to<std::size_t>;
  { K::results } -> std::convertible_to<std::size_t>;
};

}  // namespace detail

/// A call of a backend's primitive function as a value: its attributes, and all that is known of it
/// but the loops. A number that is an attribute is a constant of the program; what may change from
/// step to step is an operand.
///
/// Every kernel has
/// - `name`, and how many `operands` it takes and `results` it gives;
/// - `result(specs...)`: shape and elements of the result, or an array of several. Throws
///   `shape_error` or `value_error` for operands that do not fit;
/// - `flops(specs...)`: floating-point operations, a multiply-add being two, 1 for simple functions
///   of an element and 10 for those with an exponential or logarithm;
/// - maybe `axes(specs...)`: what it does to the samples of a batch, if it need not see all;
/// - maybe `becomes`, a list of the kernels that passes over a graph may make of it and others;
/// - maybe `overwrites`, and `updates`: its results start from what the operands hold that they
///   overwrite; and `relabels(spec)`: whether the result has its operand's elements, in order.
template <class K>
concept kernel = detail::has_kernel_constants<K> && std::copyable<K> && std::equality_comparable<K>;

template <class... Kernels>
struct kernel_list {};

/// What running a kernel gives: a tensor, or an array of several.
template <kernel K, class Tensor>
using results_t = std::conditional_t<K::results == 1, Tensor, std::array<Tensor, K::results>>;

/// The specs of a kernel's results as an array, whatever their number.
template <kernel K, class... Specs>
[[nodiscard]] constexpr std::array<tensor_spec, K::results> result_specs(const K& k,
                                                                         const Specs&... operands) {
  static_assert(sizeof...(Specs) == K::operands, "the kernel takes another number of operands");
  if constexpr (K::results == 1) {
    return {k.result(operands...)};
  } else {
    return k.result(operands...);
  }
}

/// Which operand a result may overwrite, by order of choice; `operands` if none is left.
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

/// Whether a kernel's results start from what the operands hold that they overwrite.
template <kernel K>
[[nodiscard]] constexpr bool updates() {
  if constexpr (requires { K::updates; }) {
    return K::updates;
  } else {
    return false;
  }
}

/// Whether a kernel's result has its only operand's elements, in order.
template <kernel K, class... Specs>
[[nodiscard]] constexpr bool relabels(const K& k, const Specs&... operands) {
  if constexpr (requires { k.relabels(operands...); }) {
    return k.relabels(operands...);
  } else {
    return false;
  }
}

/// What a kernel does to the samples of a batch.
template <kernel K, class... Specs>
[[nodiscard]] constexpr batch_axes<K::operands, K::results> axes_of(const K& k,
                                                                    const Specs&... operands) {
  if constexpr (requires { k.axes(operands...); }) {
    return k.axes(operands...);
  } else {
    return batch_axes<K::operands, K::results>::whole();
  }
}

/// What an element takes, numbers taking `real_bytes`.
[[nodiscard]] constexpr std::size_t bytes_of(element type, std::size_t real_bytes) noexcept {
  return type == element::index ? sizeof(std::int32_t) : type == element::byte ? 1 : real_bytes;
}
/// The same, numbers being of type T.
template <class T>
[[nodiscard]] constexpr std::size_t bytes_of(element type) noexcept {
  return bytes_of(type, sizeof(T));
}

/// Operands read and results written by one call, each once; 0 for a kernel that only relabels.
template <class T, kernel K, class... Specs>
[[nodiscard]] constexpr double bytes_moved(const K& k, const Specs&... operands) {
  if (relabels(k, operands...)) {
    return 0;
  }
  const auto bytes = [](const tensor_spec& s) {
    return s ? static_cast<double>(s.shape.size() * bytes_of<T>(s.type)) : 0;
  };
  double sum = (bytes(operands) + ... + 0);
  for (const tensor_spec& result : result_specs(k, operands...)) {
    sum += bytes(result);
  }
  return sum;
}

/// Throws where operand `what` is not there or does not hold elements of this type.
inline void require_elements(std::string_view what, const tensor_spec& got, element expected) {
  constexpr std::string_view names[] = {"no tensor", "numbers", "integers", "bytes"};
  require<value_error>(got.type == expected, what, ": expected a tensor of ",
                       names[static_cast<std::size_t>(expected)], ", got ", got ? "one of " : "",
                       names[static_cast<std::size_t>(got.type)]);
}

inline void require_same_shape(std::string_view what, const shape& expected, const shape& got) {
  require<shape_error>(expected == got, what, ": expected shape ", expected, ", got ", got);
}

namespace detail {

[[nodiscard]] constexpr double count(const shape& s) { return static_cast<double>(s.size()); }

/// Whether a tensor of this shape has the samples of a batch of shape `batch` as its rows.
[[nodiscard]] constexpr bool has_rows_of(const shape& s, const shape& batch) {
  return batch.rank() > 0 && s.rank() == batch.rank() && s[0] == batch[0];
}

/// For kernels that treat each row of their first operand on its own, together with the same row of
/// the next operands; the last `shared` ones are the same for all.
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

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "glia/core/random.hpp"
#include "glia/kernels/kernels.hpp"

namespace glia {

/// A handle that a backend gives out: cheap to copy, default-constructible to "no tensor", which
/// its conversion to bool tells.
template <class H>
concept tensor_handle = std::copyable<H> && std::default_initializable<H> &&
    requires(const H handle) {
  { handle.shape() } -> std::convertible_to<const shape&>;
  { handle.type() } -> std::same_as<element>;
  { static_cast<bool>(handle) } -> std::same_as<bool>;
};

/// Shape and elements of a tensor.
template <tensor_handle H>
[[nodiscard]] tensor_spec spec_of(const H& tensor) {
  return tensor ? tensor_spec{tensor.shape(), tensor.type()} : tensor_spec{};
}

/// Throws `value_error` where a tensor that is to be copied to the host is empty.
template <tensor_handle H>
void require_not_empty(const H& tensor) {
  require<value_error>(static_cast<bool>(tensor),
                       "to_host: the tensor is empty; a variable on which the result does not "
                       "depend has no gradient");
}

namespace detail {

template <class B, class K, std::size_t... Operand>
[[nodiscard]] constexpr bool takes(std::index_sequence<Operand...>) {
  return requires(const B& b, const K& k, typename B::tensor t) {
    {
      b.run(k, (static_cast<void>(Operand), t)...)
      } -> std::same_as<results_t<K, typename B::tensor>>;
  };
}

template <class B, class... Kernels>
[[nodiscard]] constexpr bool takes_all(kernel_list<Kernels...>) {
  return (takes<B, Kernels>(std::make_index_sequence<Kernels::operands>{}) && ...);
}

}  // namespace detail

/// Whether a backend runs a kernel.
template <class B, class K>
concept runs = kernel<K> && detail::takes<B, K>(std::make_index_sequence<K::operands>{});

/// Whether a backend runs all of the basic kernels. Backends that take any kernel may say so by
/// specialising it, which spares programs the check.
template <class B>
inline constexpr bool runs_basic_kernels = detail::takes_all<B>(basic_kernels{});

/// A backend: a tensor handle, copies between host and device, and `run`, which runs a kernel. It
/// knows no layers, no models and no tape.
///
/// - Images are (N, H, W, C), convolution kernels (height, width, C / groups, O), dense kernels
///   (I, O). Tensors are row-major.
/// - `run(kernel, operands...)` gives the kernel's result, or an array of several. Operands are
///   handles by value; a kernel that receives the last handle of a tensor may reuse its storage for
///   a result, so callers move what they no longer need.
/// - No kernel reads a number back to decide what to do next: a backend may compute at once, only
///   record, or only count. `to_host` alone waits for results.
/// - Shapes follow the kernels' own rules, which also throw for operands that do not fit.
/// - A gradient kernel takes the gradient of a scalar with respect to the forward kernel's result
///   and returns that with respect to one (or, where they share work, each) of its operands.
/// - The backend object itself is a cheap handle: copies refer to the same device and memory.
///
/// `glia/testing/conformance.hpp` holds a backend to these words; docs/new_backend.md is the guide.
template <class B>
concept backend = std::copyable<B> && std::floating_point<typename B::value_type> &&
    tensor_handle<typename B::tensor> &&
    requires(const B& b, typename B::tensor t, const shape& s, std::span<const float> floats,
             std::span<float> out, std::span<const double> doubles, std::span<double> doubles_out,
             std::span<const std::int32_t> ints, std::span<std::int32_t> ints_out) {
  { b.name() } -> std::convertible_to<std::string_view>;

  // Copies. Elements are converted between float or double and the backend's value_type.
  { b.from_host(floats, s) } -> std::same_as<typename B::tensor>;
  { b.from_host(doubles, s) } -> std::same_as<typename B::tensor>;
  { b.from_host(ints, s) } -> std::same_as<typename B::tensor>;
  b.to_host(t, out);
  b.to_host(t, doubles_out);
  b.to_host(t, ints_out);
} && runs_basic_kernels<B>;

/// Copies what has a row for each sample to a device. Backends of several devices may give each of
/// them some of the rows.
template <backend B, class Number>
[[nodiscard]] typename B::tensor samples_from_host(const B& device, std::span<const Number> values,
                                                   const shape& s) {
  if constexpr (requires { device.samples_from_host(values, s); }) {
    return device.samples_from_host(values, s);
  } else {
    return device.from_host(values, s);
  }
}

/// Reads tensors of one number each. A backend with a `numbers_to_host` of its own can start all
/// copies before it waits for the first one.
template <backend B>
void numbers_to_host(const B& device, std::span<const typename B::tensor> from,
                     std::span<double> to) {
  if constexpr (requires { device.numbers_to_host(from, to); }) {
    device.numbers_to_host(from, to);
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) {
      device.to_host(from[i], to.subspan(i, 1));
    }
  }
}

/// A backend whose kernels can be told where their results go: what a program needs that has
/// planned its memory. Others run at once.
template <class B>
concept placing_backend = backend<B> &&
    requires(const B& b, typename B::tensor t, const tensor_spec& s) {
  // Elements of any value.
  { b.uninitialized(s) } -> std::same_as<typename B::tensor>;
  // Bytes, of which other tensors are made parts: t.part(offset, spec).
  { b.scratch(std::size_t{}) } -> std::same_as<typename B::tensor>;
  { t.part(std::size_t{}, s) } -> std::same_as<typename B::tensor>;
  // The same elements in memory of their own.
  { b.copy(t) } -> std::same_as<typename B::tensor>;
  // A kernel's operands, then its results.
  b.run_into(kernels::unary{}, t, t);
};

/// A backend that runs pieces of a batch side by side, each lane on a device of its own whose
/// kernels use one thread. How many lanes there are does not depend on the number of threads; on a
/// lane there are none.
template <class B>
concept lane_backend = placing_backend<B> &&
    requires(const B& b, typename B::tensor t, std::size_t n, void (*body)(std::size_t lane)) {
  { b.lane_count() } -> std::same_as<std::size_t>;
  { b.lane(n) } -> std::same_as<const B&>;
  // body(lane) for every lane; returns when all are done. A body must not throw.
  b.for_each_lane(body);
  // Rows first ... first + count - 1 of the leading axis, sharing t's elements: several lanes write
  // to rows of one tensor at once.
  { t.rows(/*first*/ n, /*count*/ n) } -> std::same_as<typename B::tensor>;
};

}  // namespace glia

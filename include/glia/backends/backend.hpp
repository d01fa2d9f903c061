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

/// A handle to a tensor, created by a backend. It is cheap to copy. A default-constructed handle
/// refers to no tensor and converts to false.
template <class H>
concept tensor_handle = std::copyable<H> && std::default_initializable<H> &&
    requires(const H handle) {
  { handle.shape() } -> std::convertible_to<const shape&>;
  { handle.type() } -> std::same_as<element>;
  { static_cast<bool>(handle) } -> std::same_as<bool>;
};

/// Returns the shape and element type of a tensor.
template <tensor_handle H>
[[nodiscard]] tensor_spec spec_of(const H& tensor) {
  return tensor ? tensor_spec{tensor.shape(), tensor.type()} : tensor_spec{};
}

/// Throws `value_error` if a tensor to be copied to the host is empty.
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

/// Satisfied if a backend runs a kernel.
template <class B, class K>
concept runs = kernel<K> && detail::takes<B, K>(std::make_index_sequence<K::operands>{});

/// A set of fused kernels, such as those that a backend runs.
class fused_kernel_set {
 public:
  /// Makes an empty set.
  constexpr fused_kernel_set() = default;

  /// Returns the fused kernels that a backend runs.
  template <class B>
  [[nodiscard]] static constexpr fused_kernel_set of() {
    return of<B>(fused_kernels{});
  }

  /// Returns whether the set contains a kernel.
  template <kernel K>
  requires is_fused<K>
  [[nodiscard]] constexpr bool contains() const { return (bits_ & bit<K>(fused_kernels{})) != 0; }

 private:
  template <class K, class... Kernels>
  [[nodiscard]] static constexpr std::uint32_t bit(kernel_list<Kernels...>) {
    static_assert(sizeof...(Kernels) <= 32);
    std::uint32_t next = 1;
    std::uint32_t found = 0;
    ((found |= std::same_as<K, Kernels> ? next : 0, next <<= 1), ...);
    return found;
  }
  template <class B, class... Kernels>
  [[nodiscard]] static constexpr fused_kernel_set of(kernel_list<Kernels...> list) {
    fused_kernel_set result;
    result.bits_ = ((runs<B, Kernels> ? bit<Kernels>(list) : 0) | ... | 0);
    return result;
  }

  std::uint32_t bits_ = 0;
};

/// Returns whether a device runs a fused kernel. A recorder answers for the device of its graph.
template <kernel K, class B>
[[nodiscard]] constexpr bool has_fused(const B& device) {
  if constexpr (requires { device.fused(); }) {
    return device.fused().template contains<K>();
  } else {
    return runs<B, K>;
  }
}

/// True if a backend runs all basic kernels. A backend that runs any kernel can specialize the
/// variable, so that the check compiles faster.
template <class B>
inline constexpr bool runs_basic_kernels = detail::takes_all<B>(basic_kernels{});

/// The interface of a backend, the implementation of a device: a tensor handle, copies between host
/// and device, and `run`, which runs a kernel. A backend knows nothing of layers, models or tapes.
///
/// - Images are (N, H, W, C), convolution kernels (height, width, C / groups, O), dense kernels
///   (I, O). Tensors are row-major.
/// - `run(kernel, operands...)` returns the kernel's result, or an array of several results.
///   Operands are passed by value. A kernel that receives the last handle of a tensor may reuse
///   its memory for a result, so callers move handles that they no longer need.
/// - No kernel needs the elements of a tensor on the host to decide what to do next. A backend can
///   therefore compute immediately, only record the kernels, or only count them. Only `to_host`
///   waits for results.
/// - A kernel determines the shapes of its results. It throws an exception for unsuitable operands.
/// - A gradient kernel takes the gradient of a scalar with respect to the forward kernel's
///   result. It returns the gradient with respect to one operand, or several gradients if they
///   share work.
/// - The backend object is a cheap handle: copies refer to the same device and memory.
///
/// `glia/testing/conformance.hpp` tests a backend; docs/how_to/new_backend.md is the guide.
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

/// Copies a tensor with one row for each sample to a device. A backend of several devices may split
/// the rows among them.
template <backend B, class Number>
[[nodiscard]] typename B::tensor samples_from_host(const B& device, std::span<const Number> values,
                                                   const shape& s) {
  if constexpr (requires { device.samples_from_host(values, s); }) {
    return device.samples_from_host(values, s);
  } else {
    return device.from_host(values, s);
  }
}

/// Copies tensors of one number each to the host. A backend with a member `numbers_to_host` can
/// start all copies before it waits for the first one.
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

/// A backend whose kernels can write to given memory. Compiled graphs, which plan the memory of all
/// values, need this. On other backends, kernels run one by one.
template <class B>
concept placing_backend = backend<B> &&
    requires(const B& b, typename B::tensor t, const tensor_spec& s) {
  // A new tensor with unspecified elements.
  { b.uninitialized(s) } -> std::same_as<typename B::tensor>;
  // A block of bytes. t.part(offset, spec) is a tensor in this block.
  { b.scratch(std::size_t{}) } -> std::same_as<typename B::tensor>;
  { t.part(std::size_t{}, s) } -> std::same_as<typename B::tensor>;
  // A copy of the elements in new memory.
  { b.copy(t) } -> std::same_as<typename B::tensor>;
  // Takes the operands of a kernel, followed by its results.
  b.run_into(kernels::unary{}, t, t);
};

/// A backend that runs batch tiles side by side on several lanes. Each lane is a device whose
/// kernels use one thread. The number of lanes does not depend on the number of threads. A lane has
/// no lanes of its own.
template <class B>
concept lane_backend = placing_backend<B> &&
    requires(const B& b, typename B::tensor t, std::size_t n, void (*body)(std::size_t lane)) {
  { b.lane_count() } -> std::same_as<std::size_t>;
  { b.lane(n) } -> std::same_as<const B&>;
  // Calls body(lane) for every lane and returns when all calls are done. A body must not throw.
  b.for_each_lane(body);
  // Rows first ... first + count - 1 of the leading axis, in t's memory: several lanes can write to
  // rows of one tensor at the same time.
  { t.rows(/*first*/ n, /*count*/ n) } -> std::same_as<typename B::tensor>;
};

}  // namespace glia

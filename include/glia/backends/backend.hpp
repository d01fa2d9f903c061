#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "glia/backends/kernel_arguments.hpp"
#include "glia/backends/shape_rules.hpp"
#include "glia/core/random.hpp"

namespace glia {

/// A handle that a backend gives out: cheap to copy, default-constructible to "no tensor", which
/// its conversion to bool tells.
template <class H>
concept tensor_handle = std::copyable<H> && std::default_initializable<H> &&
    requires(const H handle) {
  { handle.shape() } -> std::convertible_to<const shape&>;
  { static_cast<bool>(handle) } -> std::same_as<bool>;
};

/// Results of the kernels that compute several tensors.
template <class Tensor, class Indices>
struct pooled {
  Tensor output;
  Indices position;  ///< which of a window's height x width positions won, row by row
};
template <class Tensor>
struct convolution_gradients {
  Tensor input;  ///< no tensor where it was not asked for
  Tensor kernel;
  Tensor bias;
};
template <class Tensor>
struct normalized {
  Tensor output;
  Tensor mean;
  Tensor variance;  ///< biased: divided by the count
};
template <class Tensor>
struct normalized_gradient {
  Tensor input;
  Tensor gamma;
  Tensor beta;
};
template <class Tensor>
struct cross_entropy {
  Tensor loss;           ///< (N)
  Tensor probabilities;  ///< (N, K), the softmax of the logits
};
template <class Tensor>
struct one_slot {
  Tensor parameter;
  Tensor slot;
};
template <class Tensor>
struct two_slots {
  Tensor parameter;
  Tensor first;
  Tensor second;
};

/// A backend: a tensor handle, copies between host and device, and the kernels that layers, losses
/// and optimizers are made of. It knows no layers, no models and no tape.
///
/// - Images are (N, H, W, C), convolution kernels (height, width, C / groups, O), dense kernels
///   (I, O). Tensors are row-major. `indices` are tensors of 32-bit integers.
/// - Kernels take handles by value; one that receives the last handle of a tensor may reuse its
///   storage for the result, so callers move what they no longer need.
/// - No kernel reads a number back to decide what to do next: a backend may compute at once, only
///   record, or only count. `to_host` alone waits for results.
/// - Shapes follow `shape_rules.hpp`, which also throws for operands that do not fit.
/// - A gradient kernel takes the gradient of a scalar with respect to the forward kernel's output
///   and returns that with respect to one (or, where they share work, each) of its operands.
/// - The backend object itself is a cheap handle: copies refer to the same device and memory.
///
/// `glia/testing/conformance.hpp` holds a backend to these words; docs/new_backend.md is the guide.
template <class B>
concept backend = std::copyable<B> && std::floating_point<typename B::value_type> &&
    tensor_handle<typename B::tensor> && tensor_handle<typename B::indices> &&
    requires(const B& b, typename B::tensor t, typename B::indices i, const shape& s,
             std::span<const float> floats, std::span<float> out,
             std::span<const std::int32_t> ints, std::span<std::int32_t> ints_out, double number,
             std::size_t count, const window2d& window, const unary_map& map, random_key key,
             std::uint64_t offset) {
  { b.name() } -> std::convertible_to<std::string_view>;

  // Copies. Elements are converted between float and the backend's value_type.
  { b.from_host(floats, s) } -> std::same_as<typename B::tensor>;
  { b.from_host(ints, s) } -> std::same_as<typename B::indices>;
  b.to_host(t, out);
  b.to_host(i, ints_out);
  // Every element `number`.
  { b.full(s, number) } -> std::same_as<typename B::tensor>;
  // The same elements in another shape of equal size.
  { b.reshape(t, s) } -> std::same_as<typename B::tensor>;

  // Element by element. `saved` is the operand that saved_for_gradient(map.function) names.
  { b.unary(map, t) } -> std::same_as<typename B::tensor>;
  { b.unary_gradient(map, /*dy*/ t, /*saved*/ t) } -> std::same_as<typename B::tensor>;
  // Broadcasts as NumPy does.
  { b.binary(binary_function::add, t, t) } -> std::same_as<typename B::tensor>;
  // Adjoints of each other: repeat along, or sum over, the axes in which the shapes differ.
  { b.broadcast_to(t, s) } -> std::same_as<typename B::tensor>;
  { b.sum_to(t, s) } -> std::same_as<typename B::tensor>;

  // Products. A (m, k) times B (k, n), one of them stored transposed if asked.
  { b.matmul(t, t, transpose::none) } -> std::same_as<typename B::tensor>;
  // map(x w + bias): x (N, I), w (I, O), bias (O) or no tensor.
  { b.dense(/*x*/ t, /*w*/ t, /*bias*/ t, map) } -> std::same_as<typename B::tensor>;

  // Convolution: map(x * w + bias), and its adjoints to the input and to the kernel.
  {
    b.conv2d(/*x*/ t, /*w*/ t, /*bias*/ t, map, window, /*groups*/ count)
    } -> std::same_as<typename B::tensor>;
  {
    b.conv2d_input_gradient(/*dy*/ t, /*w*/ t, window, count, /*input shape*/ s)
    } -> std::same_as<typename B::tensor>;
  {
    b.conv2d_kernel_gradient(/*x*/ t, /*dy*/ t, window, count, /*kernel shape*/ s)
    } -> std::same_as<typename B::tensor>;

  // Pooling. Padding never wins a maximum and does not count in an average. The first of equal
  // values wins, what is not a number over all others.
  { b.max_pool2d(t, window) } -> std::same_as<pooled<typename B::tensor, typename B::indices>>;
  {
    b.max_pool2d_gradient(/*dy*/ t, /*position*/ i, window, /*input shape*/ s)
    } -> std::same_as<typename B::tensor>;
  { b.avg_pool2d(t, window) } -> std::same_as<typename B::tensor>;
  {
    b.avg_pool2d_gradient(/*dy*/ t, window, /*input shape*/ s)
    } -> std::same_as<typename B::tensor>;

  // gamma (x - mean) / sqrt(variance + epsilon) + beta with the statistics of x itself; gamma and
  // beta have the extent of the last axis.
  {
    b.normalize(normalization::batch, t, /*gamma*/ t, /*beta*/ t, /*epsilon*/ number)
    } -> std::same_as<normalized<typename B::tensor>>;
  {
    b.normalize_gradient(normalization::batch, /*dy*/ t, /*x*/ t, /*gamma*/ t, /*mean*/ t,
                         /*variance*/ t, number)
    } -> std::same_as<normalized_gradient<typename B::tensor>>;

  // Element i of the tensor is kept, and divided by 1 - rate, where random_half(key, offset + i),
  // times 2^-16, is at least `rate`; the others become 0. Its own adjoint.
  { b.dropout(t, /*rate*/ number, key, offset) } -> std::same_as<typename B::tensor>;

  // Over the last axis.
  { b.softmax(t) } -> std::same_as<typename B::tensor>;
  { b.softmax_gradient(/*dy*/ t, /*y*/ t) } -> std::same_as<typename B::tensor>;
  // loss_n = -sum_k targets_nk ln softmax(logits)_nk; targets need not sum to 1.
  {
    b.softmax_cross_entropy(/*logits*/ t, /*targets*/ t)
    } -> std::same_as<cross_entropy<typename B::tensor>>;
  {
    b.softmax_cross_entropy_gradient(/*dloss*/ t, /*probabilities*/ t, /*targets*/ t)
    } -> std::same_as<typename B::tensor>;

  // Classes. one_hot gives (N, K) with `on` at each class and `off` elsewhere; in_top_k gives (N)
  // with 1 where the class has one of the row's k highest scores, of equal ones the first, else 0;
  // rows with a score that is not a number have none.
  {
    b.one_hot(i, /*classes*/ count, /*on*/ number, /*off*/ number)
    } -> std::same_as<typename B::tensor>;
  { b.argmax(t) } -> std::same_as<typename B::indices>;
  { b.in_top_k(t, i, count) } -> std::same_as<typename B::tensor>;

  // One optimizer step for one parameter; slots are the optimizer's running averages.
  {
    b.update(sgd_rule{}, /*parameter*/ t, /*gradient*/ t, /*velocity or none*/ t)
    } -> std::same_as<one_slot<typename B::tensor>>;
  {
    b.update(adam_rule{}, t, t, /*first moment*/ t, /*second moment*/ t)
    } -> std::same_as<two_slots<typename B::tensor>>;
  {
    b.update(rmsprop_rule{}, t, t, /*mean square*/ t, /*velocity or none*/ t)
    } -> std::same_as<two_slots<typename B::tensor>>;
  {
    b.update(adagrad_rule{}, t, t, /*sum of squares*/ t)
    } -> std::same_as<one_slot<typename B::tensor>>;
};

/// A backend that runs pieces of a batch side by side, each lane on a device of its own whose
/// kernels use one thread. How many lanes there are does not depend on the number of threads; on a
/// lane there are none.
template <class B>
concept lane_backend = backend<B> &&
    requires(const B& b, typename B::tensor t, typename B::tensor& whole, std::size_t n,
             void (*body)(std::size_t lane)) {
  { b.lane_count() } -> std::same_as<std::size_t>;
  { b.lane(n) } -> std::same_as<const B&>;
  // body(lane) for every lane; returns when all are done. A body must not throw.
  b.for_each_lane(body);
  // Rows first ... first + count - 1 of the leading axis, sharing t's elements.
  { b.rows(t, /*first*/ n, /*count*/ n) } -> std::same_as<typename B::tensor>;
  // Elements of any value.
  { b.uninitialized(shape{}) } -> std::same_as<typename B::tensor>;
  // Overwrites rows from `first` on; from several lanes at once as long as these are not the same.
  b.store_rows(/*rows*/ t, /*first*/ n, whole);
};

/// A backend that also has a convolution, its activation and a max-pooling in one. Others are given
/// the three one after the other; `pools_fuse` says which the kernels must take. Positions are of
/// the backend's own type.
template <class B>
concept pooling_convolution_backend = backend<B> &&
    requires(const B& b, typename B::tensor t, const unary_map& map, const convolution_pooling& how,
             typename B::positions winners, bool wanted) {
  // max_pool2d(map(x * w + bias)), and positions unless they are not wanted.
  {
    b.conv2d_max_pool2d(/*x*/ t, /*w*/ t, /*bias*/ t, map, how, /*keep positions*/ wanted)
    } -> std::same_as<pooled<typename B::tensor, typename B::positions>>;
  {
    b.conv2d_max_pool2d_gradient(/*dy*/ t, /*x*/ t, /*w*/ t, winners, how, /*to the input*/ wanted)
    } -> std::same_as<convolution_gradients<typename B::tensor>>;
};

/// A backend that also has several convolutions one after the other in one, without gradients.
/// Others are given one after the other; `chains` says which the kernel must take.
template <class B>
concept convolution_chain_backend = backend<B> &&
    requires(const B& b, typename B::tensor t,
             std::span<const chain_link<typename B::tensor>> links) {
  { b.conv2d_chain(/*x*/ t, links) } -> std::same_as<typename B::tensor>;
};

/// Whether the fused kernels take this activation and pooling: one that clamps, so that a byte can
/// say where no gradient gets through, and windows that neither overlap nor hang over the border.
[[nodiscard]] constexpr bool pools_fuse(const unary_map& map, const window2d& pool) noexcept {
  return clamps(map) && pool.height * pool.width < 255 && pool.stride_height >= pool.height &&
         pool.stride_width >= pool.width && pool.dilation_height == 1 && pool.dilation_width == 1 &&
         pool.pad_top + pool.pad_bottom + pool.pad_left + pool.pad_right == 0;
}

}  // namespace glia

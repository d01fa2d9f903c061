#pragma once

#include <type_traits>

#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/attention.hpp"
#include "glia/kernels/classification.hpp"
#include "glia/kernels/convolution.hpp"
#include "glia/kernels/convolution_chain.hpp"
#include "glia/kernels/dropout.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/kernels/indexing.hpp"
#include "glia/kernels/noise.hpp"
#include "glia/kernels/normalization.hpp"
#include "glia/kernels/packed_weights.hpp"
#include "glia/kernels/packing.hpp"
#include "glia/kernels/pooled_convolution.hpp"
#include "glia/kernels/pooling.hpp"
#include "glia/kernels/products.hpp"
#include "glia/kernels/quantization.hpp"
#include "glia/kernels/recurrence.hpp"
#include "glia/kernels/updates.hpp"

namespace glia {

/// The basic kernels, which every backend implements.
using basic_kernels = kernel_list<
    kernels::full, kernels::reshape, kernels::broadcast_to, kernels::sum_to, kernels::norm,
    kernels::concat, kernels::slice, kernels::pad, kernels::permute_axes, kernels::to_index,
    kernels::gather, kernels::scatter_add, kernels::update_slice, kernels::unary,
    kernels::unary_gradient, kernels::binary, kernels::select, kernels::matmul,
    kernels::batched_matmul, kernels::dense, kernels::conv2d, kernels::conv2d_input_gradient,
    kernels::conv2d_kernel_gradient, kernels::max_pool2d, kernels::max_pool2d_gradient,
    kernels::avg_pool2d, kernels::avg_pool2d_gradient, kernels::normalize,
    kernels::normalize_gradient, kernels::dropout, kernels::gaussian_noise, kernels::softmax,
    kernels::softmax_gradient, kernels::softmax_cross_entropy,
    kernels::softmax_cross_entropy_gradient, kernels::one_hot, kernels::argmax, kernels::in_top_k,
    kernels::fake_quantize, kernels::sgd, kernels::adam, kernels::rmsprop, kernels::adagrad>;

/// The optional kernels of a backend. Fused kernels replace several basic kernels; others pack
/// weights.
using fused_kernels =
    kernel_list<kernels::conv2d_max_pool2d, kernels::conv2d_max_pool2d_gradient,
                kernels::conv2d_chain, kernels::pack_panels, kernels::pack_transformed,
                kernels::packed_dense, kernels::packed_conv2d, kernels::packed_conv2d_max_pool2d,
                kernels::recurrence, kernels::recurrence_gradient, kernels::attention,
                kernels::attention_gradient, kernels::pack_quantized, kernels::quantized_chain>;

namespace detail {

template <class K, class... Kernels>
[[nodiscard]] constexpr bool is_listed(kernel_list<Kernels...>) {
  return (std::is_same_v<K, Kernels> || ...);
}

}  // namespace detail

/// Whether a kernel is in `basic_kernels`, so that every backend implements it.
template <class K>
inline constexpr bool is_basic = detail::is_listed<K>(basic_kernels{});
/// Whether a kernel is in `fused_kernels`, so that backends need not implement it.
template <class K>
inline constexpr bool is_fused = detail::is_listed<K>(fused_kernels{});

}  // namespace glia

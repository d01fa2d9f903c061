#pragma once

#include <type_traits>

#include "glia/kernels/kernels.hpp"

namespace glia::passes {

/// Declares that a pass turns one kernel type into others.
template <class From, class... Made>
struct rewrite {};

/// All rewrites of glia's passes. A program contains the loops of the kernels that its ops record
/// and of those listed here for them. A pass that makes a kernel which is not listed throws; see
/// `any_kernel::made_into`.
template <class... Rewrites>
struct rewrite_list {};

using rewrites = rewrite_list<
    // fuse_pooling
    rewrite<kernels::conv2d, kernels::conv2d_max_pool2d>,
    rewrite<kernels::conv2d_kernel_gradient, kernels::conv2d_max_pool2d_gradient>,
    // chain_convolutions
    rewrite<kernels::conv2d, kernels::conv2d_chain>,
    // pack_weights
    rewrite<kernels::dense, kernels::packed_dense, kernels::pack_panels>,
    rewrite<kernels::conv2d, kernels::packed_conv2d, kernels::pack_transformed,
            kernels::packed_dense, kernels::pack_panels, kernels::reshape>,
    rewrite<kernels::conv2d_max_pool2d, kernels::packed_conv2d_max_pool2d, kernels::pack_panels,
            kernels::pack_transformed>,
    rewrite<kernels::conv2d_chain, kernels::pack_panels>,
    rewrite<kernels::recurrence, kernels::pack_panels>,
    // fuse_quantized
    rewrite<kernels::fake_quantize, kernels::quantized_chain, kernels::pack_quantized,
            kernels::reshape>>;

namespace detail {

template <class K, class Visit, class From, class... Made>
constexpr void visit_made_by(const Visit& visit, rewrite<From, Made...>) {
  if constexpr (std::is_same_v<K, From>) {
    (visit(std::type_identity<Made>{}), ...);
  }
}
template <class K, class Visit, class... Rewrites>
constexpr void visit_made_by(const Visit& visit, rewrite_list<Rewrites...>) {
  (visit_made_by<K>(visit, Rewrites{}), ...);
}

}  // namespace detail

/// Calls visit(std::type_identity<J>{}) for each kernel type J into which a pass can turn K. A type
/// can occur several times.
template <kernel K, class Visit>
constexpr void for_each_made_of(const Visit& visit) {
  detail::visit_made_by<K>(visit, rewrites{});
}

}  // namespace glia::passes

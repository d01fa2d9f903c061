#pragma once

#include <cstddef>

#include "glia/core/function_ref.hpp"
#include "glia/kernels/attention.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

/// Options of `ops::attention`.
struct attention_options {
  std::size_t num_heads = 1;  ///< Number of heads H, at least 1.
  bool causal = false;        ///< Whether step t reads only the keys and values of steps 0 ... t.
};

namespace detail {

/// Returns whether a device computes attention and its gradients in one kernel each.
[[nodiscard]] bool has_attention(const glia::device& device);

/// Returns x (N, T, H C) as (N, H, T, C).
[[nodiscard]] variable by_head(variable x, std::size_t num_heads);

/// Returns the causal mask (T, T): 0 up to the diagonal, minus infinity for later steps.
[[nodiscard]] tensor causal_mask(const glia::device& device, std::size_t steps);

/// Computes the attention (N, T, H E) of queries (N, H, T, D), keys (N, H, S, D) and values (N, H,
/// S, E) in several kernels. `mask` changes the scores (N, H, T, S) before the softmax, and
/// `change` the weights after it.
[[nodiscard]] variable attention_by_head(const variable& queries, const variable& keys,
                                         const variable& values,
                                         function_ref<variable(variable)> mask,
                                         function_ref<variable(variable)> change);

}  // namespace detail

namespace ops {

/// Returns the scaled dot-product attention of H heads, softmax(Q K^T / sqrt(D)) V.
///
/// The shapes are (N, T, H D) for the queries Q, (N, S, H D) for the keys K, (N, S, H E) for the
/// values V, and (N, T, H E) for the result. With `causal`, S must equal T. Runs in one kernel on
/// devices that have `kernels::attention`, such as `cpu`.
///
/// Throws `shape_error` if the shapes do not fit, or if there are no keys.
[[nodiscard]] variable attention(variable queries, variable keys, variable values,
                                 const attention_options& options);

}  // namespace ops

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/ops/attention_impl.hpp"
#endif

#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/layers/project_steps.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/dropout.hpp"
#include "glia/ops/products.hpp"
#include "glia/ops/reductions.hpp"
#include "glia/ops/softmax.hpp"

namespace glia {

/// Multi-head self-attention over the steps of sequences.
///
/// The input and output are (N, T, D): N samples, T steps, D features. Each of the H heads projects
/// the input to queries (T, K), keys (T, K) and values (T, V), and computes
///
///     softmax(queries keys^T / sqrt(K)) values
///
/// The results of all heads are concatenated and projected to (N, T, D). Vaswani et al., 2017.
///
/// The parameters are the same as in Keras, except that one axis holds all heads side by side:
/// `query_kernel` and `key_kernel` (D, H K), `value_kernel` (D, H V), `output_kernel` (H V, D), and
/// `query_bias`, `key_bias`, `value_bias` and `output_bias`. Because of this axis, `glorot_uniform`
/// draws from another range than in Keras.
///
/// No step attends to a padding step (see `masking`): its weight is 0. At a padding step, and at a
/// step that can attend to no step, the output is the output bias, as in Keras. The layer cannot
/// attend to another sequence.
///
/// A training step stores two (T, T) matrices for each head and sample.
///
/// Throws `shape_error` if the input is not (N, T, D), and `value_error` if `num_heads` or
/// `key_dim` is 0 or `dropout` is outside [0, 1).
struct multi_head_attention {
  std::size_t num_heads = 0;  ///< Number of heads H, at least 1. Required.
  std::size_t key_dim = 0;    ///< Size K of a head's queries and keys, at least 1. Required.
  std::size_t value_dim = 0;  ///< Size V of a head's values; 0 means `key_dim`.
  /// Whether each step attends only to itself and earlier steps. In Keras this is an argument of
  /// the call.
  bool use_causal_mask = false;
  /// Dropout rate of the attention weights, the values of the softmax, in [0, 1).
  double dropout = 0;
  bool use_bias = true;                               ///< Whether projections have a bias.
  initializer kernel_initializer = glorot_uniform();  ///< Initial values of all kernels.
  initializer bias_initializer = constant(0);         ///< Initial values of all biases.

  static constexpr std::string_view type_name = "multi_head_attention";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    s.expect(x.shape().rank() == 3, "expected sequences (N, T, C), got ", batch_text(x.shape()),
             "; add reshape{{T, C}} before it");
    s.expect_value(num_heads > 0 && key_dim > 0, "expected num_heads and key_dim of at least 1");
    s.expect_value(dropout >= 0 && dropout < 1, "expected a dropout rate in [0, 1), got ", dropout);
    const std::size_t values_of_head = value_dim == 0 ? key_dim : value_dim;
    const std::size_t features = x.shape()[2];
    const variable queries = by_head(project(s, "query", x, num_heads * key_dim));
    const variable keys = by_head(project(s, "key", x, num_heads * key_dim));
    const variable values = by_head(project(s, "value", x, num_heads * values_of_head));
    const double scale = 1 / std::sqrt(static_cast<double>(key_dim));
    variable scores = ops::batched_matmul(queries * scale, keys, transpose::second);
    if (use_causal_mask) {
      scores = scores + x.owner().constant(not_later(s.device(), x.shape()[1]));
    }
    const auto& mask = s.step_mask();
    tensor attended_pairs;
    if (mask) {
      const glia::device& device = s.device();
      const std::size_t samples = x.shape()[0];
      const std::size_t steps = x.shape()[1];
      const auto key_mask = device.run(kernels::reshape{{samples, 1, 1, steps}}, mask);
      const auto query_mask = device.run(kernels::reshape{{samples, 1, steps, 1}}, mask);
      // Finite, so that softmax is defined for queries without any key; their weights become 0
      // below.
      constexpr double nothing = std::numeric_limits<float>::lowest();
      scores =
          ops::where(key_mask, scores, x.owner().constant(device.run(kernels::full{{}, nothing})));
      attended_pairs = device.run(kernels::binary{binary_function::multiply}, query_mask, key_mask);
    }
    variable weights = ops::softmax(std::move(scores));
    if (mask) {
      weights = weights * attended_pairs;
    }
    if (s.is_training() && dropout > 0) {
      weights = ops::dropout(std::move(weights), dropout, s.next_random());
    }
    const variable attended = ops::permute(ops::batched_matmul(weights, values), {0, 2, 1, 3});
    const shape joined{x.shape()[0], x.shape()[1], num_heads * values_of_head};
    return project(s, "output", ops::reshape(attended, joined), features);
  }

  [[nodiscard]] std::string description() const {
    return text("multi_head_attention(", num_heads, " heads of ", key_dim,
                value_dim == 0 ? "" : text("/", value_dim), use_causal_mask ? ", causal" : "", ')');
  }

  friend bool operator==(const multi_head_attention&, const multi_head_attention&) = default;

 private:
  /// Projects x (N, T, I) to (N, T, O) with the parameters `name`_kernel and `name`_bias.
  [[nodiscard]] variable project(scope& s, std::string_view name, const variable& x,
                                 std::size_t outputs) const {
    const variable kernel =
        s.parameter(text(name, "_kernel"), {x.shape()[2], outputs}, kernel_initializer);
    std::optional<variable> shift;
    if (use_bias) {
      shift = s.parameter(text(name, "_bias"), {outputs}, bias_initializer);
    }
    return detail::project_steps(x, kernel, shift);
  }
  /// Separates the heads: (N, T, H K) becomes (N, H, T, K).
  [[nodiscard]] variable by_head(variable x) const {
    const shape extents = x.shape();
    return ops::permute(
        ops::reshape(std::move(x), {extents[0], extents[1], num_heads, extents[2] / num_heads}),
        {0, 2, 1, 3});
  }
  /// Returns the causal mask (T, T): 0 up to the diagonal, minus infinity for later steps.
  [[nodiscard]] static tensor not_later(const glia::device& device, std::size_t steps) {
    std::vector<float> mask(steps * steps, -std::numeric_limits<float>::infinity());
    for (std::size_t row = 0; row < steps; ++row) {
      for (std::size_t column = 0; column <= row; ++column) {
        mask[row * steps + column] = 0;
      }
    }
    return device.from_host(std::span<const float>(mask), {steps, steps});
  }
};

}  // namespace glia

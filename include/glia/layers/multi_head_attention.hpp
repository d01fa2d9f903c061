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

/// Attention of the steps of a sequence x (N, T, D) to each other, by several heads: each makes
/// queries, keys (T, K) and values (T, V) of x, and gives softmax(queries keys^T / sqrt(K)) values;
/// what they give side by side goes through a last product, to (N, T, D). With `causal` no step
/// sees a later one. Steps that a mask leaves out are not seen and see nothing, see `masking`: what
/// sees no step has weights of 0, and its output is that of the last product's bias, as in Keras.
/// Vaswani et al., NeurIPS 2017.
///
/// Parameters are Keras's, heads side by side in the last axis: query_kernel, key_kernel
/// (D, H K), value_kernel (D, H V), output_kernel (H V, D), and their biases.
///
/// A training step keeps two (T, T) tables for each head of a sample.
///
/// Throws `shape_error` for inputs that are no sequences, `value_error` for sizes of 0 and a rate
/// outside [0, 1).
struct multi_head_attention {
  std::size_t heads = 0;       ///< H, at least 1
  std::size_t key_size = 0;    ///< K, at least 1
  std::size_t value_size = 0;  ///< V; 0: as large as the keys
  bool causal = false;
  double dropout = 0;  ///< of what steps pay attention to
  bool bias = true;
  initializer kernel_initializer = glorot_uniform();
  initializer bias_initializer = constant(0);

  static constexpr std::string_view type_name = "multi_head_attention";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, const variable<B>& x) const {
    s.expect(x.shape().rank() == 3, "expected sequences (N, T, C), got ", batch_text(x.shape()),
             "; add reshape{{T, C}} before it");
    s.expect_value(heads > 0 && key_size > 0, "expected heads and a key_size of at least 1");
    s.expect_value(dropout >= 0 && dropout < 1, "expected a rate of dropout in [0, 1)");
    const std::size_t values_of_head = value_size == 0 ? key_size : value_size;
    const std::size_t features = x.shape()[2];
    const variable<B> queries = by_head(project(s, "query", x, heads * key_size));
    const variable<B> keys = by_head(project(s, "key", x, heads * key_size));
    const variable<B> values = by_head(project(s, "value", x, heads * values_of_head));
    const double scale = 1 / std::sqrt(static_cast<double>(key_size));
    variable<B> scores = ops::batched_matmul(queries * scale, keys, transpose::second);
    if (causal) {
      scores = std::move(scores) + x.owner().constant(not_later(s.device(), x.shape()[1]));
    }
    const auto& mask = s.step_mask();
    typename B::tensor seen_steps;
    if (mask) {
      const B& device = s.device();
      const std::size_t samples = x.shape()[0];
      const std::size_t steps = x.shape()[1];
      const auto keys_there = device.run(kernels::reshape{{samples, 1, 1, steps}}, mask);
      const auto queries_there = device.run(kernels::reshape{{samples, 1, steps, 1}}, mask);
      // Finite, so that what sees no step has weights, too, which then become 0.
      constexpr double nothing = std::numeric_limits<float>::lowest();
      scores = ops::select(keys_there, scores,
                           x.owner().constant(device.run(kernels::full{{}, nothing})));
      seen_steps =
          device.run(kernels::binary{binary_function::multiply}, queries_there, keys_there);
    }
    variable<B> weights = ops::softmax(std::move(scores));
    if (mask) {
      weights = std::move(weights) * seen_steps;
    }
    if (s.training() && dropout > 0) {
      weights = ops::dropout(std::move(weights), dropout, s.next_random());
    }
    const variable<B> seen = ops::permute_axes(ops::batched_matmul(weights, values), {0, 2, 1, 3});
    const shape joined{x.shape()[0], x.shape()[1], heads * values_of_head};
    return project(s, "output", ops::reshape(seen, joined), features);
  }

  [[nodiscard]] std::string description() const {
    return text("multi_head_attention(", heads, " heads of ", key_size,
                value_size == 0 ? "" : text("/", value_size), causal ? ", causal" : "", ')');
  }

  friend bool operator==(const multi_head_attention&, const multi_head_attention&) = default;

 private:
  /// x (N, T, I) times a kernel of this name, (N, T, O).
  template <backend B>
  [[nodiscard]] variable<B> project(scope<B>& s, std::string_view name, const variable<B>& x,
                                    std::size_t outputs) const {
    const variable<B> kernel =
        s.parameter(text(name, "_kernel"), {x.shape()[2], outputs}, kernel_initializer);
    std::optional<variable<B>> shift;
    if (bias) {
      shift = s.parameter(text(name, "_bias"), {outputs}, bias_initializer);
    }
    return detail::project_steps(x, kernel, shift);
  }
  /// (N, T, H K) as (N, H, T, K).
  template <backend B>
  [[nodiscard]] variable<B> by_head(variable<B> x) const {
    const shape in = x.shape();
    return ops::permute_axes(ops::reshape(std::move(x), {in[0], in[1], heads, in[2] / heads}),
                             {0, 2, 1, 3});
  }
  /// (T, T): 0 for what is not later than its row, and minus infinity.
  template <backend B>
  [[nodiscard]] static typename B::tensor not_later(const B& device, std::size_t steps) {
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

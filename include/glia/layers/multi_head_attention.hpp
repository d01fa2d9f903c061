#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/project_steps.hpp"
#include "glia/layers/rotary_embedding.hpp"
#include "glia/layers/scope.hpp"
#include "glia/layers/stream_recording.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/attention.hpp"
#include "glia/ops/dropout.hpp"

namespace glia {

/// Multi-head attention over the steps of sequences.
///
/// The input and output are (N, T, D): N samples, T steps, D features. Each of the H heads projects
/// the input to queries (T, K), and a sequence (N, S, C) to keys (S, K) and values (S, V). This
/// sequence is the input itself (self-attention) or a `context` (cross-attention). A head computes
///
///     softmax(queries keys^T / sqrt(K)) values
///
/// The results of all heads are concatenated and projected to (N, T, D). Vaswani et al., 2017.
///
/// The parameters are the same as in Keras, except that one axis holds all heads side by side:
/// `query_kernel` (D, H K), `key_kernel` (C, H K), `value_kernel` (C, H V), `output_kernel`
/// (H V, D), and `query_bias`, `key_bias`, `value_bias` and `output_bias`. Because of this axis,
/// `glorot_uniform` draws from another range than in Keras.
///
/// No step attends to a padding step (see `masking`): its weight is 0. At a padding step, and at a
/// step that can attend to no step, the output is the output bias, as in Keras.
///
/// On `cpu`, one kernel computes the attention of sequences without padding. With padding, or with
/// dropout in training, and on other devices, a training step stores two (T, S) matrices for each
/// head and sample. A `stream` of causal self-attention keeps the keys and values of earlier steps.
///
/// Throws `shape_error` if the input is not (N, T, D). Throws `value_error` if `num_heads` or
/// `key_dim` is 0, if `dropout` is outside [0, 1), if no earlier layer is the `context`, or if a
/// context is combined with a causal mask or a rotary embedding. With a rotary embedding, it also
/// throws `value_error` if `key_dim` is odd, or if `max_wavelength` is below 1 or not finite.
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
  /// Name of the `context` that provides keys and values; empty for self-attention.
  std::string context = {};
  /// Whether queries and keys are rotated by their positions (rotary position embedding; Su et al.,
  /// 2021). Features i and i + K / 2 are a pair, as in KerasHub's RotaryEmbedding.
  bool use_rotary_embedding = false;
  /// Upper bound of the wavelengths of the rotary embedding, in units of 2 pi steps; at least 1.
  double max_wavelength = 1e4;

  static constexpr std::string_view type_name = "multi_head_attention";
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    expect_options(s, x.shape());
    const context_sequence* const source = context.empty() ? nullptr : &s.context(context);
    const variable& sequence = source == nullptr ? x : source->steps;
    const tensor query_mask = s.step_mask();
    const tensor key_mask = source == nullptr ? query_mask : source->mask;
    const std::size_t values_of_head = value_dim == 0 ? key_dim : value_dim;
    variable queries = project(s, "query", x, num_heads * key_dim);
    variable keys = project(s, "key", sequence, num_heads * key_dim);
    variable values = project(s, "value", sequence, num_heads * values_of_head);
    if (use_rotary_embedding) {
      const detail::rotation angles(s, x.shape()[1], key_dim, max_wavelength);
      queries = angles.rotate(queries, num_heads);
      keys = angles.rotate(keys, num_heads);
    }
    if (s.stream() != nullptr && detail::has_attention(s.device())) {
      return project(s, "output", attend_block(s, queries, keys, values), x.shape()[2]);
    }
    const bool drops_weights = s.is_training() && dropout > 0;
    const bool is_plain = s.stream() == nullptr && !key_mask && !query_mask && !drops_weights;
    const variable attended =
        is_plain ? ops::attention(std::move(queries), std::move(keys), std::move(values),
                                  {.num_heads = num_heads, .causal = use_causal_mask})
                 : attend(s, detail::by_head(std::move(queries), num_heads),
                          detail::by_head(std::move(keys), num_heads),
                          detail::by_head(std::move(values), num_heads), query_mask, key_mask);
    return project(s, "output", attended, x.shape()[2]);
  }

  [[nodiscard]] std::string description() const {
    return text("multi_head_attention(", num_heads, " heads of ", key_dim,
                value_dim == 0 ? "" : text("/", value_dim), use_causal_mask ? ", causal" : "",
                use_rotary_embedding ? ", rotary" : "",
                context.empty() ? "" : ", context " + context, ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("num_heads", self.num_heads);
    visit("key_dim", self.key_dim);
    visit("value_dim", self.value_dim);
    visit("use_causal_mask", self.use_causal_mask);
    visit("dropout", self.dropout);
    visit("use_bias", self.use_bias);
    visit("context", self.context);
    visit("use_rotary_embedding", self.use_rotary_embedding);
    visit("max_wavelength", self.max_wavelength);
  }

  friend bool operator==(const multi_head_attention&, const multi_head_attention&) = default;

 private:
  void expect_options(const scope& s, const shape& x) const {
    s.expect(x.rank() == 3, "expected sequences (N, T, C), got ", batch_text(x),
             "; add reshape{{T, C}} before it");
    s.expect_value(num_heads > 0 && key_dim > 0, "expected num_heads and key_dim of at least 1");
    s.expect_value(dropout >= 0 && dropout < 1, "expected a dropout rate in [0, 1), got ", dropout);
    if (use_rotary_embedding) {
      s.expect_value(key_dim % 2 == 0, "expected an even key_dim for a rotary embedding, got ",
                     key_dim);
      s.expect_value(max_wavelength >= 1 && std::isfinite(max_wavelength),
                     "expected a finite max_wavelength of at least 1, got ", max_wavelength);
    }
    s.expect_value(context.empty() || !(use_causal_mask || use_rotary_embedding),
                   "a context has other steps than the input; remove use_causal_mask and "
                   "use_rotary_embedding");
    s.expect_value(s.stream() == nullptr || context.empty(),
                   "stream: attention to a context cannot run on blocks of a sequence");
    s.expect_value(s.stream() == nullptr || use_causal_mask,
                   "stream: attention without a causal mask reads later steps; set "
                   "use_causal_mask, or predict whole sequences");
    s.expect_value(s.stream() == nullptr || !s.step_mask(),
                   "stream: sequences with padding steps cannot run in blocks; remove the mask");
  }

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
  /// Computes the attention (N, B, H V) of a block of a stream in one kernel, with the bits of the
  /// whole sequence.
  [[nodiscard]] variable attend_block(const scope& s, const variable& queries, const variable& keys,
                                      const variable& values) const {
    detail::stream_recording& stream = *s.stream();
    const tensor earlier_keys = stream.append(keys.value(), 1);
    const tensor earlier_values = stream.append(values.value(), 1);
    const kernels::attention kernel{.num_heads = num_heads, .causal = true, .keeps = false};
    return queries.owner().constant(
        s.device().run(kernel, queries.value(), earlier_keys, earlier_values, stream.first())[0]);
  }
  /// Computes the attention (N, T, H V) of queries (N, H, T, K), keys (N, H, S, K) and values (N,
  /// H, S, V) with masks, with dropout or for a block of a stream.
  [[nodiscard]] variable attend(scope& s, const variable& queries, variable keys, variable values,
                                const tensor& query_mask, const tensor& key_mask) const {
    if (detail::stream_recording* const stream = s.stream()) {
      keys = keys.owner().constant(stream->append(keys.value(), 2));
      values = keys.owner().constant(stream->append(values.value(), 2));
    }
    const tensor key_factor = key_mask ? for_scores(s, key_mask, 3) : tensor{};
    tensor attended_pairs = key_factor;
    if (query_mask) {
      const tensor query_factor = for_scores(s, query_mask, 2);
      attended_pairs = key_factor ? s.device().run(kernels::binary{binary_function::multiply},
                                                   query_factor, key_factor)
                                  : query_factor;
    }
    const auto mask = [&](variable scores) {
      if (s.stream() != nullptr) {
        scores = only_where(s, s.stream()->not_later(), scores);
      } else if (use_causal_mask) {
        const std::size_t steps = scores.shape()[2];
        scores = scores + scores.owner().constant(detail::causal_mask(s.device(), steps));
      }
      return key_factor ? only_where(s, key_factor, scores) : scores;
    };
    const auto change = [&](variable weights) {
      if (attended_pairs) {
        weights = weights * attended_pairs;
      }
      return s.is_training() && dropout > 0
                 ? ops::dropout(std::move(weights), dropout, s.next_random())
                 : weights;
    };
    return detail::attention_by_head(queries, keys, values, mask, change);
  }
  /// Returns the scores where the condition holds, and the lowest score elsewhere. It is finite, so
  /// that softmax is defined for queries without any key.
  [[nodiscard]] static variable only_where(const scope& s, const tensor& condition,
                                           const variable& scores) {
    constexpr double lowest = std::numeric_limits<float>::lowest();
    return ops::where(condition, scores,
                      scores.owner().constant(s.device().run(kernels::full{{}, lowest})));
  }
  /// Returns a mask (N, T) as a factor of the scores (N, H, T, S), with its steps along `axis`.
  [[nodiscard]] static tensor for_scores(const scope& s, const tensor& mask, std::size_t axis) {
    shape extents{mask.shape()[0], 1, 1, 1};
    extents[axis] = mask.shape()[1];
    return s.device().run(kernels::reshape{extents}, mask);
  }
};

}  // namespace glia

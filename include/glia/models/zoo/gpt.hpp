#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/layers.hpp"
#include "glia/ops/elementwise.hpp"

namespace glia {

namespace detail {

/// GELU with the tanh approximation of GPT-2, x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
struct gelu_tanh {
  [[nodiscard]] variable operator()(scope&, const variable& x) const {
    constexpr double slope = 1.5957691216057308;  // 2 sqrt(2 / pi)
    constexpr double cubic = 0.044715 * slope;
    return x * ops::sigmoid(x * (x * x * cubic + slope));
  }
  [[nodiscard]] static std::string description() { return "gelu_tanh"; }
  static constexpr std::string_view type_name = "gelu_tanh";
  static constexpr bool runs_stepwise = true;
  friend bool operator==(const gelu_tanh&, const gelu_tanh&) = default;
};

}  // namespace detail

/// A decoder of the GPT family, a language model. It maps sequences of tokens (N, T) to the logits
/// (N, T, V) of the next token at each step, with V = `vocabulary_size`.
///
///     const glia::gpt network{.vocabulary_size = 65, .sequence_length = 256, .num_layers = 4,
///                             .num_heads = 4, .embedding_dim = 128};
///     glia::model net{network, {256}};
///
/// The defaults are those of the smallest GPT-2. A token becomes the sum of a trained vector for
/// the token and one for its position. Each of the L blocks computes
///
///     x = x + attention(norm(x)); x = x + dense(gelu(dense(norm(x))))
///
/// with causal self-attention and `4 embedding_dim` hidden units. A last normalization follows, and
/// the scores of all tokens are products with the vectors of the tokens (tied embeddings). Train it
/// with `softmax_cross_entropy` on targets (N, T); `stream` runs it token by token.
///
/// Parameters have names such as tokens.embeddings, positions.embeddings,
/// block_0.attention.query_kernel, block_0.attention_norm.gamma, block_0.mlp.dense_0.kernel and
/// norm.gamma. `gpt2_names` maps the names of GPT-2's published weights to them.
///
/// Throws `value_error` if a size is 0 or if `num_heads` does not divide `embedding_dim`, and
/// `shape_error` if the input is not (N, T) or has more than `sequence_length` steps.
///
/// Source: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019.
struct gpt {
  std::size_t vocabulary_size = 50257;  ///< Number of different tokens V.
  std::size_t sequence_length = 1024;   ///< Largest number of steps T.
  std::size_t num_layers = 12;          ///< Number of blocks L.
  std::size_t num_heads = 12;           ///< Number of heads of the attention.
  std::size_t embedding_dim = 768;      ///< Length of the vector of a token.
  /// Dropout rate of the embeddings, of the attention weights and of the outputs of attention and
  /// hidden units, in [0, 1). GPT-2 was trained with 0.1.
  double dropout = 0;
  /// Whether the positions of steps enter by rotary embeddings in the attention, instead of trained
  /// vectors; see `multi_head_attention`.
  bool use_rotary_embedding = false;
  /// Whether GELU is computed with GPT-2's approximation by tanh instead of erf. The difference is
  /// below 0.0005, and the exact function is faster. Published weights of GPT-2 need it.
  bool use_tanh_gelu = false;
  initializer kernel_initializer = random_normal(0, 0.02);  ///< Initial values of all kernels.

  using contains_layers = void;
  static constexpr std::string_view stored_type = "gpt";
  static constexpr bool runs_stepwise = true;

 private:
  [[nodiscard]] static layer_norm norm() { return {.epsilon = 1e-5}; }
  [[nodiscard]] dense wide(const activation& f = linear) const {
    return {.units = 4 * embedding_dim, .activation = f, .kernel_initializer = kernel_initializer};
  }

  /// Returns a block whose hidden units are computed by `hidden`.
  template <class Hidden>
  [[nodiscard]] auto block_of(const Hidden& hidden) const {
    const multi_head_attention attention{.num_heads = num_heads,
                                         .key_dim = embedding_dim / num_heads,
                                         .use_causal_mask = true,
                                         .dropout = dropout,
                                         .kernel_initializer = kernel_initializer,
                                         .use_rotary_embedding = use_rotary_embedding};
    const dense narrow{.units = embedding_dim, .kernel_initializer = kernel_initializer};
    return sequential{
        residual{sequential{named{"attention_norm", norm()}, named{"attention", attention},
                            glia::dropout{dropout}}},
        residual{sequential{named{"mlp_norm", norm()},
                            named{"mlp", time_distributed{sequential{hidden, narrow}}},
                            glia::dropout{dropout}}}};
  }

 public:
  [[nodiscard]] variable operator()(scope& s, variable x) const {
    expect_options(s, x.shape());
    const auto run = [&](const auto& layer) { x = s.run(layer, std::move(x)); };
    run(shared{"tokens", embedding{.input_dim = vocabulary_size,
                                   .output_dim = embedding_dim,
                                   .embeddings_initializer = kernel_initializer}});
    if (!use_rotary_embedding) {
      run(named{"positions", position_embedding{.sequence_length = sequence_length,
                                                .embeddings_initializer = kernel_initializer}});
    }
    run(glia::dropout{dropout});
    for (std::size_t i = 0; i < num_layers; ++i) {
      const std::string block = text("block_", i);
      if (use_tanh_gelu) {
        run(named{block, block_of(sequential{wide(), detail::gelu_tanh{}})});
      } else {
        run(named{block, block_of(wide(gelu))});
      }
    }
    run(named{"norm", norm()});
    run(shared{"tokens", unembedding{.input_dim = vocabulary_size,
                                     .output_dim = embedding_dim,
                                     .embeddings_initializer = kernel_initializer}});
    return x;
  }

  [[nodiscard]] std::string description() const {
    return text("gpt(", vocabulary_size, " tokens, ", num_layers, " layers, ", num_heads,
                " heads, ", embedding_dim, use_rotary_embedding ? ", rotary" : "", ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("vocabulary_size", self.vocabulary_size);
    visit("sequence_length", self.sequence_length);
    visit("num_layers", self.num_layers);
    visit("num_heads", self.num_heads);
    visit("embedding_dim", self.embedding_dim);
    visit("dropout", self.dropout);
    visit("use_rotary_embedding", self.use_rotary_embedding);
    visit("use_tanh_gelu", self.use_tanh_gelu);
  }

  friend bool operator==(const gpt&, const gpt&) = default;

 private:
  void expect_options(const scope& s, const shape& x) const {
    s.expect_value(vocabulary_size > 0 && sequence_length > 0 && num_layers > 0 && num_heads > 0 &&
                       embedding_dim > 0,
                   "expected sizes of at least 1 for gpt");
    s.expect_value(embedding_dim % num_heads == 0,
                   "expected an embedding_dim of gpt that num_heads divides, got ", embedding_dim,
                   " and ", num_heads);
    s.expect(x.rank() == 2, "expected sequences of tokens (N, T) for gpt, got ", batch_text(x));
    s.expect(x[1] <= sequence_length, "expected at most ", sequence_length,
             " steps, the sequence_length of gpt, got ", x[1]);
  }
};

}  // namespace glia

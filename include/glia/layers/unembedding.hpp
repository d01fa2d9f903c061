#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "glia/layers/initializer.hpp"
#include "glia/layers/project_steps.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/products.hpp"

namespace glia {

/// Computes a score for each integer from vectors, with the table of an `embedding`: tied weights.
///
///     y = x embeddings^T
///
/// The input is (N, D) or (N, T, D), with D = `output_dim`. The output is (N, input_dim) or
/// (N, T, input_dim). The parameter is `embeddings` (input_dim, output_dim), as in `embedding`. Put
/// both into `shared` layers of the same name to share the table, and use the same options:
///
///     const glia::shared tokens{"tokens", glia::embedding{.input_dim = 65, .output_dim = 128}};
///     const glia::shared scores{"tokens", glia::unembedding{.input_dim = 65, .output_dim = 128}};
///
/// KerasHub: ReversibleEmbedding with `tie_weights`. Press and Wolf, EACL 2017.
///
/// Throws `value_error` if a size is 0, and `shape_error` if the input does not have these shapes.
struct unembedding {
  std::size_t input_dim = 0;   ///< Number of different integers, at least 1. Required.
  std::size_t output_dim = 0;  ///< Length of the vectors, at least 1. Required.
  /// Initial values of the vectors, by default uniform in [-0.05, 0.05] as for `embedding`.
  initializer embeddings_initializer = random_uniform(0.05);

  static constexpr std::string_view type_name = "unembedding";
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    s.expect_value(input_dim > 0 && output_dim > 0,
                   "expected an input_dim and an output_dim of at least 1");
    const std::size_t rank = x.shape().rank();
    s.expect((rank == 2 || rank == 3) && x.shape().back() == output_dim, "expected vectors of ",
             output_dim, " numbers, (N, ", output_dim, ") or (N, T, ", output_dim, "), got ",
             batch_text(x.shape()));
    const variable table =
        s.parameter("embeddings", {input_dim, output_dim}, embeddings_initializer);
    return rank == 2 ? ops::matmul(x, table, transpose::second)
                     : detail::project_steps(x, ops::permute(table, {1, 0}), std::nullopt);
  }

  [[nodiscard]] std::string description() const {
    return text("unembedding(", input_dim, ", ", output_dim, ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("input_dim", self.input_dim);
    visit("output_dim", self.output_dim);
  }

  friend bool operator==(const unembedding&, const unembedding&) = default;
};

}  // namespace glia

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "glia/layers/initializer.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/indexing.hpp"

namespace glia {

/// Replaces each integer, such as the index of a word, by a trained vector.
///
/// The input is (N, ...) and holds integers from 0 to input_dim - 1. The output is
/// (N, ..., output_dim). The parameter is `embeddings` (input_dim, output_dim); row i is the vector
/// for the integer i. Samples are floats, which represent integers exactly up to 2^24.
///
/// Throws `value_error` if a size is 0 or `input_dim` is above 2^24, and `shape_error` if
/// `mask_zero` is set and the input is not (N, T). If the layer reads the model's samples directly,
/// a sample with any other number throws `data_error`. Behind other layers, any other number
/// results in a vector of zeros.
struct embedding {
  std::size_t input_dim = 0;   ///< Number of different integers, 1 to 2^24. Required.
  std::size_t output_dim = 0;  ///< Length of the vectors, at least 1. Required.
  /// Whether 0 marks a padding step of sequences (N, T). Later layers ignore padding steps; see
  /// `masking`.
  bool mask_zero = false;
  /// Initial values of the vectors, by default uniform in [-0.05, 0.05] as in Keras.
  initializer embeddings_initializer = random_uniform(0.05);

  static constexpr std::string_view type_name = "embedding";
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    constexpr std::size_t largest_dim = std::size_t{1} << 24;
    s.expect_value(input_dim > 0 && input_dim <= largest_dim && output_dim > 0,
                   "expected an input_dim of 1 to 2^24 and an output_dim of at least 1");
    s.expect(!mask_zero || x.shape().rank() == 2,
             "mask_zero expects sequences of integers (N, T), got ", batch_text(x.shape()));
    s.expect_integers(x.shape(), input_dim, "increase input_dim, or correct the data");
    const variable table =
        s.parameter("embeddings", {input_dim, output_dim}, embeddings_initializer);
    if (mask_zero) {
      s.set_step_mask(s.device().run(kernels::binary{binary_function::greater}, x.value(),
                                     s.device().run(kernels::full{{}, 0})));
    }
    return ops::gather(table, s.device().run(kernels::to_index{}, x.value()));
  }

  [[nodiscard]] std::string description() const {
    return text("embedding(", input_dim, ", ", output_dim, mask_zero ? ", mask zero" : "", ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("input_dim", self.input_dim);
    visit("output_dim", self.output_dim);
    visit("mask_zero", self.mask_zero);
  }

  friend bool operator==(const embedding&, const embedding&) = default;
};

}  // namespace glia

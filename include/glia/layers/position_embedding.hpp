#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "glia/layers/initializer.hpp"
#include "glia/layers/scope.hpp"
#include "glia/layers/stream_recording.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/elementwise.hpp"

namespace glia {

/// Adds a trained vector to each step of a sequence, which depends only on the position of the
/// step.
///
/// The input and output are (N, T, D). The parameter is `embeddings` (sequence_length, D); its row
/// t is added to step t. KerasHub's PositionEmbedding returns these rows without adding them to the
/// input. The layer of GPT-2 and BERT.
///
/// Throws `shape_error` if the input is not (N, T, D) or has more than `sequence_length` steps, and
/// `value_error` if `sequence_length` is 0.
struct position_embedding {
  std::size_t sequence_length = 0;  ///< Largest number of steps, at least 1. Required.
  /// Initial values of the vectors, by default uniform in [-0.05, 0.05] as for `embedding`.
  initializer embeddings_initializer = random_uniform(0.05);

  static constexpr std::string_view type_name = "position_embedding";
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    s.expect(x.shape().rank() == 3, "expected sequences (N, T, C), got ", batch_text(x.shape()),
             "; add reshape{{T, C}} before it");
    s.expect_value(sequence_length > 0, "expected a sequence_length of at least 1");
    const std::size_t steps = s.stream() == nullptr ? x.shape()[1] : s.stream()->max_steps();
    s.expect(steps <= sequence_length, "expected at most ", sequence_length,
             " steps, the sequence_length, got ", steps);
    const variable table =
        s.parameter("embeddings", {sequence_length, x.shape()[2]}, embeddings_initializer);
    if (s.stream() != nullptr) {
      return x + x.owner().constant(s.stream()->rows_of(table.value()));
    }
    return x + ops::slice(table, {.axis = 0, .begin = 0, .extent = steps});
  }

  [[nodiscard]] std::string description() const {
    return text("position_embedding(", sequence_length, ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("sequence_length", self.sequence_length);
  }

  friend bool operator==(const position_embedding&, const position_embedding&) = default;
};

}  // namespace glia

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/activation.hpp"
#include "glia/layers/feature_mask.hpp"
#include "glia/layers/project_steps.hpp"
#include "glia/layers/recurrence.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/products.hpp"

namespace glia {

/// A fully connected recurrent layer for sequences.
///
/// The state h (N, U) starts at 0. Each step updates h with the step's input x:
///
///     h = activation(x kernel + h recurrent_kernel + bias)
///
/// The input is (N, T, I): N samples, T steps, I features. The output is the last state, (N, U)
/// with U = `units`. With `return_sequences` it is the states of all steps, (N, T, U). The
/// parameters have the names, shapes and initial values of Keras: `kernel` (I, U),
/// `recurrent_kernel` (U, U) and `bias` (U). At padding steps (see `masking`), the state does not
/// change. Training stores U values for each step of a sample. Elman, 1990.
///
/// Throws `shape_error` if the input is not (N, T, I) with at least one step, and `value_error` if
/// `units` is 0 or a dropout rate is outside [0, 1).
struct simple_rnn {
  std::size_t units = 0;  ///< Size U of the state, at least 1. Required.
  /// Whether the outputs of all steps are returned, (N, T, U), or only the last output, (N, U).
  bool return_sequences = false;
  /// Whether the sequence is read from its last step to its first. Each output stays at the
  /// position of its step; Keras returns the outputs in reading order.
  bool go_backwards = false;
  glia::activation activation = tanh;  ///< Activation function of the state.
  bool use_bias = true;                ///< Whether a bias is added.
  /// Dropout rate of the inputs, in [0, 1). The same features are dropped at all steps of a sample.
  double dropout = 0;
  /// Dropout rate of the state h in its product with `recurrent_kernel`, in [0, 1). The same
  /// features are dropped at all steps of a sample.
  double recurrent_dropout = 0;
  /// Whether the output at padding steps is 0 instead of the previous output. It has an effect only
  /// with `return_sequences` and a mask. `bidirectional` sets it.
  bool zero_output_for_mask = false;
  initializer kernel_initializer = glorot_uniform();  ///< Initial values of the kernel.
  initializer recurrent_initializer = orthogonal();   ///< Initial values of the recurrent kernel.
  initializer bias_initializer = constant(0);         ///< Initial values of the bias.

  static constexpr std::string_view type_name = "simple_rnn";
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const shape extents = x.shape();
    detail::expect_sequences(s, extents, units, dropout, recurrent_dropout);
    tape& owner = x.owner();
    const variable kernel = s.parameter("kernel", {extents[2], units}, kernel_initializer);
    const variable recurrent =
        s.parameter("recurrent_kernel", {units, units}, recurrent_initializer);
    std::optional<variable> shift;
    if (use_bias) {
      shift = s.parameter("bias", {units}, bias_initializer);
    }
    const detail::reading options{go_backwards, return_sequences, zero_output_for_mask};
    const detail::feature_mask drop_inputs(s, owner, dropout, extents[0], extents[2]);
    const detail::feature_mask drop_states(s, owner, recurrent_dropout, extents[0], units);
    const variable projected = detail::project_steps(drop_inputs(std::move(x)), kernel, shift);
    const detail::step_memory memory(s, owner, extents[0], units, 1, options);
    if (activation == tanh && detail::has_recurrence(s.device())) {
      return detail::run_at_once(recurrent_cell::simple, projected, memory, s.step_mask(),
                                 recurrent, {}, drop_states.factors(), options);
    }
    variable state = memory.parts()[0];
    variable y = detail::run_steps(
        projected, s.step_mask(), state,
        [&](const variable& step, const variable& h) {
          return activation(step + ops::dense(drop_states(h), recurrent));
        },
        [](const variable& h) -> const variable& { return h; }, options);
    memory.keep({state});
    return y;
  }

  [[nodiscard]] std::string description() const {
    return text("simple_rnn(", units, return_sequences ? ", sequences" : "",
                go_backwards ? ", backwards" : "", ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("units", self.units);
    visit("return_sequences", self.return_sequences);
    visit("go_backwards", self.go_backwards);
    visit("activation", self.activation);
    visit("use_bias", self.use_bias);
    visit("dropout", self.dropout);
    visit("recurrent_dropout", self.recurrent_dropout);
    visit("zero_output_for_mask", self.zero_output_for_mask);
  }

  friend bool operator==(const simple_rnn&, const simple_rnn&) = default;
};

}  // namespace glia

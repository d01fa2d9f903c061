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

/// A gated recurrent unit (GRU), a recurrent layer for sequences.
///
/// The state h (N, U) starts at 0. Each step updates h with the step's input x:
///
///     z = g(x Wz + h Uz + bz)
///     r = g(x Wr + h Ur + br)
///     c = f(x Wh + bh + r (h Uh + ch))    with reset_after, as in PyTorch and cuDNN
///     c = f(x Wh + (r h) Uh + bh)         without reset_after, as in Cho et al., EMNLP 2014
///     h = z h + (1 - z) c
///
/// f is `activation` and g is `recurrent_activation`. The input is (N, T, I): N samples, T steps, I
/// features. The output is the last state, (N, U) with U = `units`. With `return_sequences` it is
/// the states of all steps, (N, T, U).
///
/// The parameters have the names, shapes and initial values of Keras: `kernel` (I, 3 U),
/// `recurrent_kernel` (U, 3 U) and `bias` (3 U). Each of them consists of three blocks of U
/// columns, in the order z, r, h. With `reset_after`, `bias` is (2, 3 U); its second row is added
/// to the products with h. PyTorch's parameters are transposed, and their blocks have the order r,
/// z, h. At padding steps (see `masking`), the state does not change.
///
/// For each step of a sample, training stores 8 U values, or 5 U if the device runs all steps in
/// one kernel. The CPU does so if the activations are the default ones and `reset_after` is true.
///
/// Throws `shape_error` if the input is not (N, T, I) with at least one step, and `value_error` if
/// `units` is 0 or a dropout rate is outside [0, 1).
struct gru {
  std::size_t units = 0;  ///< Size U of the state, at least 1. Required.
  /// Whether the outputs of all steps are returned, (N, T, U), or only the last output, (N, U).
  bool return_sequences = false;
  /// Whether the sequence is read from its last step to its first. Each output stays at the
  /// position of its step; Keras returns the outputs in reading order.
  bool go_backwards = false;
  /// Whether the reset gate r multiplies the product h Uh instead of the state h; see the formulas
  /// above.
  bool reset_after = true;
  glia::activation activation = tanh;               ///< Activation f of the candidate state.
  glia::activation recurrent_activation = sigmoid;  ///< Activation g of the gates.
  bool use_bias = true;                             ///< Whether biases are added.
  /// Dropout rate of the inputs, in [0, 1). The same features are dropped at all steps of a sample.
  double dropout = 0;
  /// Dropout rate of the state h in its products with `recurrent_kernel`, in [0, 1). The same
  /// features are dropped at all steps of a sample and for all gates; Keras draws a separate mask
  /// for each gate.
  double recurrent_dropout = 0;
  /// Whether the output at padding steps is 0 instead of the previous output. It has an effect only
  /// with `return_sequences` and a mask. `bidirectional` sets it.
  bool zero_output_for_mask = false;
  initializer kernel_initializer = glorot_uniform();  ///< Initial values of the kernel.
  initializer recurrent_initializer = orthogonal();   ///< Initial values of the recurrent kernel.
  initializer bias_initializer = constant(0);         ///< Initial values of the bias.

  static constexpr std::string_view type_name = "gru";
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const shape extents = x.shape();
    detail::expect_sequences(s, extents, units, dropout, recurrent_dropout);
    tape& owner = x.owner();
    const variable kernel = s.parameter("kernel", {extents[2], 3 * units}, kernel_initializer);
    const variable recurrent =
        s.parameter("recurrent_kernel", {units, 3 * units}, recurrent_initializer);
    std::optional<variable> of_inputs;
    std::optional<variable> of_states;
    if (use_bias && reset_after) {
      const variable both = s.parameter("bias", {2, 3 * units}, bias_initializer);
      of_inputs = ops::reshape(ops::slice(both, {.axis = 0, .begin = 0}), {3 * units});
      of_states = ops::reshape(ops::slice(both, {.axis = 0, .begin = 1}), {3 * units});
    } else if (use_bias) {
      of_inputs = s.parameter("bias", {3 * units}, bias_initializer);
    }
    const detail::reading options{go_backwards, return_sequences, zero_output_for_mask};
    const detail::feature_mask drop_inputs(s, owner, dropout, extents[0], extents[2]);
    const detail::feature_mask drop_states(s, owner, recurrent_dropout, extents[0], units);
    const variable projected = detail::project_steps(drop_inputs(std::move(x)), kernel, of_inputs);
    const detail::step_memory memory(s, owner, extents[0], units, 1, options);
    if (reset_after && activation == tanh && recurrent_activation == sigmoid &&
        detail::has_recurrence(s.device())) {
      return detail::run_at_once(recurrent_cell::gru, projected, memory, s.step_mask(), recurrent,
                                 of_states, drop_states.factors(), options);
    }
    const auto last = [](const variable& h) -> const variable& { return h; };
    const auto run = [&](const auto& next) {
      variable state = memory.parts()[0];
      variable y = detail::run_steps(projected, s.step_mask(), state, next, last, options);
      memory.keep({state});
      return y;
    };
    if (reset_after) {
      return run([&](const variable& step, const variable& h) {
        const auto of_x = ops::split(step, 1, {2 * units, units});
        const auto of_h =
            ops::split(ops::dense(drop_states(h), recurrent, of_states), 1, {2 * units, units});
        const auto gates = ops::split(recurrent_activation(of_x[0] + of_h[0]), 1, {units, units});
        return blend(gates[0], h, activation(of_x[1] + gates[1] * of_h[1]));
      });
    }
    const auto kernels_of_h = ops::split(recurrent, 1, {2 * units, units});
    return run([&](const variable& step, const variable& h) {
      const auto of_x = ops::split(step, 1, {2 * units, units});
      const variable masked = drop_states(h);
      const auto gates = ops::split(
          recurrent_activation(of_x[0] + ops::dense(masked, kernels_of_h[0])), 1, {units, units});
      return blend(gates[0], h,
                   activation(of_x[1] + ops::dense(gates[1] * masked, kernels_of_h[1])));
    });
  }

  [[nodiscard]] std::string description() const {
    return text("gru(", units, return_sequences ? ", sequences" : "",
                go_backwards ? ", backwards" : "", reset_after ? "" : ", reset before", ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("units", self.units);
    visit("return_sequences", self.return_sequences);
    visit("go_backwards", self.go_backwards);
    visit("reset_after", self.reset_after);
    visit("activation", self.activation);
    visit("recurrent_activation", self.recurrent_activation);
    visit("use_bias", self.use_bias);
    visit("dropout", self.dropout);
    visit("recurrent_dropout", self.recurrent_dropout);
    visit("zero_output_for_mask", self.zero_output_for_mask);
  }

  friend bool operator==(const gru&, const gru&) = default;

 private:
  /// Returns z h + (1 - z) c.
  [[nodiscard]] static variable blend(const variable& z, const variable& h, const variable& c) {
    return c + z * (h - c);
  }
};

}  // namespace glia

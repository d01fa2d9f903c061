#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
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

/// Long short-term memory (LSTM), a recurrent layer for sequences.
///
/// The state h and the cell state c, both (N, U), start at 0. Each step updates both with the
/// step's input x:
///
///     i = g(x Wi + h Ui + bi)
///     r = g(x Wr + h Ur + br)
///     o = g(x Wo + h Uo + bo)
///     c = r c + i f(x Wc + h Uc + bc)
///     h = o f(c)
///
/// f is `activation` and g is `recurrent_activation`. i is the input gate, r the forget gate and o
/// the output gate. The input is (N, T, I): N samples, T steps, I features. The output is the last
/// h, (N, U) with U = `units`. With `return_sequences` it is the h of all steps, (N, T, U).
///
/// The parameters have the names, shapes and initial values of Keras: `kernel` (I, 4 U),
/// `recurrent_kernel` (U, 4 U) and `bias` (4 U). Each of them consists of four blocks of U columns,
/// in the order i, r, c, o. PyTorch's blocks have the same order, but its parameters are
/// transposed, and it adds two biases. At padding steps (see `masking`), neither state changes.
/// Hochreiter and Schmidhuber, 1997; Gers et al., 2000.
///
/// For each step of a sample, training stores 9 U values, or 6 U if the device runs all steps in
/// one kernel. The CPU does so if the activations are the default ones.
///
/// Throws `shape_error` if the input is not (N, T, I) with at least one step, and `value_error` if
/// `units` is 0 or a dropout rate is outside [0, 1).
struct lstm {
  std::size_t units = 0;  ///< Size U of both states, at least 1. Required.
  /// Whether the outputs of all steps are returned, (N, T, U), or only the last output, (N, U).
  bool return_sequences = false;
  /// Whether the sequence is read from its last step to its first. Each output stays at the
  /// position of its step; Keras returns the outputs in reading order.
  bool go_backwards = false;
  glia::activation activation = tanh;               ///< Activation f of the cell state.
  glia::activation recurrent_activation = sigmoid;  ///< Activation g of the gates.
  bool use_bias = true;                             ///< Whether a bias is added.
  /// Whether the forget gate's bias starts at 1 (Jozefowicz et al., ICML 2015).
  bool unit_forget_bias = true;
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
  /// Initial values of the bias; see unit_forget_bias.
  initializer bias_initializer = constant(0);

  static constexpr std::string_view type_name = "lstm";
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const shape extents = x.shape();
    detail::expect_sequences(s, extents, units, dropout, recurrent_dropout);
    tape& owner = x.owner();
    const variable kernel = s.parameter("kernel", {extents[2], 4 * units}, kernel_initializer);
    const variable recurrent =
        s.parameter("recurrent_kernel", {units, 4 * units}, recurrent_initializer);
    std::optional<variable> shift;
    if (use_bias) {
      shift = s.parameter("bias", {4 * units}, initial_bias());
    }
    const detail::reading options{go_backwards, return_sequences, zero_output_for_mask};
    const detail::feature_mask drop_inputs(s, owner, dropout, extents[0], extents[2]);
    const detail::feature_mask drop_states(s, owner, recurrent_dropout, extents[0], units);
    const variable projected = detail::project_steps(drop_inputs(std::move(x)), kernel, shift);
    const detail::step_memory earlier(s, owner, extents[0], units, 2, options);
    if (activation == tanh && recurrent_activation == sigmoid &&
        detail::has_recurrence(s.device())) {
      return detail::run_at_once(recurrent_cell::lstm, projected, earlier, s.step_mask(), recurrent,
                                 {}, drop_states.factors(), options);
    }
    const auto first = earlier.parts();
    memory state{first[0], first[1]};
    const auto next = [&](const variable& step, const memory& previous) {
      const variable sums = step + ops::dense(drop_states(previous.h), recurrent);
      const auto parts = ops::split(sums, 1, {2 * units, units, units});
      const auto gates = ops::split(recurrent_activation(parts[0]), 1, {units, units});
      const variable c = gates[1] * previous.c + gates[0] * activation(parts[1]);
      const variable out = recurrent_activation(parts[2]);
      return memory{out * activation(c), c};
    };
    const auto hidden = [](const memory& m) -> const variable& { return m.h; };
    variable y = detail::run_steps(projected, s.step_mask(), state, next, hidden, options);
    earlier.keep({state.h, state.c});
    return y;
  }

  [[nodiscard]] std::string description() const {
    return text("lstm(", units, return_sequences ? ", sequences" : "",
                go_backwards ? ", backwards" : "", ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("units", self.units);
    visit("return_sequences", self.return_sequences);
    visit("go_backwards", self.go_backwards);
    visit("activation", self.activation);
    visit("recurrent_activation", self.recurrent_activation);
    visit("use_bias", self.use_bias);
    visit("unit_forget_bias", self.unit_forget_bias);
    visit("dropout", self.dropout);
    visit("recurrent_dropout", self.recurrent_dropout);
    visit("zero_output_for_mask", self.zero_output_for_mask);
  }

  friend bool operator==(const lstm&, const lstm&) = default;

 private:
  struct memory {
    variable h;
    variable c;

    friend memory state_after(const tensor& counts, const memory& new_state,
                              const memory& old_state) {
      return {ops::where(counts, new_state.h, old_state.h),
              ops::where(counts, new_state.c, old_state.c)};
    }
  };

  [[nodiscard]] initializer initial_bias() const {
    if (!unit_forget_bias) {
      return bias_initializer;
    }
    return {text(bias_initializer, ", forget gate 1"),
            [initial = bias_initializer, count = units](std::span<float> values, const shape& s,
                                                        random_stream& random) {
              initial(values, s, random);
              const auto forget = values.subspan(count, count);
              std::fill(forget.begin(), forget.end(), 1.0F);
            }};
  }
};

}  // namespace glia

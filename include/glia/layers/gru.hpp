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

/// A gated recurrent unit over sequences x (N, T, I): from a state h of zeros, at each step
///
///     z = g(x Wz + h Uz + bz)    r = g(x Wr + h Ur + br)
///     c = f(x Wh + bh + r (h Uh + ch))        with reset_after, as PyTorch and cuDNN do it, or
///     c = f(x Wh + (r h) Uh + bh)             without, as in Cho et al., EMNLP 2014
///     h = z h + (1 - z) c
///
/// where f is `activation` and g `recurrent_activation`. Gives the last h, (N, U), or with
/// `sequences` all of them, (N, T, U). Parameters, names and defaults are Keras's: kernel (I, 3 U),
/// recurrent_kernel (U, 3 U), bias (2, 3 U) or without reset_after (3 U), in the order z, r, h.
/// PyTorch's are in the order r, z, h and transposed.
///
/// For the backward pass 5 U numbers are kept of each step of a sample where a backend runs all
/// steps in one kernel, as cpu does with the default activations and reset_after; else 8 U.
///
/// Throws `shape_error` for inputs that are no sequences, `value_error` for 0 units and rates
/// outside [0, 1).
struct gru {
  std::size_t units = 0;   ///< U, at least 1
  bool sequences = false;  ///< gives all steps and not the last one alone
  bool backwards = false;  ///< reads the last step first; outputs stand where their steps do
  bool reset_after = true;
  glia::activation activation = tanh;
  glia::activation recurrent_activation = sigmoid;
  bool bias = true;
  double dropout = 0;            ///< of x, the same features at all steps of a sample
  double recurrent_dropout = 0;  ///< of h, likewise
  /// With `sequences` and a mask: gives zeros at steps that are passed over, and not what it gave
  /// before. `bidirectional` asks for it.
  bool zero_output_for_mask = false;
  initializer kernel_initializer = glorot_uniform();
  initializer recurrent_initializer = orthogonal();
  initializer bias_initializer = constant(0);

  static constexpr std::string_view type_name = "gru";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const shape in = x.shape();
    detail::expect_sequences(s, in, units, dropout, recurrent_dropout);
    tape<B>& on = x.owner();
    const variable<B> kernel = s.parameter("kernel", {in[2], 3 * units}, kernel_initializer);
    const variable<B> recurrent =
        s.parameter("recurrent_kernel", {units, 3 * units}, recurrent_initializer);
    std::optional<variable<B>> of_inputs;
    std::optional<variable<B>> of_states;
    if (bias && reset_after) {
      const variable<B> both = s.parameter("bias", {2, 3 * units}, bias_initializer);
      of_inputs = ops::reshape(ops::slice(both, {.axis = 0, .begin = 0}), {3 * units});
      of_states = ops::reshape(ops::slice(both, {.axis = 0, .begin = 1}), {3 * units});
    } else if (bias) {
      of_inputs = s.parameter("bias", {3 * units}, bias_initializer);
    }
    const detail::reading how{backwards, sequences, zero_output_for_mask};
    const detail::feature_mask<B> drop_inputs(s, on, dropout, in[0], in[2]);
    const detail::feature_mask<B> drop_states(s, on, recurrent_dropout, in[0], units);
    const variable<B> projected =
        detail::project_steps(drop_inputs(std::move(x)), kernel, of_inputs);
    if constexpr (detail::runs_recurrence<B>) {
      if (reset_after && activation == tanh && recurrent_activation == sigmoid) {
        return detail::run_at_once<B>(recurrent_cell::gru, projected, s.step_mask(), recurrent,
                                      of_states, drop_states.factors(), how);
      }
    }
    const variable<B> start = on.constant(s.device().run(kernels::full{{in[0], units}, 0}));
    const auto last = [](const variable<B>& h) -> const variable<B>& { return h; };
    const auto run = [&](const auto& next) {
      return detail::run_steps<B>(projected, s.step_mask(), start, next, last, how);
    };
    if (reset_after) {
      return run([&](const variable<B>& step, const variable<B>& h) {
        const auto of_x = ops::split(step, 1, {2 * units, units});
        const auto of_h =
            ops::split(ops::dense(drop_states(h), recurrent, of_states), 1, {2 * units, units});
        const auto gates =
            ops::split(recurrent_activation.apply(of_x[0] + of_h[0]), 1, {units, units});
        return blend(gates[0], h, activation.apply(of_x[1] + gates[1] * of_h[1]));
      });
    }
    const auto kernels_of_h = ops::split(recurrent, 1, {2 * units, units});
    return run([&](const variable<B>& step, const variable<B>& h) {
      const auto of_x = ops::split(step, 1, {2 * units, units});
      const variable<B> kept = drop_states(h);
      const auto gates =
          ops::split(recurrent_activation.apply(of_x[0] + ops::dense(kept, kernels_of_h[0])), 1,
                     {units, units});
      return blend(gates[0], h,
                   activation.apply(of_x[1] + ops::dense(gates[1] * kept, kernels_of_h[1])));
    });
  }

  [[nodiscard]] std::string description() const {
    return text("gru(", units, sequences ? ", sequences" : "", backwards ? ", backwards" : "",
                reset_after ? "" : ", reset before", ')');
  }

  friend bool operator==(const gru&, const gru&) = default;

 private:
  /// z h + (1 - z) c
  template <backend B>
  [[nodiscard]] static variable<B> blend(const variable<B>& z, const variable<B>& h,
                                         const variable<B>& c) {
    return c + z * (h - c);
  }
};

}  // namespace glia

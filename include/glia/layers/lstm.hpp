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

/// Long short-term memory over sequences x (N, T, I): from h and c of zeros, at each step
///
///     i = g(x Wi + h Ui + bi)    r = g(x Wr + h Ur + br)    o = g(x Wo + h Uo + bo)
///     c = r c + i f(x Wc + h Uc + bc)
///     h = o f(c)
///
/// where f is `activation`, g `recurrent_activation` and r the forget gate. Gives the last h,
/// (N, U), or with `sequences` all of them, (N, T, U). Parameters, names and defaults are Keras's:
/// kernel (I, 4 U), recurrent_kernel (U, 4 U), bias (4 U), in the order i, r, c, o, which is
/// PyTorch's too, transposed there and with two biases that add up. Hochreiter and Schmidhuber,
/// 1997; Gers et al., 2000.
///
/// For the backward pass 6 U numbers are kept of each step of a sample where a backend runs all
/// steps in one kernel, as cpu does with the default activations; else 9 U.
///
/// Throws `shape_error` for inputs that are no sequences, `value_error` for 0 units and rates
/// outside [0, 1).
struct lstm {
  std::size_t units = 0;   ///< U, at least 1
  bool sequences = false;  ///< gives all steps and not the last one alone
  bool backwards = false;  ///< reads the last step first; outputs stand where their steps do
  glia::activation activation = tanh;
  glia::activation recurrent_activation = sigmoid;
  bool bias = true;
  bool unit_forget_bias = true;  ///< br starts at 1: Jozefowicz et al., ICML 2015
  double dropout = 0;            ///< of x, the same features at all steps of a sample
  double recurrent_dropout = 0;  ///< of h, likewise
  /// With `sequences` and a mask: gives zeros at steps that are passed over, and not what it gave
  /// before. `bidirectional` asks for it.
  bool zero_output_for_mask = false;
  initializer kernel_initializer = glorot_uniform();
  initializer recurrent_initializer = orthogonal();
  initializer bias_initializer = constant(0);

  static constexpr std::string_view type_name = "lstm";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const shape in = x.shape();
    detail::expect_sequences(s, in, units, dropout, recurrent_dropout);
    tape<B>& on = x.owner();
    const variable<B> kernel = s.parameter("kernel", {in[2], 4 * units}, kernel_initializer);
    const variable<B> recurrent =
        s.parameter("recurrent_kernel", {units, 4 * units}, recurrent_initializer);
    std::optional<variable<B>> shift;
    if (bias) {
      shift = s.parameter("bias", {4 * units}, initial_bias());
    }
    const detail::reading how{backwards, sequences, zero_output_for_mask};
    const detail::feature_mask<B> drop_inputs(s, on, dropout, in[0], in[2]);
    const detail::feature_mask<B> drop_states(s, on, recurrent_dropout, in[0], units);
    const variable<B> projected = detail::project_steps(drop_inputs(std::move(x)), kernel, shift);
    if constexpr (detail::runs_recurrence<B>) {
      if (activation == tanh && recurrent_activation == sigmoid) {
        return detail::run_at_once<B>(recurrent_cell::lstm, projected, s.step_mask(), recurrent, {},
                                      drop_states.factors(), how);
      }
    }
    const variable<B> zeros = on.constant(s.device().run(kernels::full{{in[0], units}, 0}));
    const auto next = [&](const variable<B>& step, const memory<B>& before) {
      const variable<B> all = step + ops::dense(drop_states(before.h), recurrent);
      const auto parts = ops::split(all, 1, {2 * units, units, units});
      const auto gates = ops::split(recurrent_activation.apply(parts[0]), 1, {units, units});
      const variable<B> c = gates[1] * before.c + gates[0] * activation.apply(parts[1]);
      const variable<B> out = recurrent_activation.apply(parts[2]);
      return memory<B>{out * activation.apply(c), c};
    };
    const auto hidden = [](const memory<B>& m) -> const variable<B>& { return m.h; };
    return detail::run_steps<B>(projected, s.step_mask(), memory<B>{zeros, zeros}, next, hidden,
                                how);
  }

  [[nodiscard]] std::string description() const {
    return text("lstm(", units, sequences ? ", sequences" : "", backwards ? ", backwards" : "",
                ')');
  }

  friend bool operator==(const lstm&, const lstm&) = default;

 private:
  template <backend B>
  struct memory {
    variable<B> h;
    variable<B> c;

    friend memory state_after(const typename B::tensor& counts, const memory& now,
                              const memory& before) {
      return {ops::select(counts, now.h, before.h), ops::select(counts, now.c, before.c)};
    }
  };

  [[nodiscard]] initializer initial_bias() const {
    if (!unit_forget_bias) {
      return bias_initializer;
    }
    return {text(bias_initializer, ", forget gate 1"),
            [given = bias_initializer, count = units](std::span<float> values, const shape& s,
                                                      random_stream& random) {
              given(values, s, random);
              const auto forget = values.subspan(count, count);
              std::fill(forget.begin(), forget.end(), 1.0F);
            }};
  }
};

}  // namespace glia

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

/// A fully connected recurrent layer over sequences x (N, T, I): from a state h of zeros, at each
/// step h = activation(x kernel + h recurrent_kernel + bias). Gives the last h, (N, U), or with
/// `sequences` all of them, (N, T, U). Parameters, names and defaults are Keras's: kernel (I, U),
/// recurrent_kernel (U, U), bias (U). Elman, 1990. For the backward pass U numbers are kept of each
/// step of a sample.
///
/// Throws `shape_error` for inputs that are no sequences, `value_error` for 0 units and rates
/// outside [0, 1).
struct simple_rnn {
  std::size_t units = 0;   ///< U, at least 1
  bool sequences = false;  ///< gives all steps and not the last one alone
  bool backwards = false;  ///< reads the last step first; outputs stand where their steps do
  glia::activation activation = tanh;
  bool bias = true;
  double dropout = 0;            ///< of x, the same features at all steps of a sample
  double recurrent_dropout = 0;  ///< of h, likewise
  /// With `sequences` and a mask: gives zeros at steps that are passed over, and not what it gave
  /// before. `bidirectional` asks for it.
  bool zero_output_for_mask = false;
  initializer kernel_initializer = glorot_uniform();
  initializer recurrent_initializer = orthogonal();
  initializer bias_initializer = constant(0);

  static constexpr std::string_view type_name = "simple_rnn";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const shape in = x.shape();
    detail::expect_sequences(s, in, units, dropout, recurrent_dropout);
    tape<B>& on = x.owner();
    const variable<B> kernel = s.parameter("kernel", {in[2], units}, kernel_initializer);
    const variable<B> recurrent =
        s.parameter("recurrent_kernel", {units, units}, recurrent_initializer);
    std::optional<variable<B>> shift;
    if (bias) {
      shift = s.parameter("bias", {units}, bias_initializer);
    }
    const detail::reading how{backwards, sequences, zero_output_for_mask};
    const detail::feature_mask<B> drop_inputs(s, on, dropout, in[0], in[2]);
    const detail::feature_mask<B> drop_states(s, on, recurrent_dropout, in[0], units);
    const variable<B> projected = detail::project_steps(drop_inputs(std::move(x)), kernel, shift);
    if constexpr (detail::runs_recurrence<B>) {
      if (activation == tanh) {
        return detail::run_at_once<B>(recurrent_cell::simple, projected, s.step_mask(), recurrent,
                                      {}, drop_states.factors(), how);
      }
    }
    const variable<B> start = on.constant(s.device().run(kernels::full{{in[0], units}, 0}));
    return detail::run_steps<B>(
        projected, s.step_mask(), start,
        [&](const variable<B>& step, const variable<B>& h) {
          return activation.apply(step + ops::dense(drop_states(h), recurrent));
        },
        [](const variable<B>& h) -> const variable<B>& { return h; }, how);
  }

  [[nodiscard]] std::string description() const {
    return text("simple_rnn(", units, sequences ? ", sequences" : "",
                backwards ? ", backwards" : "", ')');
  }

  friend bool operator==(const simple_rnn&, const simple_rnn&) = default;
};

}  // namespace glia

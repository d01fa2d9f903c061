#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/activation.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/products.hpp"

namespace glia {

/// A fully connected layer.
///
///     y = activation(x kernel + bias)
///
/// The input x is (N, I): N samples with I features each. The output y is (N, O) with O = `units`.
/// The parameters are `kernel` (I, O) and `bias` (O). Unlike Keras's layer, it does not accept
/// other shapes: put `flatten` before it, or use `time_distributed` for sequences.
///
/// Throws `shape_error` if the input is not (N, I), and `value_error` if `units` is 0.
struct dense {
  std::size_t units = 0;                 ///< Number of outputs O, at least 1. Required.
  glia::activation activation = linear;  ///< Activation function of the output.
  bool use_bias = true;                  ///< Whether a bias is added.
  initializer kernel_initializer = glorot_uniform();  ///< Initial values of the kernel.
  initializer bias_initializer = constant(0);         ///< Initial values of the bias.

  static constexpr std::string_view type_name = "dense";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    s.expect(
        x.shape().rank() == 2, "expected an input (N, I), got ", batch_text(x.shape()),
        "; add flatten{} before it",
        x.shape().rank() == 3 ? ", or wrap it in time_distributed{} to apply it to each step" : "");
    s.expect_value(units > 0, "expected at least 1 unit, got 0; write .units = 10, for instance");
    s.expect_value(units > 1 || !activation.over_last_axis, "a ", activation.name,
                   " over 1 unit is always 1; use sigmoid, or at least 2 units");
    const variable kernel = s.parameter("kernel", {x.shape()[1], units}, kernel_initializer);
    std::optional<variable> shift;
    if (use_bias) {
      shift = s.parameter("bias", {units}, bias_initializer);
    }
    return activation(ops::dense(x, kernel, shift));
  }

  [[nodiscard]] constexpr glia::output_kind output_kind() const { return activation.output_kind(); }
  [[nodiscard]] std::string description() const {
    return activation == linear ? text("dense(", units, ')')
                                : text("dense(", units, ", ", activation, ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("units", self.units);
    visit("activation", self.activation);
    visit("use_bias", self.use_bias);
  }

  friend bool operator==(const dense&, const dense&) = default;
};

}  // namespace glia

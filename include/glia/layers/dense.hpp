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

/// A fully connected layer: y = activation(x kernel + bias), x (N, I), kernel (I, O), bias (O).
///
/// Throws `shape_error` for inputs that are not (N, I), `value_error` for 0 units.
struct dense {
  std::size_t units = 0;  ///< O, at least 1
  glia::activation activation = linear;
  bool bias = true;
  initializer kernel_initializer = glorot_uniform();
  initializer bias_initializer = constant(0);

  static constexpr std::string_view type_name = "dense";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    s.expect(x.shape().rank() == 2, "expected input (N, I), got ", batch_text(x.shape()),
             "; add flatten{} before it");
    s.expect_value(units > 0, "expected at least 1 unit");
    s.expect_value(units > 1 || !activation.over_last_axis, "a ", activation.name,
                   " over 1 unit is always 1; use sigmoid, or 2 units");
    const variable<B> kernel = s.parameter("kernel", {x.shape()[1], units}, kernel_initializer);
    std::optional<variable<B>> shift;
    if (bias) {
      shift = s.parameter("bias", {units}, bias_initializer);
    }
    return activation.apply(ops::dense(x, kernel, shift));
  }

  [[nodiscard]] constexpr output_kind gives() const { return activation.gives(); }
  [[nodiscard]] std::string description() const {
    return activation == linear ? text("dense(", units, ')')
                                : text("dense(", units, ", ", activation, ')');
  }

  friend bool operator==(const dense&, const dense&) = default;
};

}  // namespace glia

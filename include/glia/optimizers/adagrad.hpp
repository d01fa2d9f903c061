#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/core/described.hpp"
#include "glia/optimizers/ranges.hpp"
#include "glia/optimizers/schedule.hpp"

namespace glia {

/// The Adagrad optimizer, which divides the learning rate of each element by the root of the sum of
/// its squared gradients.
///
///     v += g^2
///     p -= learning_rate g / sqrt(v + epsilon)
///
/// p is a parameter, g its gradient, v the optimizer's state. As in Keras, epsilon is inside the
/// root. The defaults are also the same as in Keras. Duchi, Hazan and Singer, JMLR 2011, diagonal
/// form.
///
/// Throws `value_error` in the first step if an option is outside its range.
struct adagrad {
  schedule learning_rate = 1e-3;           ///< Learning rate, at least 0: a number or a schedule.
  double initial_accumulator_value = 0.1;  ///< Initial value of v, at least 0 (PyTorch: 0).
  double epsilon = 1e-7;                   ///< Positive number that avoids a division by 0.
  /// L2 weight decay, at least 0, added to the gradient as in PyTorch: g + weight_decay p. Keras's
  /// weight decay is decoupled, as in `adamw`.
  double weight_decay = 0;

  /// Returns the number of state tensors for each parameter.
  [[nodiscard]] std::size_t state_count() const { return 1; }
  /// Returns the initial value of the state.
  [[nodiscard]] double initial_state() const { return initial_accumulator_value; }

  /// Returns the learning rate of a step, multiplied by `scale`.
  [[nodiscard]] std::array<double, 1> numbers(std::size_t step, double scale = 1) const {
    detail::require_ranges("adagrad", weight_decay, epsilon);
    require<value_error>(initial_accumulator_value >= 0 && std::isfinite(initial_accumulator_value),
                         "adagrad: expected a finite initial_accumulator_value of at least 0, got ",
                         initial_accumulator_value);
    return {scale * learning_rate(step)};
  }
  /// Updates a parameter p by its gradient g.
  void apply(const glia::device& device, tensor& p, tensor g, std::vector<tensor>& slots,
             const tensor& numbers) const {
    std::tie(p, slots[0]) =
        std::tuple_cat(device.run(kernels::adagrad{epsilon, weight_decay}, std::move(p),
                                  std::move(g), std::move(slots[0]), numbers));
  }

  [[nodiscard]] std::string description() const { return text("adagrad(", learning_rate, ')'); }
  friend bool operator==(const adagrad&, const adagrad&) = default;
};

}  // namespace glia

#pragma once

#include <array>
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

/// The RMSprop optimizer, which divides each gradient by the root of a running average of its
/// square.
///
///     v = rho v + (1 - rho) g^2
///     u = momentum u + learning_rate g / sqrt(v + epsilon)
///     p -= u
///
/// p is a parameter, g its gradient, v and u the optimizer's state. Without momentum, u is not
/// stored. As in Keras, epsilon is inside the root. The defaults are also the same as in Keras.
/// PyTorch calls rho alpha, with a default of 0.99, and adds epsilon to the root. Tieleman and
/// Hinton, lecture 6.5 of Neural Networks for Machine Learning, 2012.
///
/// Throws `value_error` in the first step if an option is outside its range.
struct rmsprop {
  schedule learning_rate = 1e-3;  ///< Learning rate, at least 0: a number or a schedule.
  double rho = 0.9;               ///< Decay rate of the average of the squared gradient, in [0, 1).
  double momentum = 0;            ///< Momentum, in [0, 1).
  double epsilon = 1e-7;          ///< Positive number that avoids a division by 0.
  /// L2 weight decay, at least 0, added to the gradient as in PyTorch: g + weight_decay p. Keras's
  /// weight decay is decoupled, as in `adamw`.
  double weight_decay = 0;

  /// Returns the number of state tensors for each parameter.
  [[nodiscard]] std::size_t state_count() const { return momentum > 0 ? 2 : 1; }
  /// Returns the initial value of the state.
  [[nodiscard]] double initial_state() const { return 0; }

  /// Returns the learning rate of a step, multiplied by `scale`.
  [[nodiscard]] std::array<double, 1> numbers(std::size_t step, double scale = 1) const {
    detail::require_ranges("rmsprop", weight_decay, epsilon);
    require<value_error>(rho >= 0 && rho < 1 && momentum >= 0 && momentum < 1,
                         "rmsprop: expected rho and momentum in [0, 1), got ", rho, " and ",
                         momentum);
    return {scale * learning_rate(step)};
  }
  /// Updates a parameter p by its gradient g.
  void apply(const glia::device& device, tensor& p, tensor g, std::vector<tensor>& slots,
             const tensor& numbers) const {
    tensor unused;
    tensor& velocity = slots.size() > 1 ? slots[1] : unused;
    std::tie(p, slots[0], velocity) = std::tuple_cat(
        device.run(kernels::rmsprop{rho, momentum, epsilon, weight_decay}, std::move(p),
                   std::move(g), std::move(slots[0]), std::move(velocity), numbers));
  }

  [[nodiscard]] std::string description() const { return text("rmsprop(", learning_rate, ')'); }
  friend bool operator==(const rmsprop&, const rmsprop&) = default;
};

}  // namespace glia

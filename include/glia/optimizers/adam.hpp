#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/core/described.hpp"
#include "glia/optimizers/ranges.hpp"
#include "glia/optimizers/schedule.hpp"

namespace glia {

namespace detail {

/// Returns three numbers of adam and adamw for a step, counted from 0: the learning rate, epsilon,
/// and a factor that multiplies the parameters. The learning rate and epsilon include the bias
/// corrections 1 - beta^(step + 1), so that the loop over the parameters does not compute them.
template <class Options>
[[nodiscard]] std::array<double, 3> adam_numbers(std::string_view name, const Options& o,
                                                 std::size_t step, double scale) {
  require_ranges(name, o.weight_decay, o.epsilon);
  require<value_error>(o.beta_1 >= 0 && o.beta_1 < 1 && o.beta_2 >= 0 && o.beta_2 < 1, name,
                       ": expected beta_1 and beta_2 in [0, 1), got ", o.beta_1, " and ", o.beta_2);
  const auto power = static_cast<double>(step + 1);
  const double correction1 = 1 - std::pow(o.beta_1, power);
  const double correction2 = std::sqrt(1 - std::pow(o.beta_2, power));
  return {scale * o.learning_rate(step) * correction2 / correction1,
          o.epsilon_hat ? o.epsilon : o.epsilon * correction2, 1};
}

/// Runs the kernel of adam and adamw for one parameter.
inline void apply_adam(const kernels::adam& kernel, const glia::device& device, tensor& p, tensor g,
                       std::vector<tensor>& slots, const tensor& numbers) {
  std::tie(p, slots[0], slots[1]) = std::tuple_cat(device.run(
      kernel, std::move(p), std::move(g), std::move(slots[0]), std::move(slots[1]), numbers));
}

}  // namespace detail

/// The Adam optimizer, which scales the step of each element by running averages of its gradient
/// and its squared gradient.
///
///     m = beta_1 m + (1 - beta_1) g
///     v = beta_2 v + (1 - beta_2) g^2
///     p -= learning_rate m' / (sqrt(v') + epsilon)
///     where m' = m / (1 - beta_1^t) and v' = v / (1 - beta_2^t) in step t, counted from 1
///
/// p is a parameter, g its gradient, m and v the optimizer's state. Kingma and Ba, ICLR 2015,
/// algorithm 1. The default epsilon is 1e-7, as in Keras; the paper and PyTorch have 1e-8. Epsilon
/// is added to sqrt(v'), as in PyTorch. Keras adds it to sqrt(v); set `epsilon_hat` to do the same.
///
/// Throws `value_error` in the first step if an option is outside its range.
struct adam {
  schedule learning_rate = 1e-3;  ///< Learning rate, at least 0: a number or a schedule.
  double beta_1 = 0.9;            ///< Decay rate of the average of the gradient, in [0, 1).
  double beta_2 = 0.999;          ///< Decay rate of the average of the squared gradient, in [0, 1).
  double epsilon = 1e-7;          ///< Positive number that avoids a division by 0.
  /// L2 weight decay, at least 0, added to the gradient as in PyTorch: g + weight_decay p. Keras's
  /// weight decay is decoupled, as in `adamw`.
  double weight_decay = 0;
  /// Whether epsilon is added to sqrt(v) instead of sqrt(v'), as in Keras and at the end of section
  /// 2 of the paper.
  bool epsilon_hat = false;

  /// Returns the number of state tensors for each parameter.
  [[nodiscard]] std::size_t state_count() const { return 2; }
  /// Returns the initial value of the state.
  [[nodiscard]] double initial_state() const { return 0; }

  /// Returns the values that change in every step. The learning rate is multiplied by `scale`.
  [[nodiscard]] std::array<double, 3> numbers(std::size_t step, double scale = 1) const {
    return detail::adam_numbers("adam", *this, step, scale);
  }
  /// Updates a parameter p by its gradient g.
  void apply(const glia::device& device, tensor& p, tensor g, std::vector<tensor>& slots,
             const tensor& numbers) const {
    detail::apply_adam({beta_1, beta_2, weight_decay}, device, p, std::move(g), slots, numbers);
  }

  [[nodiscard]] std::string description() const { return text("adam(", learning_rate, ')'); }
  friend bool operator==(const adam&, const adam&) = default;
};

/// The AdamW optimizer: Adam with decoupled weight decay.
///
/// In addition to Adam's update, each step multiplies a parameter p by 1 - learning_rate *
/// weight_decay. The default weight decay is 0.01, as in PyTorch; in Keras it is 0.004. Loshchilov
/// and Hutter, ICLR 2019, algorithm 2, with the decay multiplied by the learning rate as in PyTorch
/// and Keras.
///
/// Throws `value_error` in the first step if an option is outside its range.
struct adamw {
  schedule learning_rate = 1e-3;  ///< Learning rate, at least 0: a number or a schedule.
  double beta_1 = 0.9;            ///< Decay rate of the average of the gradient, in [0, 1).
  double beta_2 = 0.999;          ///< Decay rate of the average of the squared gradient, in [0, 1).
  double epsilon = 1e-7;          ///< Positive number that avoids a division by 0.
  double weight_decay = 0.01;     ///< Decoupled weight decay, at least 0.
  bool epsilon_hat = false;       ///< Whether epsilon is added to sqrt(v); see `adam`.

  /// Returns the number of state tensors for each parameter.
  [[nodiscard]] std::size_t state_count() const { return 2; }
  /// Returns the name of the state, "adam", because `adam` and `adamw` accept each other's state.
  [[nodiscard]] static std::string state_name() { return "adam"; }
  /// Returns the initial value of the state.
  [[nodiscard]] double initial_state() const { return 0; }

  /// Returns the values that change in every step. The learning rate is multiplied by `scale`.
  [[nodiscard]] std::array<double, 3> numbers(std::size_t step, double scale = 1) const {
    std::array<double, 3> result = detail::adam_numbers("adamw", *this, step, scale);
    result[2] = 1 - scale * learning_rate(step) * weight_decay;
    return result;
  }
  /// Updates a parameter p by its gradient g.
  void apply(const glia::device& device, tensor& p, tensor g, std::vector<tensor>& slots,
             const tensor& numbers) const {
    detail::apply_adam({beta_1, beta_2, 0}, device, p, std::move(g), slots, numbers);
  }

  [[nodiscard]] std::string description() const {
    return text("adamw(", learning_rate, ", weight decay ", weight_decay, ')');
  }
  friend bool operator==(const adamw&, const adamw&) = default;
};

}  // namespace glia

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

/// Stochastic gradient descent, optionally with momentum.
///
///     g' = g + weight_decay p
///     v = momentum v + g'
///     p -= learning_rate v                      without nesterov
///     p -= learning_rate (g' + momentum v)      with nesterov
///
/// p is a parameter, g its gradient, and v (the velocity) the optimizer's state. Without momentum,
/// v is not stored. As in PyTorch, the velocity does not include the learning rate. In Keras it
/// does, so results differ if the learning rate changes. Sutskever et al., ICML 2013.
///
/// Throws `value_error` in the first step if an option is outside its range.
struct sgd {
  schedule learning_rate = 0.01;  ///< Learning rate, at least 0: a number or a schedule.
  double momentum = 0;            ///< Momentum, in [0, 1).
  bool nesterov = false;  ///< Whether Nesterov's momentum is used; needs a momentum above 0.
  /// L2 weight decay, at least 0, added to the gradient as in PyTorch. Keras's weight decay is
  /// decoupled, as in `adamw`.
  double weight_decay = 0;

  /// Returns the number of state tensors for each parameter.
  [[nodiscard]] std::size_t state_count() const { return momentum > 0 ? 1 : 0; }
  /// Returns the initial value of the state.
  [[nodiscard]] double initial_state() const { return 0; }

  /// Returns the learning rate of a step, multiplied by `scale`.
  [[nodiscard]] std::array<double, 1> numbers(std::size_t step, double scale = 1) const {
    detail::require_ranges("sgd", weight_decay);
    require<value_error>(momentum >= 0 && momentum < 1, "sgd: expected a momentum in [0, 1), got ",
                         momentum);
    require<value_error>(!nesterov || momentum > 0,
                         "sgd: expected a momentum above 0 with nesterov, got 0");
    return {scale * learning_rate(step)};
  }

  /// Updates a parameter p by its gradient g.
  void apply(const glia::device& device, tensor& p, tensor g, std::vector<tensor>& slots,
             const tensor& numbers) const {
    tensor unused;
    tensor& velocity = slots.empty() ? unused : slots[0];
    std::tie(p, velocity) =
        std::tuple_cat(device.run(kernels::sgd{momentum, weight_decay, nesterov}, std::move(p),
                                  std::move(g), std::move(velocity), numbers));
  }

  [[nodiscard]] std::string description() const {
    return text("sgd(", learning_rate, momentum > 0 ? text(", momentum ", momentum) : "",
                nesterov ? ", nesterov" : "", ')');
  }
  friend bool operator==(const sgd&, const sgd&) = default;
};

}  // namespace glia

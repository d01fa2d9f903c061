#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/core/described.hpp"
#include "glia/optimizers/ranges.hpp"
#include "glia/optimizers/schedule.hpp"

namespace glia {

/// RMSprop: v = rho v + (1 - rho) g^2; u = momentum u + rate g / sqrt(v + epsilon); p -= u.
/// Tieleman and Hinton, lecture 6.5 of Neural Networks for Machine Learning, 2012; defaults and the
/// place of epsilon are Keras's.
struct rmsprop {
  schedule learning_rate = 1e-3;  ///< > 0
  double rho = 0.9;               ///< in [0, 1)
  double momentum = 0;            ///< in [0, 1)
  double epsilon = 1e-7;          ///< > 0
  double weight_decay = 0;        ///< >= 0; L2, added to the gradient

  [[nodiscard]] std::size_t slot_count() const { return momentum > 0 ? 2 : 1; }
  [[nodiscard]] double slot_start() const { return 0; }

  [[nodiscard]] std::array<double, 1> numbers(std::size_t step, double scale = 1) const {
    detail::require_ranges("rmsprop", weight_decay, epsilon);
    require<value_error>(rho >= 0 && rho < 1 && momentum >= 0 && momentum < 1,
                         "rmsprop: expected rho and momentum in [0, 1), got ", rho, " and ",
                         momentum);
    return {scale * learning_rate(step)};
  }
  template <backend B>
  void apply(const B& device, typename B::tensor& p, typename B::tensor g,
             std::vector<typename B::tensor>& slots, const typename B::tensor& numbers) const {
    typename B::tensor none;
    typename B::tensor& velocity = slots.size() > 1 ? slots[1] : none;
    std::tie(p, slots[0], velocity) = std::tuple_cat(
        device.run(kernels::rmsprop{rho, momentum, epsilon, weight_decay}, std::move(p),
                   std::move(g), std::move(slots[0]), std::move(velocity), numbers));
  }

  [[nodiscard]] std::string description() const { return text("rmsprop(", learning_rate, ')'); }
  friend bool operator==(const rmsprop&, const rmsprop&) = default;
};

}  // namespace glia

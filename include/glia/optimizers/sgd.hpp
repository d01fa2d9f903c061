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

/// Stochastic gradient descent: g' = g + weight_decay p; v = momentum v + g'; p -= rate v, or, with
/// Nesterov's look-ahead, p -= rate (g' + momentum v). Sutskever et al., ICML 2013, as PyTorch
/// writes it: the rate is outside the velocity.
struct sgd {
  schedule learning_rate = 0.01;  ///< > 0
  double momentum = 0;            ///< in [0, 1)
  bool nesterov = false;          ///< needs a momentum
  double weight_decay = 0;        ///< >= 0; L2, added to the gradient

  [[nodiscard]] std::size_t slot_count() const { return momentum > 0 ? 1 : 0; }
  [[nodiscard]] double slot_start() const { return 0; }

  [[nodiscard]] std::array<double, 1> numbers(std::size_t step, double scale = 1) const {
    detail::require_ranges("sgd", weight_decay);
    require<value_error>(momentum >= 0 && momentum < 1, "sgd: expected a momentum in [0, 1), got ",
                         momentum);
    require<value_error>(!nesterov || momentum > 0, "sgd: nesterov needs a momentum");
    return {scale * learning_rate(step)};
  }

  template <backend B>
  void apply(const B& device, typename B::tensor& p, typename B::tensor g,
             std::vector<typename B::tensor>& slots, const typename B::tensor& numbers) const {
    typename B::tensor none;
    typename B::tensor& velocity = slots.empty() ? none : slots[0];
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

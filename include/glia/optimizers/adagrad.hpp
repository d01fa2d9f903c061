#pragma once

#include <array>
#include <cmath>
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

/// Adagrad: v += g^2; p -= rate g / sqrt(v + epsilon). Duchi, Hazan and Singer, JMLR 2011, diagonal
/// form; defaults and the place of epsilon are Keras's.
struct adagrad {
  schedule learning_rate = 1e-3;     ///< > 0
  double initial_accumulator = 0.1;  ///< where v starts, >= 0
  double epsilon = 1e-7;             ///< > 0
  double weight_decay = 0;           ///< >= 0; L2, added to the gradient

  [[nodiscard]] std::size_t slot_count() const { return 1; }
  [[nodiscard]] double slot_start() const { return initial_accumulator; }

  [[nodiscard]] std::array<double, 1> numbers(std::size_t step, double scale = 1) const {
    detail::require_ranges("adagrad", weight_decay, epsilon);
    require<value_error>(initial_accumulator >= 0 && std::isfinite(initial_accumulator),
                         "adagrad: expected a finite initial accumulator of at least 0, got ",
                         initial_accumulator);
    return {scale * learning_rate(step)};
  }
  template <backend B>
  void apply(const B& device, typename B::tensor& p, typename B::tensor g,
             std::vector<typename B::tensor>& slots, const typename B::tensor& numbers) const {
    std::tie(p, slots[0]) =
        std::tuple_cat(device.run(kernels::adagrad{epsilon, weight_decay}, std::move(p),
                                  std::move(g), std::move(slots[0]), numbers));
  }

  [[nodiscard]] std::string description() const { return text("adagrad(", learning_rate, ')'); }
  friend bool operator==(const adagrad&, const adagrad&) = default;
};

}  // namespace glia

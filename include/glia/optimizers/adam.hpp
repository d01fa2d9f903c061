#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/core/described.hpp"
#include "glia/optimizers/ranges.hpp"
#include "glia/optimizers/schedule.hpp"

namespace glia {

namespace detail {

/// What adam and adamw have in common at step `step`, counted from 0: rate, epsilon and what is
/// kept of the parameters. The bias corrections 1 - beta^(step + 1) are folded into the first two,
/// so that the loop over the parameters need not know them.
template <class Options>
[[nodiscard]] std::array<double, 3> adam_numbers(std::string_view name, const Options& o,
                                                 std::size_t step, double scale) {
  require_ranges(name, o.weight_decay, o.epsilon);
  require<value_error>(o.beta1 >= 0 && o.beta1 < 1 && o.beta2 >= 0 && o.beta2 < 1, name,
                       ": expected betas in [0, 1), got ", o.beta1, " and ", o.beta2);
  const auto power = static_cast<double>(step + 1);
  const double correction1 = 1 - std::pow(o.beta1, power);
  const double correction2 = std::sqrt(1 - std::pow(o.beta2, power));
  return {scale * o.learning_rate(step) * correction2 / correction1,
          o.epsilon_hat ? o.epsilon : o.epsilon * correction2, 1};
}

template <backend B>
void apply_adam(const kernels::adam& kernel, const B& device, typename B::tensor& p,
                typename B::tensor g, std::vector<typename B::tensor>& slots,
                const typename B::tensor& numbers) {
  std::tie(p, slots[0], slots[1]) = std::tuple_cat(device.run(
      kernel, std::move(p), std::move(g), std::move(slots[0]), std::move(slots[1]), numbers));
}

}  // namespace detail

/// Adam: m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
/// p -= rate m^ / (sqrt(v^) + epsilon) with m^ = m / (1 - beta1^t), v^ = v / (1 - beta2^t).
/// Kingma and Ba, ICLR 2015, algorithm 1. The default epsilon is Keras's 1e-7; the paper has 1e-8.
/// With `epsilon_hat` it is added to the square root of the uncorrected v instead, as at the end of
/// the paper's section 2 and in Keras.
/// Weight decay is L2, added to the gradient; see `adamw` for the decoupled form.
struct adam {
  schedule learning_rate = 1e-3;  ///< > 0
  double beta1 = 0.9;             ///< in [0, 1)
  double beta2 = 0.999;           ///< in [0, 1)
  double epsilon = 1e-7;          ///< > 0
  double weight_decay = 0;        ///< >= 0
  bool epsilon_hat = false;       ///< whether epsilon goes to the uncorrected v

  [[nodiscard]] std::size_t slot_count() const { return 2; }
  [[nodiscard]] double slot_start() const { return 0; }

  [[nodiscard]] std::array<double, 3> numbers(std::size_t step, double scale = 1) const {
    return detail::adam_numbers("adam", *this, step, scale);
  }
  template <backend B>
  void apply(const B& device, typename B::tensor& p, typename B::tensor g,
             std::vector<typename B::tensor>& slots, const typename B::tensor& numbers) const {
    detail::apply_adam({beta1, beta2, weight_decay}, device, p, std::move(g), slots, numbers);
  }

  [[nodiscard]] std::string description() const { return text("adam(", learning_rate, ')'); }
  friend bool operator==(const adam&, const adam&) = default;
};

/// Adam with the weight decay taken from the parameter itself: p -= rate weight_decay p beside
/// Adam's step. Loshchilov and Hutter, ICLR 2019, algorithm 2, with the decay multiplied by the
/// learning rate as in PyTorch.
struct adamw {
  schedule learning_rate = 1e-3;  ///< > 0
  double beta1 = 0.9;             ///< in [0, 1)
  double beta2 = 0.999;           ///< in [0, 1)
  double epsilon = 1e-7;          ///< > 0
  double weight_decay = 0.01;     ///< >= 0
  bool epsilon_hat = false;       ///< as in `adam`

  [[nodiscard]] std::size_t slot_count() const { return 2; }
  /// It keeps what adam keeps.
  [[nodiscard]] static std::string slots_name() { return "adam"; }
  [[nodiscard]] double slot_start() const { return 0; }

  [[nodiscard]] std::array<double, 3> numbers(std::size_t step, double scale = 1) const {
    std::array<double, 3> result = detail::adam_numbers("adamw", *this, step, scale);
    result[2] = 1 - scale * learning_rate(step) * weight_decay;
    return result;
  }
  template <backend B>
  void apply(const B& device, typename B::tensor& p, typename B::tensor g,
             std::vector<typename B::tensor>& slots, const typename B::tensor& numbers) const {
    detail::apply_adam({beta1, beta2, 0}, device, p, std::move(g), slots, numbers);
  }

  [[nodiscard]] std::string description() const {
    return text("adamw(", learning_rate, ", weight decay ", weight_decay, ')');
  }
  friend bool operator==(const adamw&, const adamw&) = default;
};

}  // namespace glia

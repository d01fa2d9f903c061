#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "glia/kernels/kernel.hpp"

// Each kernel is one optimizer step for one parameter p with gradient g. The optimizer state
// consists of additional tensors for each parameter. `numbers` is a tensor of the numbers that
// change from step to step.

namespace glia::detail {

inline void require_update(const tensor_spec& p, const tensor_spec& g, const tensor_spec& numbers,
                           std::size_t count) {
  require_elements("update: parameter", p, element::real);
  require_elements("update: gradient", g, element::real);
  require_same_shape("update: gradient", p.shape, g.shape);
  require_same_shape("update: numbers of the step", {count}, numbers.shape);
}

}  // namespace glia::detail

namespace glia::kernels {

/// One step of SGD: g' = g + decay p; v = momentum v + g'; p -= rate (nesterov ? g' + momentum v :
/// v). If the velocity v is omitted: p -= rate g'. `numbers` contains the rate.
struct sgd {
  double momentum = 0;
  double decay = 0;
  bool nesterov = false;

  static constexpr std::string_view name = "sgd";
  static constexpr std::size_t operands = 4;  // p, g, v, numbers
  static constexpr std::size_t results = 2;   // p, v
  static constexpr overwrite overwrites[] = {{0, 0}, {1, 2}};
  static constexpr bool updates = true;

  [[nodiscard]] static std::array<tensor_spec, 2> result(const tensor_spec& p, const tensor_spec& g,
                                                         const tensor_spec& v,
                                                         const tensor_spec& numbers) {
    detail::require_update(p, g, numbers, 1);
    return {p, v};
  }
  [[nodiscard]] static double flops(const tensor_spec& p, const tensor_spec&, const tensor_spec&,
                                    const tensor_spec&) {
    return 6 * detail::count(p.shape);
  }
  friend bool operator==(const sgd&, const sgd&) = default;
};

/// One step of Adam: g' = g + coupled_decay p; m += (1 - beta1)(g' - m); v += (1 - beta2)(g'^2 -
/// v); p = decay_factor p - rate m / (sqrt(v) + epsilon). `numbers` contains the rate and epsilon,
/// both with the bias corrections, and `decay_factor`, which is 1 minus the decoupled weight decay.
struct adam {
  double beta1 = 0;
  double beta2 = 0;
  double coupled_decay = 0;

  static constexpr std::string_view name = "adam";
  static constexpr std::size_t operands = 5;  // p, g, m, v, numbers
  static constexpr std::size_t results = 3;   // p, m, v
  static constexpr overwrite overwrites[] = {{0, 0}, {1, 2}, {2, 3}};
  static constexpr bool updates = true;

  [[nodiscard]] static std::array<tensor_spec, 3> result(const tensor_spec& p, const tensor_spec& g,
                                                         const tensor_spec& m, const tensor_spec& v,
                                                         const tensor_spec& numbers) {
    detail::require_update(p, g, numbers, 3);
    require_same_shape("update: first moment", p.shape, m.shape);
    require_same_shape("update: second moment", p.shape, v.shape);
    return {p, m, v};
  }
  [[nodiscard]] static double flops(const tensor_spec& p, const tensor_spec&, const tensor_spec&,
                                    const tensor_spec&, const tensor_spec&) {
    return 13 * detail::count(p.shape);
  }
  friend bool operator==(const adam&, const adam&) = default;
};

/// One step of RMSprop: g' = g + decay p; v += (1 - rho)(g'^2 - v); u = momentum u + rate g' /
/// sqrt(v + epsilon); p -= u. u is optional. `numbers` contains the rate.
struct rmsprop {
  double rho = 0;
  double momentum = 0;
  double epsilon = 0;
  double decay = 0;

  static constexpr std::string_view name = "rmsprop";
  static constexpr std::size_t operands = 5;  // p, g, v, u, numbers
  static constexpr std::size_t results = 3;   // p, v, u
  static constexpr overwrite overwrites[] = {{0, 0}, {1, 2}, {2, 3}};
  static constexpr bool updates = true;

  [[nodiscard]] static std::array<tensor_spec, 3> result(const tensor_spec& p, const tensor_spec& g,
                                                         const tensor_spec& v, const tensor_spec& u,
                                                         const tensor_spec& numbers) {
    detail::require_update(p, g, numbers, 1);
    require_same_shape("update: mean square", p.shape, v.shape);
    return {p, v, u};
  }
  [[nodiscard]] static double flops(const tensor_spec& p, const tensor_spec&, const tensor_spec&,
                                    const tensor_spec&, const tensor_spec&) {
    return 10 * detail::count(p.shape);
  }
  friend bool operator==(const rmsprop&, const rmsprop&) = default;
};

/// One step of Adagrad: g' = g + decay p; v += g'^2; p -= rate g' / sqrt(v + epsilon). `numbers`
/// contains the rate.
struct adagrad {
  double epsilon = 0;
  double decay = 0;

  static constexpr std::string_view name = "adagrad";
  static constexpr std::size_t operands = 4;  // p, g, v, numbers
  static constexpr std::size_t results = 2;   // p, v
  static constexpr overwrite overwrites[] = {{0, 0}, {1, 2}};
  static constexpr bool updates = true;

  [[nodiscard]] static std::array<tensor_spec, 2> result(const tensor_spec& p, const tensor_spec& g,
                                                         const tensor_spec& v,
                                                         const tensor_spec& numbers) {
    detail::require_update(p, g, numbers, 1);
    require_same_shape("update: sum of squares", p.shape, v.shape);
    return {p, v};
  }
  [[nodiscard]] static double flops(const tensor_spec& p, const tensor_spec&, const tensor_spec&,
                                    const tensor_spec&) {
    return 7 * detail::count(p.shape);
  }
  friend bool operator==(const adagrad&, const adagrad&) = default;
};

}  // namespace glia::kernels

#pragma once

#include <cstdint>

#include "glia/kernels/updates.hpp"
#include "glia/stablehlo/elementwise.hpp"

// The steps of optimizers; see kernels/updates.hpp for the formulas.
namespace glia::stablehlo {

namespace detail {

/// Returns one of the numbers of a step, repeated for every element of a parameter.
[[nodiscard]] inline value step_number(writer& w, const value& numbers, std::int64_t index,
                                       const shape& s) {
  return w.broadcast(w.reshape(w.slice(numbers, {index}, {index + 1}, {1}), {}), s, {});
}
/// Computes g + decay p.
[[nodiscard]] inline value decayed(writer& w, const value& g, const value& p, double decay) {
  return decay == 0 ? g : w.add(g, w.multiply(p, decay));
}
/// Computes x + part (target - x).
[[nodiscard]] inline value moved(writer& w, const value& x, const value& target, double part) {
  return w.add(x, w.multiply(w.subtract(target, x), part));
}

}  // namespace detail

[[nodiscard]] inline values lower(const lowering& l, const kernels::sgd& k, operand_list x) {
  writer& w = l.out;
  const value& p = x[0];
  const value rate = detail::step_number(w, x[3], 0, p.shape);
  const value g = detail::decayed(w, x[1], p, k.decay);
  if (!x[2]) {
    return {w.subtract(p, w.multiply(rate, g)), {}};
  }
  const value v = w.add(w.multiply(x[2], k.momentum), g);
  const value direction = k.nesterov ? w.add(g, w.multiply(v, k.momentum)) : v;
  return {w.subtract(p, w.multiply(rate, direction)), v};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::adam& k, operand_list x) {
  writer& w = l.out;
  const value& p = x[0];
  const auto number = [&](std::int64_t i) { return detail::step_number(w, x[4], i, p.shape); };
  const value g = detail::decayed(w, x[1], p, k.coupled_decay);
  const value m = detail::moved(w, x[2], g, 1 - k.beta1);
  const value v = detail::moved(w, x[3], w.multiply(g, g), 1 - k.beta2);
  const value change = w.divide(w.multiply(number(0), m), w.add(w.sqrt(v), number(1)));
  return {w.subtract(w.multiply(number(2), p), change), m, v};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::rmsprop& k, operand_list x) {
  writer& w = l.out;
  const value& p = x[0];
  const value rate = detail::step_number(w, x[4], 0, p.shape);
  const value g = detail::decayed(w, x[1], p, k.decay);
  const value v = detail::moved(w, x[2], w.multiply(g, g), 1 - k.rho);
  const value change = w.divide(w.multiply(rate, g), w.sqrt(w.add(v, k.epsilon)));
  if (!x[3]) {
    return {w.subtract(p, change), v, {}};
  }
  const value u = w.add(w.multiply(x[3], k.momentum), change);
  return {w.subtract(p, u), v, u};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::adagrad& k, operand_list x) {
  writer& w = l.out;
  const value& p = x[0];
  const value rate = detail::step_number(w, x[3], 0, p.shape);
  const value g = detail::decayed(w, x[1], p, k.decay);
  const value v = w.add(x[2], w.multiply(g, g));
  return {w.subtract(p, w.divide(w.multiply(rate, g), w.sqrt(w.add(v, k.epsilon)))), v};
}

}  // namespace glia::stablehlo

#pragma once

#include <cmath>
#include <numbers>
#include <utility>

#include "glia/kernels/elementwise.hpp"

// The derivative of `unary_gradient`, for second derivatives.

namespace glia::kernels {

namespace derivatives {

/// Whether f' does not depend on the tensor that `unary_gradient` reads, except where f has a kink.
[[nodiscard]] constexpr bool has_constant_slope(unary_function function) {
  switch (function) {
    case unary_function::affine:
    case unary_function::clamp:
    case unary_function::abs:
    case unary_function::floor:
    case unary_function::relu:
    case unary_function::relu6:
    case unary_function::leaky_relu:
      return true;
    default:
      return false;
  }
}

/// Returns z = dy dg/dsaved, where f'(x) = g(saved): `saved` is the input x or the output y of f.
template <class Call, class Tensor>
[[nodiscard]] Tensor slope_gradient(const unary_map& map, Call& call, const Tensor& dy,
                                    const Tensor& saved) {
  const auto f = [&](unary_function function, const Tensor& x, double a = 1, double b = 0) {
    return call.run(unary{{function, a, b}}, x);
  };
  const auto times = [&](const Tensor& a, const Tensor& b) {
    return call.run(binary{binary_function::multiply}, a, b);
  };
  const auto affine = [&](const Tensor& x, double a, double b = 0) {
    return f(unary_function::affine, x, a, b);
  };
  switch (map.function) {
    case unary_function::square:  // g = 2 x
      return affine(dy, 2);
    case unary_function::exp:  // g = y
      return affine(dy, 1);
    case unary_function::sqrt:  // g = 1 / (2 y)
      return times(dy,
                   affine(f(unary_function::square, f(unary_function::reciprocal, saved)), -0.5));
    case unary_function::log:  // g = 1 / x
      return times(dy, affine(f(unary_function::square, f(unary_function::reciprocal, saved)), -1));
    case unary_function::reciprocal:  // g = -y^2
    case unary_function::tanh:        // g = 1 - y^2
      return times(dy, affine(saved, -2));
    case unary_function::sigmoid:  // g = y (1 - y)
      return times(dy, affine(saved, -2, 1));
    case unary_function::elu: {  // g = 1 for y > 0, y + a otherwise
      const Tensor zero = call.run(full{{}, 0});
      return call.run(select{}, call.run(binary{binary_function::greater}, saved, zero), zero, dy);
    }
    case unary_function::sin:  // g = cos(x)
      return times(dy, affine(f(unary_function::sin, saved), -1));
    case unary_function::cos:  // g = -sin(x)
      return times(dy, affine(f(unary_function::cos, saved), -1));
    case unary_function::pow:  // g = a x^(a - 1)
      return times(dy, affine(f(unary_function::pow, saved, map.a - 2), map.a * (map.a - 1)));
    case unary_function::softplus:  // g = sigmoid(x)
      return call.run(unary_gradient{{unary_function::sigmoid}}, dy,
                      f(unary_function::sigmoid, saved));
    case unary_function::silu: {  // g = s + x s (1 - s), s = sigmoid(x)
      const Tensor s = f(unary_function::sigmoid, saved);
      const Tensor factor = affine(times(saved, affine(s, -2, 1)), 1, 2);
      return times(call.run(unary_gradient{{unary_function::sigmoid}}, dy, s), factor);
    }
    case unary_function::erf:  // g = 2 / sqrt(pi) exp(-x^2)
      return times(call.run(unary_gradient{map}, dy, saved), affine(saved, -2));
    default: {  // gelu: g = Phi(x) + x phi(x), so that g' = phi(x) (2 - x^2)
      const Tensor squares = f(unary_function::square, saved);
      const Tensor density = affine(f(unary_function::exp, affine(squares, -0.5)),
                                    std::numbers::inv_sqrtpi / std::numbers::sqrt2);
      return times(dy, times(density, affine(squares, -1, 2)));
    }
  }
}

}  // namespace derivatives

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const unary_gradient& k) {
  const bool reads_saved = k.needs_saved();
  return {.operands = !reads_saved                                      ? 0U
                      : derivatives::has_constant_slope(k.map.function) ? 0b10U
                                                                        : 0b11U};
}
template <class Call>
void add_gradients(const unary_gradient& k, Call& call) {
  const auto dy = call.dy();
  if (call.wants(0)) {
    call.add(0, call.run(k, dy, k.needs_saved() ? call.operand(1) : call.omitted_operand()));
  }
  if (call.wants(1) && !derivatives::has_constant_slope(k.map.function)) {
    const auto product = call.run(binary{binary_function::multiply}, dy, call.operand(0));
    call.add(1, derivatives::slope_gradient(k.map, call, product, call.operand(1)));
  }
}

}  // namespace glia::kernels

#pragma once

#include <numbers>

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

/// A factor scale * f(saved) + shift.
struct slope_factor {
  unary_map map;
  double scale = 1;
  double shift = 0;
};

/// Returns dg/dsaved, where f'(x) = g(saved): `saved` is the input x or the output y of f. Of
/// functions whose dg/dsaved has another form, returns the factor that `slope_gradient` needs.
[[nodiscard]] constexpr slope_factor slope_factor_of(const unary_map& map) {
  constexpr unary_map squares{unary_function::square};
  switch (map.function) {
    case unary_function::square:  // g = 2 x
      return {{unary_function::affine, 0, 1}, 2};
    case unary_function::exp:  // g = y
      return {{unary_function::affine, 0, 1}};
    case unary_function::sqrt:  // g = 1 / (2 y)
      return {{unary_function::pow, -2}, -0.5};
    case unary_function::log:  // g = 1 / x
      return {{unary_function::pow, -2}, -1};
    case unary_function::pow:  // g = a x^(a - 1)
      return {{unary_function::pow, map.a - 2}, map.a * (map.a - 1)};
    case unary_function::sin:  // g = cos(x)
    case unary_function::cos:  // g = -sin(x)
      return {map, -1};
    case unary_function::sigmoid:  // g = y (1 - y)
      return {{}, -2, 1};
    case unary_function::gelu:  // g = Phi(x) + x phi(x), dg/dx = phi(x) (2 - x^2)
      return {squares, -1, 2};
    default:  // reciprocal: g = -y^2; tanh: g = 1 - y^2; erf: dg/dx = -2 x g
      return {{}, -2};
  }
}

/// Returns dy dg/dsaved.
template <class Call, class Tensor>
[[nodiscard]] Tensor slope_gradient(const unary_map& map, Call& call, Tensor dy,
                                    const Tensor& saved) {
  const auto apply = [&](const unary_map& f, const Tensor& x) { return call.run(unary{f}, x); };
  const auto times = [&](const Tensor& a, const Tensor& b) {
    return call.run(binary{binary_function::multiply}, a, b);
  };
  switch (map.function) {
    case unary_function::elu: {  // g = 1 for y > 0, y + a otherwise
      const Tensor positive =
          call.run(binary{binary_function::greater}, saved, call.run(full{{}, 0}));
      return times(dy, apply({unary_function::affine, -1, 1}, positive));
    }
    case unary_function::softplus:
    case unary_function::silu: {  // g = s, and g = s + x s (1 - s), with s = sigmoid(x)
      const Tensor s = apply({unary_function::sigmoid}, saved);
      dy = call.run(unary_gradient{{unary_function::sigmoid}}, dy, s);
      return map.function == unary_function::softplus
                 ? dy
                 : times(dy, apply({unary_function::affine, 1, 2},
                                   times(saved, apply({unary_function::affine, -2, 1}, s))));
    }
    case unary_function::erf:
      dy = call.run(unary_gradient{map}, dy, saved);
      break;
    case unary_function::gelu: {
      constexpr double peak = std::numbers::inv_sqrtpi / std::numbers::sqrt2;  // phi(0)
      const Tensor exponents =
          apply({unary_function::affine, -0.5}, apply({unary_function::square}, saved));
      dy =
          times(dy, apply({unary_function::affine, peak}, apply({unary_function::exp}, exponents)));
      break;
    }
    default:
      break;
  }
  const slope_factor factor = slope_factor_of(map);
  return times(
      dy, apply({unary_function::affine, factor.scale, factor.shift}, apply(factor.map, saved)));
}

}  // namespace derivatives

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const unary_gradient& k) {
  const bool reads_dy = !derivatives::has_constant_slope(k.map.function);
  return {.operands = !k.needs_saved() ? 0U : reads_dy ? 0b11U : 0b10U};
}
template <class Call>
void add_gradients(const unary_gradient& k, Call& call) {
  const auto dy = call.dy();
  if (call.wants(0)) {
    call.add(0, call.run(k, dy, k.needs_saved() ? call.operand(1) : call.omitted_operand()));
  }
  if (call.wants(1) && !derivatives::has_constant_slope(k.map.function)) {
    call.add(1, derivatives::slope_gradient(
                    k.map, call, call.run(binary{binary_function::multiply}, dy, call.operand(0)),
                    call.operand(1)));
  }
}

}  // namespace glia::kernels

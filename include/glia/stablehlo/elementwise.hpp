#pragma once

#include <cstddef>
#include <numbers>
#include <span>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/kernels/quantization.hpp"
#include "glia/stablehlo/writer.hpp"

namespace glia::stablehlo {

/// The context in which the operations of a kernel are written.
struct lowering {
  writer& out;
  scalar real = scalar::f32;               ///< type of floating-point numbers
  std::string_view precision = "HIGHEST";  ///< precision of products: DEFAULT, HIGH or HIGHEST
  bool wide_integers = false;              ///< whether the device has native 64-bit integers
};

using values = std::vector<value>;
using operand_list = std::span<const value>;

namespace detail {

[[nodiscard]] inline value sigmoid(writer& w, const value& x) {
  const value unit = w.constant(1, x);
  return w.divide(unit, w.add(unit, w.unary("exponential", w.unary("negate", x))));
}

/// Computes erf(x) for x <= 2 by its series (Abramowitz and Stegun, 7.1.6), since StableHLO's core
/// has no erf: 2 / sqrt(pi) exp(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + ...), in which all terms have
/// the same sign.
[[nodiscard]] inline value erf_near(writer& w, const value& x) {
  const value square = w.multiply(x, x);
  value sum = w.constant(1, x);
  for (int n = x.type == scalar::f64 ? 45 : 26; n > 0; --n) {
    sum = w.add(w.multiply(w.multiply(square, 2.0 / (2 * n + 1)), sum), 1);
  }
  const double factor = 2 * std::numbers::inv_sqrtpi;
  return w.multiply(
      w.multiply(w.multiply(x, factor), w.unary("exponential", w.unary("negate", square))), sum);
}

/// Computes 1 - erf(x) for x >= 1 with a small relative error, by its continued fraction (7.1.14):
/// exp(-x^2) / sqrt(pi) / (x + (1/2) / (x + (2/2) / (x + (3/2) / ...))).
[[nodiscard]] inline value erfc_far(writer& w, const value& x) {
  value fraction = x;
  for (int n = x.type == scalar::f64 ? 170 : 40; n > 0; --n) {
    fraction = w.add(x, w.divide(w.constant(n / 2.0, x), fraction));
  }
  return w.divide(w.multiply(w.unary("exponential", w.unary("negate", w.multiply(x, x))),
                             std::numbers::inv_sqrtpi),
                  fraction);
}

/// The error function and its complement for |x|.
struct error_function {
  error_function(writer& w, const value& x)
      : size(w.unary("abs", x)),
        is_near(w.compare("LT", size, 1)),
        near(erf_near(w, w.binary("minimum", size, w.constant(1, x)))),
        far(erfc_far(w, w.binary("maximum", size, w.constant(1, x)))) {}

  [[nodiscard]] value erf(writer& w) const {
    return w.select(is_near, near, w.subtract(w.constant(1, near), far));
  }
  [[nodiscard]] value erfc(writer& w) const {
    return w.select(is_near, w.subtract(w.constant(1, near), near), far);
  }

  value size;
  value is_near;
  value near;
  value far;
};

/// Computes the normal distribution function, with a small relative error also for negative x.
[[nodiscard]] inline value normal_cdf(writer& w, const value& x) {
  const error_function error(w, w.multiply(x, 1 / std::numbers::sqrt2));
  const value lower_tail = w.multiply(error.erfc(w), 0.5);
  return w.select(w.compare("GT", x, 0), w.subtract(w.constant(1, lower_tail), lower_tail),
                  lower_tail);
}

/// Returns, for each element, `positive` if x > 0, else `otherwise`.
[[nodiscard]] inline value where_positive(writer& w, const value& x, const value& positive,
                                          const value& otherwise) {
  return w.select(w.compare("GT", x, 0), positive, otherwise);
}

}  // namespace detail

/// Computes map(x), element by element.
[[nodiscard]] inline value apply(writer& w, const unary_map& map, const value& x) {
  switch (map.function) {
    case unary_function::affine: {
      const value scaled = w.multiply(x, map.a);
      return map.b == 0 ? scaled : w.add(scaled, map.b);
    }
    case unary_function::clamp:
      return w.binary("minimum", w.binary("maximum", x, w.constant(map.a, x)),
                      w.constant(map.b, x));
    case unary_function::abs:
      return w.unary("abs", x);
    case unary_function::square:
      return w.multiply(x, x);
    case unary_function::sqrt:
      return w.sqrt(x);
    case unary_function::exp:
      return w.unary("exponential", x);
    case unary_function::log:
      return w.unary("log", x);
    case unary_function::reciprocal:
      return w.divide(w.constant(1, x), x);
    case unary_function::softplus: {
      const value small = w.unary("exponential", w.unary("negate", w.unary("abs", x)));
      return w.add(w.binary("maximum", x, w.constant(0, x)), w.unary("log_plus_one", small));
    }
    case unary_function::floor:
      return w.unary("floor", x);
    case unary_function::sin:
      return w.unary("sine", x);
    case unary_function::cos:
      return w.unary("cosine", x);
    case unary_function::pow:
      return w.binary("power", x, w.constant(map.a, x));
    case unary_function::relu:
      return w.binary("maximum", x, w.constant(0, x));
    case unary_function::relu6:
      return w.binary("minimum", w.binary("maximum", x, w.constant(0, x)), w.constant(6, x));
    case unary_function::leaky_relu:
      return detail::where_positive(w, x, x, w.multiply(x, map.a));
    case unary_function::elu:
      return detail::where_positive(w, x, x,
                                    w.multiply(w.unary("exponential_minus_one", x), map.a));
    case unary_function::sigmoid:
      return detail::sigmoid(w, x);
    case unary_function::tanh:
      return w.unary("tanh", x);
    case unary_function::silu:
      return w.multiply(x, detail::sigmoid(w, x));
    case unary_function::erf:
      return w.multiply(w.unary("sign", x), detail::error_function(w, x).erf(w));
    case unary_function::gelu:
      return w.multiply(x, detail::normal_cdf(w, x));
  }
  throw value_error(text("stablehlo: no operations for ", name_of(map.function)));
}

/// Computes dy map'(s). s is the input or the output, as saved_for_gradient tells. If an activation
/// blocks the gradient, the result is 0 for any dy.
[[nodiscard]] inline value apply_gradient(writer& w, const unary_map& map, const value& dy,
                                          const value& s) {
  const auto cut = [&](const value& condition) {
    return w.select(condition, w.constant(0, dy), dy);
  };
  const auto one_less = [&](const value& x) { return w.subtract(w.constant(1, x), x); };
  switch (map.function) {
    case unary_function::affine:
      return w.multiply(dy, map.a);
    case unary_function::clamp:
      return cut(w.binary("or", w.compare("LT", s, map.a), w.compare("GT", s, map.b)));
    case unary_function::abs: {
      const value turned = w.select(w.compare("LT", s, 0), w.unary("negate", dy), dy);
      return w.select(w.compare("EQ", s, 0), w.constant(0, dy), turned);
    }
    case unary_function::square:
      return w.multiply(dy, w.multiply(s, 2));
    case unary_function::sqrt:
      return w.multiply(dy, w.divide(w.constant(0.5, s), s));
    case unary_function::exp:
      return w.multiply(dy, s);
    case unary_function::log:
      return w.multiply(dy, w.divide(w.constant(1, s), s));
    case unary_function::reciprocal:
      return w.multiply(dy, w.multiply(w.unary("negate", s), s));
    case unary_function::softplus:
      return w.multiply(dy, detail::sigmoid(w, s));
    case unary_function::floor:
      return w.constant(0, dy);
    case unary_function::sin:
      return w.multiply(dy, w.unary("cosine", s));
    case unary_function::cos:
      return w.multiply(dy, w.unary("negate", w.unary("sine", s)));
    case unary_function::pow:
      return map.a == 0 ? w.constant(0, dy)
                        : w.multiply(dy, w.multiply(w.binary("power", s, w.constant(map.a - 1, s)),
                                                    map.a));
    case unary_function::relu:
      return cut(w.compare("LE", s, 0));
    case unary_function::relu6:
      return cut(w.binary("or", w.compare("LE", s, 0), w.compare("GE", s, 6)));
    case unary_function::leaky_relu:
      return w.multiply(dy, detail::where_positive(w, s, w.constant(1, s), w.constant(map.a, s)));
    case unary_function::elu:
      return w.multiply(dy, detail::where_positive(w, s, w.constant(1, s), w.add(s, map.a)));
    case unary_function::sigmoid:
      return w.multiply(dy, w.multiply(s, one_less(s)));
    case unary_function::tanh:
      return w.multiply(dy, w.multiply(one_less(s), w.add(s, 1)));
    case unary_function::silu: {
      const value sig = detail::sigmoid(w, s);
      return w.multiply(dy, w.multiply(sig, w.add(w.multiply(s, one_less(sig)), 1)));
    }
    case unary_function::erf:
      return w.multiply(dy, w.multiply(w.unary("exponential", w.unary("negate", w.multiply(s, s))),
                                       2 * std::numbers::inv_sqrtpi));
    case unary_function::gelu: {
      const value density = w.multiply(w.unary("exponential", w.multiply(w.multiply(s, s), -0.5)),
                                       std::numbers::inv_sqrtpi / std::numbers::sqrt2);
      return w.multiply(dy, w.add(detail::normal_cdf(w, s), w.multiply(s, density)));
    }
  }
  throw value_error(text("stablehlo: no operations for the gradient of ", name_of(map.function)));
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::unary& k, operand_list x) {
  return {apply(l.out, k.map, x[0])};
}
[[nodiscard]] inline values lower(const lowering& l, const kernels::unary_gradient& k,
                                  operand_list x) {
  return {apply_gradient(l.out, k.map, x[0], k.needs_saved() ? x[1] : x[0])};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::binary& k, operand_list x) {
  writer& w = l.out;
  const shape s = kernels::broadcast_shape(x[0].shape, x[1].shape);
  const value a = w.broadcast(x[0], s);
  const value b = w.broadcast(x[1], s);
  const auto as_number = [&](const value& holds) { return w.convert(holds, a.type); };
  switch (k.function) {
    case binary_function::add:
      return {w.add(a, b)};
    case binary_function::subtract:
      return {w.subtract(a, b)};
    case binary_function::multiply:
      return {w.multiply(a, b)};
    case binary_function::divide:
      return {w.divide(a, b)};
    case binary_function::maximum:
      return {w.binary("maximum", a, b)};
    case binary_function::minimum:
      return {w.binary("minimum", a, b)};
    case binary_function::greater:
      return {as_number(w.compare("GT", a, b))};
    case binary_function::equal:
      return {as_number(w.compare("EQ", a, b))};
  }
  throw value_error("stablehlo: no operations for a function of two operands");
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::fake_quantize& k,
                                  operand_list x) {
  writer& w = l.out;
  const value scales = w.broadcast(x[1], x[0].shape);
  const value whole = w.unary("round_nearest_even", w.divide(x[0], scales));
  const value low = w.constant(k.range.minimum - k.range.zero, whole);
  const value high = w.constant(k.range.maximum - k.range.zero, whole);
  return {w.multiply(w.binary("minimum", w.binary("maximum", whole, low), high), scales)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::select& k, operand_list x) {
  writer& w = l.out;
  const auto spec = [](const value& v) { return real_of(v.shape); };
  const shape s = k.result(spec(x[0]), spec(x[1]), spec(x[2])).shape;
  const value holds = w.compare("NE", w.broadcast(x[0], s), 0);
  return {w.select(holds, w.broadcast(x[1], s), w.broadcast(x[2], s))};
}

}  // namespace glia::stablehlo

#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/reading/alignment.hpp"
#include "glia/onnx/reading/elementwise.hpp"

// Activations and other functions of one operand.
namespace glia::onnx::reading {

/// Limits numbers to bounds. An omitted bound is the lowest or the largest finite number, so that
/// infinity becomes finite.
inline void clip(operation& n) {
  constexpr double max_float = std::numeric_limits<float>::max();
  const bool attributes = n.opset < 11;
  const auto computed = [&](std::size_t i) { return n.has(i) && n.x[i].computed(); };
  if (!attributes && (computed(1) || computed(2))) {
    std::vector<tensor> operands{n.operand(0)};
    for (const std::size_t i : {1U, 2U}) {
      operands.push_back(
          n.has(i) ? n.x[i] : known_tensor(real_numbers({i == 1 ? -max_float : max_float}, {})));
    }
    const aligned bounded = align(n.out, operands);
    const value_id raised =
        n.out.binary(binary_function::maximum, bounded.values[0], bounded.values[1]);
    return n.give_like(bounded.like,
                       n.out.binary(binary_function::minimum, raised, bounded.values[2]));
  }
  const double low = attributes ? n.real("min", -max_float) : n.known_number(1, -max_float);
  const double high = attributes ? n.real("max", max_float) : n.known_number(2, max_float);
  if (low == 0 && high == 6) {
    return map_elements(n, {unary_function::relu6});
  }
  if (low == 0 && high > max_float) {
    return map_elements(n, {unary_function::relu});
  }
  map_elements(n, {unary_function::clamp, low, high});
}

/// Computes x for x > 0, and f(x) otherwise. Unlike in glia's layers, the slope of f can be
/// negative.
template <class F>
void select_positive(operation& n, const F& f) {
  elementwise(n, 1, [&](const auto& x) {
    const value_id positive = n.out.binary(binary_function::greater, x[0], n.out.constant({}, {0}));
    return n.out.call(kernels::select{}, {positive, x[0], f(x[0])});
  });
}

inline void leaky_relu(operation& n) {
  const double alpha = n.real("alpha", 0.01);
  if (alpha >= 0) {
    return map_elements(n, {unary_function::leaky_relu, alpha});
  }
  select_positive(n, [&](value_id x) { return n.out.scaled(x, alpha); });
}
/// Computes alpha (exp(x) - 1) for x <= 0.
inline value_id scaled_elu(graph_builder& out, value_id x, double alpha) {
  return alpha >= 0 ? out.apply(unary_map{unary_function::elu, alpha}, x)
                    : out.affine(out.apply(unary_map{unary_function::elu, 1}, x), alpha, 0);
}
inline void elu(operation& n) {
  const double alpha = n.real("alpha", 1);
  if (alpha >= 0) {
    return map_elements(n, {unary_function::elu, alpha});
  }
  select_positive(n, [&](value_id x) { return scaled_elu(n.out, x, alpha); });
}

/// Computes max(0, x) + min(0, alpha (exp(x / alpha) - 1)).
inline void celu(operation& n) {
  const double alpha = n.real("alpha", 1);
  require<data_error>(alpha != 0, "has alpha = 0, by which it would divide");
  if (alpha > 0) {
    return elementwise(n, 1, [&](const auto& x) {
      const value_id inner = n.out.affine(x[0], 1 / alpha, 0);
      return n.out.affine(n.out.apply(unary_map{unary_function::elu, 1}, inner), alpha, 0);
    });
  }
  select_positive(n, [&](value_id x) {
    const value_id inner = n.out.affine(x, 1 / alpha, 0);
    return n.out.affine(n.out.apply(unary_function::exp, inner), alpha, -alpha);
  });
}
/// Computes gamma x for x > 0, and gamma alpha (exp(x) - 1) otherwise.
inline void selu(operation& n) {
  // The standard defines these digits.
  const double alpha = n.real("alpha", 1.67326319217681884765625);
  const double gamma = n.real("gamma", 1.05070102214813232421875);
  if (alpha >= 0) {
    return elementwise(n, 1, [&](const auto& x) {
      return n.out.affine(scaled_elu(n.out, x[0], alpha), gamma, 0);
    });
  }
  select_positive(n, [&](value_id x) { return scaled_elu(n.out, x, alpha); });
  n.give_like(n.results[0], n.out.affine(n.results[0].id, gamma, 0));
}
inline void hard_sigmoid(operation& n) {
  const double alpha = n.real("alpha", 0.2);
  const double beta = n.real("beta", 0.5);
  elementwise(n, 1, [&](const auto& x) {
    return n.out.apply(unary_map{unary_function::clamp, 0, 1}, n.out.affine(x[0], alpha, beta));
  });
}
inline void hard_swish(operation& n) {
  elementwise(n, 1, [&](const auto& x) {
    const value_id gate =
        n.out.apply(unary_map{unary_function::clamp, 0, 1}, n.out.affine(x[0], 1.0 / 6, 0.5));
    return n.out.multiply(x[0], gate);
  });
}
inline void mish(operation& n) {
  elementwise(n, 1, [&](const auto& x) {
    return n.out.multiply(
        x[0], n.out.apply(unary_function::tanh, n.out.apply(unary_function::softplus, x[0])));
  });
}
inline void softsign(operation& n) {
  elementwise(n, 1, [&](const auto& x) {
    return n.out.binary(binary_function::divide, x[0],
                        n.out.affine(n.out.apply(unary_function::abs, x[0]), 1, 1));
  });
}
inline void thresholded_relu(operation& n) {
  const double alpha = n.real("alpha", 1);
  elementwise(n, 1, [&](const auto& x) {
    const value_id mask = n.out.binary(binary_function::greater, x[0], n.out.constant({}, {alpha}));
    return n.out.call(kernels::select{}, {mask, x[0], n.out.constant({}, {0})});
  });
}
/// Computes x + bias for x < -lambd, x - bias for x > lambd, and 0 otherwise.
inline void shrink(operation& n) {
  const double lambda = n.real("lambd", 0.5);
  const double bias = n.real("bias", 0);
  elementwise(n, 1, [&](const auto& x) {
    const value_id upper_mask =
        n.out.binary(binary_function::greater, x[0], n.out.constant({}, {lambda}));
    const value_id lower_mask =
        n.out.binary(binary_function::greater, n.out.constant({}, {-lambda}), x[0]);
    const value_id rest = n.out.call(
        kernels::select{}, {upper_mask, n.out.affine(x[0], 1, -bias), n.out.constant({}, {0})});
    return n.out.call(kernels::select{}, {lower_mask, n.out.affine(x[0], 1, bias), rest});
  });
}
inline void prelu(operation& n) {
  elementwise(n, 2, [&](const auto& x) {
    const value_id negative = n.out.binary(binary_function::greater, n.out.constant({}, {0}), x[0]);
    return n.out.call(kernels::select{}, {negative, n.out.multiply(x[0], x[1]), x[0]});
  });
}

inline void erf(operation& n) { map_elements(n, {unary_function::erf}); }
inline void gelu(operation& n) {
  if (n.word("approximate", "none") == "none") {
    return map_elements(n, {unary_function::gelu});
  }
  elementwise(n, 1, [&](const auto& x) {
    constexpr double cubic = 0.044715;
    const double scale = std::sqrt(2 * std::numbers::inv_pi);
    const value_id cube = n.out.multiply(x[0], n.out.apply(unary_function::square, x[0]));
    const value_id inner = n.out.affine(n.out.add(x[0], n.out.affine(cube, cubic, 0)), scale, 0);
    const value_id half = n.out.affine(n.out.apply(unary_function::tanh, inner), 0.5, 0.5);
    return n.out.multiply(x[0], half);
  });
}

/// Computes an integer power of x by repeated squaring.
inline value_id whole_power(graph_builder& out, value_id x, unsigned power) {
  value_id square = x;
  value_id result = no_value;
  for (; power > 0; power /= 2) {
    if (power % 2 == 1) {
      result = result == no_value ? square : out.multiply(result, square);
    }
    square = power > 1 ? out.apply(unary_function::square, square) : square;
  }
  return result;
}

/// Computes a to the power of b: |a|^b by its logarithm, then the sign and the special cases of
/// IEEE 754.
inline value_id general_power(graph_builder& out, value_id a, value_id b) {
  using f = binary_function;
  const auto number = [&](double x) { return out.constant({}, {x}); };
  const auto select = [&](value_id condition, value_id x, value_id y) {
    return out.call(kernels::select{}, {condition, x, y});
  };
  const auto either = [&](value_id x, value_id y) { return out.binary(f::maximum, x, y); };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const value_id zero = number(0);
  const value_id one = number(1);
  const value_id size = out.apply(unary_function::abs, a);
  const value_id size_of_power = out.apply(unary_function::abs, b);
  const value_id raised =
      out.apply(unary_function::exp, out.multiply(out.apply(unary_function::log, size), b));
  const value_id whole = out.binary(f::equal, out.apply(unary_function::floor, b), b);
  const value_id half = out.scaled(b, 0.5);
  const value_id even = either(out.binary(f::equal, out.apply(unary_function::floor, half), half),
                               out.binary(f::equal, size_of_power, number(infinity)));
  // 1 / a is also below 0 if a is -0.
  const value_id negative =
      either(out.binary(f::greater, zero, a),
             out.binary(f::greater, zero, out.apply(unary_function::reciprocal, a)));
  const value_id odd = out.binary(f::greater, whole, even);
  // The root of a negative number is NaN, but the roots of -0 and -infinity are numbers.
  const value_id has_root = either(
      either(whole, even),
      either(out.binary(f::equal, size, number(infinity)), out.binary(f::equal, size, zero)));
  const value_id of_negative = select(has_root, select(odd, out.affine(raised, -1, -0.0), raised),
                                      number(std::numeric_limits<double>::quiet_NaN()));
  const value_id result = select(negative, of_negative, raised);
  // 1 to any power, anything to the power of 0, and -1 to an infinite power are 1.
  const value_id always_one =
      either(either(out.binary(f::equal, a, one), out.binary(f::equal, b, zero)),
             out.multiply(out.binary(f::equal, size, one),
                          out.binary(f::equal, size_of_power, number(infinity))));
  return select(always_one, one, result);
}

/// Returns the number that all elements of operand i have in common. Returns nothing if the
/// elements are not known or differ, or if broadcasting would change the shape of `other`.
[[nodiscard]] inline std::optional<double> number_throughout(const operation& n, std::size_t i,
                                                             const tensor& other) {
  if (n.x[i].computed()) {
    return std::nullopt;
  }
  const numbers values = n.known(i);
  for (std::size_t k = 1; k < values.size(); ++k) {
    if (values.at(k) != values.at(0)) {
      return std::nullopt;
    }
  }
  const bool fits = values.size() > 0 && values.extents.size() <= other.rank() &&
                    broadcast(values.extents, other.extents) == other.extents;
  return fits ? std::optional(values.at(0)) : std::nullopt;
}

inline void pow(operation& n) {
  require_operands(n, 2);
  const auto power = number_throughout(n, 1, n.x[0]);
  const element_type type = n.x[0].type;
  constexpr double max_factors = 64;
  const auto apply = [&](const auto& f) {
    n.x.resize(1);
    elementwise(n, 1, [&](const auto& x) { return f(x[0]); });
  };
  const auto map = [&](unary_function f) { apply([&](value_id x) { return n.out.apply(f, x); }); };
  if (power == 1) {
    n.x.resize(1);
    map_elements(n, kernels::identity_map);
  } else if (power == 2) {
    map(unary_function::square);
  } else if (power == -1) {
    map(unary_function::reciprocal);
  } else if (power && std::floor(*power) == *power && std::abs(*power) <= max_factors &&
             *power != 0) {
    apply([&](value_id x) {
      const value_id result = whole_power(n.out, x, static_cast<unsigned>(std::abs(*power)));
      return *power > 0 ? result : n.out.apply(unary_function::reciprocal, result);
    });
  } else if (power && std::isfinite(*power)) {
    apply([&](value_id x) { return n.out.apply(unary_map{unary_function::pow, *power}, x); });
  } else {
    if (!n.x[1].computed()) {
      n.x[1] = known_tensor(n.known(1));
    }
    elementwise(n, 2, [&](const auto& x) { return general_power(n.out, x[0], x[1]); });
  }
  if (!is_real(type)) {  // the result also has this type
    n.give_like(n.results[0], truncated(n.out, n.results[0].id));
  }
  n.results[0].type = type;
}

}  // namespace glia::onnx::reading

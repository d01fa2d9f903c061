#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/reading/elementwise.hpp"

// Activations and other functions of one operand.
namespace glia::onnx::reading {

inline void clip(operation& n) {
  constexpr double most = std::numeric_limits<double>::infinity();
  const bool attributes = n.opset < 11;
  const auto computed = [&](std::size_t i) { return n.has(i) && n.x[i].computed(); };
  if (computed(1) || computed(2)) {
    // As bounds may be left out, what is there goes first.
    std::vector<tensor> there{n.operand(0)};
    for (const std::size_t i : {1U, 2U}) {
      if (n.has(i)) {
        there.push_back(n.x[i]);
      }
    }
    const bool lower = n.has(1);
    const bool upper = n.has(2);
    const aligned all = n.out.align(there);
    value_id y = all.values[0];
    if (lower) {
      y = n.out.binary(binary_function::maximum, y, all.values[1]);
    }
    if (upper) {
      y = n.out.binary(binary_function::minimum, y, all.values[lower ? 2 : 1]);
    }
    return n.give_like(all.like, y);
  }
  const double low = attributes ? n.real("min", -most) : n.known_number(1, -most);
  const double high = attributes ? n.real("max", most) : n.known_number(2, most);
  const bool bounded = high < std::numeric_limits<float>::max();
  if (low == 0 && high == 6) {
    return map_elements(n, {unary_function::relu6});
  }
  if (low == 0 && !bounded) {
    return map_elements(n, {unary_function::relu});
  }
  map_elements(n, {unary_function::clamp, low, high});
}

inline void leaky_relu(operation& n) {
  map_elements(n, {unary_function::leaky_relu, n.real("alpha", 0.01)});
}
inline void elu(operation& n) { map_elements(n, {unary_function::elu, n.real("alpha", 1)}); }

/// max(0, x) + min(0, a (exp(x / a) - 1))
inline void celu(operation& n) {
  const double alpha = n.real("alpha", 1);
  elementwise(n, 1, [&](const auto& x) {
    const value_id scaled = n.out.affine(x[0], 1 / alpha, 0);
    return n.out.affine(n.out.apply(unary_map{unary_function::elu, 1}, scaled), alpha, 0);
  });
}
inline void selu(operation& n) {
  // The standard gives these digits.
  const double alpha = n.real("alpha", 1.67326319217681884765625);
  const double gamma = n.real("gamma", 1.05070102214813232421875);
  elementwise(n, 1, [&](const auto& x) {
    return n.out.affine(n.out.apply(unary_map{unary_function::elu, alpha}, x[0]), gamma, 0);
  });
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
    return n.out.divide(x[0], n.out.affine(n.out.apply(unary_function::absolute, x[0]), 1, 1));
  });
}
inline void thresholded_relu(operation& n) {
  const double alpha = n.real("alpha", 1);
  elementwise(n, 1, [&](const auto& x) {
    const value_id above =
        n.out.binary(binary_function::greater, x[0], n.out.constant({}, {alpha}));
    return n.out.call(kernels::select{}, {above, x[0], n.out.constant({}, {0})});
  });
}
/// x + b below -l, x - b above l, else 0
inline void shrink(operation& n) {
  const double lambda = n.real("lambd", 0.5);
  const double bias = n.real("bias", 0);
  elementwise(n, 1, [&](const auto& x) {
    const value_id above =
        n.out.binary(binary_function::greater, x[0], n.out.constant({}, {lambda}));
    const value_id below =
        n.out.binary(binary_function::greater, n.out.constant({}, {-lambda}), x[0]);
    const value_id rest = n.out.call(kernels::select{},
                                     {below, n.out.affine(x[0], 1, bias), n.out.constant({}, {0})});
    return n.out.call(kernels::select{}, {above, n.out.affine(x[0], 1, -bias), rest});
  });
}
inline void prelu(operation& n) {
  elementwise(n, 2, [&](const auto& x) {
    const value_id positive = n.out.binary(binary_function::greater, x[0], n.out.constant({}, {0}));
    return n.out.call(kernels::select{}, {positive, x[0], n.out.multiply(x[0], x[1])});
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

/// x to a power that is known for each element: |x|^p by its logarithm, and the sign that IEEE 754
/// gives.
inline void pow(operation& n) {
  const numbers power = n.known(1);
  const auto one = [&]() -> std::optional<double> {
    if (power.size() == 0) {
      return std::nullopt;
    }
    for (std::size_t i = 1; i < power.size(); ++i) {
      if (power.at(i) != power.at(0)) {
        return std::nullopt;
      }
    }
    return power.at(0);
  }();
  n.x.resize(1);
  if (one && leaves_shape(known_tensor(power), n.x[0]) &&
      broadcast(power.extents, n.x[0].extents) == n.x[0].extents) {
    const auto map = [&](unary_function f) { map_elements(n, {f}); };
    if (*one == 1) {
      return map_elements(n, identity_map);
    }
    if (*one == 2) {
      return map(unary_function::square);
    }
    if (*one == 0.5) {
      return map(unary_function::square_root);
    }
    if (*one == -1) {
      return map(unary_function::reciprocal);
    }
    constexpr double most_factors = 64;
    if (*one > 2 && *one <= most_factors && std::floor(*one) == *one) {
      return elementwise(n, 1, [&](const auto& x) {
        // The squares of squares that make it up.
        auto left = static_cast<unsigned>(*one);
        value_id square = x[0];
        value_id all = no_value;
        for (; left > 0; left /= 2) {
          if (left % 2 == 1) {
            all = all == no_value ? square : n.out.multiply(all, square);
          }
          square = left > 1 ? n.out.apply(unary_function::square, square) : square;
        }
        return all;
      });
    }
  }
  numbers sign = real_numbers({}, power.extents);
  numbers exponents = real_numbers({}, power.extents);
  std::vector<double> signs;
  std::vector<double> all;
  for (std::size_t i = 0; i < power.size(); ++i) {
    const double p = power.at(i);
    const bool whole = std::floor(p) == p;
    signs.push_back(!whole                 ? std::numeric_limits<double>::quiet_NaN()
                    : std::fmod(p, 2) == 0 ? 1
                                           : -1);
    all.push_back(p);
  }
  sign.elements = std::move(signs);
  exponents.elements = std::move(all);
  n.x.push_back(known_tensor(std::move(exponents)));
  n.x.push_back(known_tensor(std::move(sign)));
  elementwise(n, 3, [&](const auto& x) {
    const value_id zero = n.out.constant({}, {0});
    const value_id size = n.out.apply(unary_function::absolute, x[0]);
    const value_id logarithm = n.out.apply(unary_function::logarithm, size);
    const value_id raised =
        n.out.apply(unary_function::exponential, n.out.multiply(logarithm, x[1]));
    const value_id below = n.out.binary(binary_function::greater, zero, x[0]);
    const value_id made =
        n.out.call(kernels::select{}, {below, n.out.multiply(raised, x[2]), raised});
    const value_id to_nothing = n.out.binary(binary_function::equal, x[1], zero);
    return n.out.call(kernels::select{}, {to_nothing, n.out.constant({}, {1}), made});
  });
}

}  // namespace glia::onnx::reading

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/onnx/reading/operation.hpp"

// Operations on each element. Truth values that depend on samples are numbers of the graph, 1 or 0.
namespace glia::onnx::reading {

/// map(x) for what operand 0 holds.
inline void map_elements(operation& n, const unary_map& map) {
  const tensor x = n.operand(0).computed() ? n.operand(0)
                                           : n.out.computed(n.out.plain(n.operand(0)), n.x[0].type);
  n.give_like(x, n.out.apply(map, x.id));
}
template <unary_function Function>
void unary(operation& n) {
  map_elements(n, {Function});
}

/// Throws `data_error` unless a node has so many operands, none left out.
inline void require_operands(const operation& n, std::size_t count) {
  require<data_error>(n.x.size() == count, "has ", n.x.size(), " operands; expected ", count);
  for (std::size_t i = 0; i < count; ++i) {
    static_cast<void>(n.operand(i));
  }
}

/// What f(values) makes of so many operands that meet element by element.
template <class F>
void elementwise(operation& n, std::size_t count, const F& f,
                 element_type type = ::onnx::TensorProto::UNDEFINED) {
  require_operands(n, count);
  aligned all = n.out.align(n.x);
  tensor result = graph_builder::with_value(all.like, f(all.values));
  // What is broadcast from smaller ones may lie in fewer axes than the result has.
  const shape whole = shape_of(result.stored);
  if (n.out.shape_of_value(result.id) != whole) {
    result.id = n.out.call(kernels::broadcast_to{whole}, {result.id});
  }
  result.type = type == ::onnx::TensorProto::UNDEFINED ? n.x[0].type : type;
  n.give(std::move(result));
}

template <binary_function Function>
void binary(operation& n) {
  elementwise(n, 2,
              [&](const std::vector<value_id>& x) { return n.out.binary(Function, x[0], x[1]); });
}

/// The only number of an operand that is known, if it is one.
[[nodiscard]] inline std::optional<double> number_in(const tensor& t) {
  if (t.known != nullptr && t.size() == 1) {
    return t.known->at(0);
  }
  if (t.from != nullptr && t.size() == 1) {
    return numbers_of(t.from->data).at(0);
  }
  return std::nullopt;
}
/// Whether an operand that is broadcast to the other one leaves its shape as it is.
[[nodiscard]] inline bool leaves_shape(const tensor& number, const tensor& other) {
  return number.rank() <= other.rank();
}

inline void add(operation& n) {
  for (const std::size_t i : {0U, 1U}) {
    const auto number = number_in(n.operand(i));
    const tensor& other = n.operand(1 - i);
    if (number && other.computed() && leaves_shape(n.x[i], other)) {
      return n.give_like(other, n.out.affine(other.id, 1, *number));
    }
  }
  binary<binary_function::add>(n);
}
inline void subtract(operation& n) {
  const auto number = number_in(n.operand(1));
  if (number && n.operand(0).computed() && leaves_shape(n.x[1], n.x[0])) {
    return n.give_like(n.x[0], n.out.affine(n.x[0].id, 1, -*number));
  }
  const auto from = number_in(n.operand(0));
  if (from && n.operand(1).computed() && leaves_shape(n.x[0], n.x[1])) {
    return n.give_like(n.x[1], n.out.affine(n.x[1].id, -1, *from));
  }
  elementwise(n, 2, [&](const auto& x) { return n.out.subtract(x[0], x[1]); });
}
inline void multiply(operation& n) {
  for (const std::size_t i : {0U, 1U}) {
    const auto number = number_in(n.operand(i));
    const tensor& other = n.operand(1 - i);
    if (number && other.computed() && leaves_shape(n.x[i], other)) {
      return n.give_like(other, n.out.affine(other.id, *number, 0));
    }
  }
  binary<binary_function::multiply>(n);
}
inline void divide(operation& n) {
  require<data_error>(is_real(n.operand(0).type),
                      "divides integers that depend on the samples, which glia has no kernel for");
  const auto number = number_in(n.operand(1));
  if (number && n.x[0].computed() && leaves_shape(n.x[1], n.x[0])) {
    return n.give_like(n.x[0], n.out.affine(n.x[0].id, 1 / *number, 0));
  }
  elementwise(n, 2, [&](const auto& x) { return n.out.divide(x[0], x[1]); });
}
inline void negate(operation& n) { map_elements(n, {unary_function::affine, -1, 0}); }

/// f of the first two, then of that and the next one.
template <binary_function Function>
void fold(operation& n) {
  static_cast<void>(n.operand(0));
  elementwise(n, n.x.size(), [&](std::vector<value_id> x) {
    value_id all = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) {
      all = n.out.binary(Function, all, x[i]);
    }
    return all;
  });
}
inline void mean(operation& n) {
  fold<binary_function::add>(n);
  const double count = static_cast<double>(n.x.size());
  n.give_like(n.results[0], n.out.affine(n.results[0].id, 1 / count, 0));
}

// --- truth
// -----------------------------------------------------------------------------------------

inline constexpr element_type truth = ::onnx::TensorProto::BOOL;

inline value_id not_of(graph_builder& out, value_id x) { return out.affine(x, -1, 1); }

template <bool Turned, bool OrEqual>
void compare(operation& n) {
  elementwise(
      n, 2,
      [&](const auto& x) {
        const value_id a = Turned ? x[1] : x[0];
        const value_id b = Turned ? x[0] : x[1];
        const value_id more = n.out.binary(binary_function::greater, a, b);
        // Not `not less`, which holds of what is not a number.
        return OrEqual ? n.out.binary(binary_function::maximum, more,
                                      n.out.binary(binary_function::equal, a, b))
                       : more;
      },
      truth);
}
inline void equal(operation& n) {
  elementwise(
      n, 2, [&](const auto& x) { return n.out.binary(binary_function::equal, x[0], x[1]); }, truth);
}
inline void both(operation& n) {
  elementwise(
      n, 2, [&](const auto& x) { return n.out.multiply(x[0], x[1]); }, truth);
}
inline void either(operation& n) {
  elementwise(
      n, 2, [&](const auto& x) { return n.out.binary(binary_function::maximum, x[0], x[1]); },
      truth);
}
inline void one_of(operation& n) {
  elementwise(
      n, 2,
      [&](const auto& x) {
        return not_of(n.out, n.out.binary(binary_function::equal, x[0], x[1]));
      },
      truth);
}
inline void negation(operation& n) {
  map_elements(n, {unary_function::affine, -1, 1});
  n.results[0].type = truth;
}
inline void where(operation& n) {
  elementwise(
      n, 3,
      [&](const auto& x) {
        return n.out.call(kernels::select{}, {x[0], x[1], x[2]});
      },
      n.operand(1).type);
}
inline void is_nan(operation& n) {
  elementwise(
      n, 1,
      [&](const auto& x) {
        return not_of(n.out, n.out.binary(binary_function::equal, x[0], x[0]));
      },
      truth);
}
inline void is_infinite(operation& n) {
  const bool above = n.integer("detect_positive", 1) != 0;
  const bool below = n.integer("detect_negative", 1) != 0;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  elementwise(
      n, 1,
      [&](const auto& x) {
        const auto is = [&](double what) {
          return n.out.binary(binary_function::equal, x[0], n.out.constant({}, {what}));
        };
        if (above && below) {
          return n.out.binary(binary_function::maximum, is(infinity), is(-infinity));
        }
        return above || below ? is(above ? infinity : -infinity) : n.out.affine(is(infinity), 0, 0);
      },
      truth);
}
/// The whole number nearest to x towards 0.
inline value_id truncated(graph_builder& out, value_id x) {
  const auto below = [&](value_id of) {
    return out.apply(unary_function::floor, out.apply(unary_function::relu, of));
  };
  return out.subtract(below(x), below(out.affine(x, -1, 0)));
}
inline void ceil(operation& n) {
  elementwise(n, 1, [&](const auto& x) {
    return n.out.affine(n.out.apply(unary_function::floor, n.out.affine(x[0], -1, 0)), -1, 0);
  });
}
/// The nearest whole number, of two the even one.
inline void round(operation& n) {
  elementwise(n, 1, [&](const auto& x) {
    const value_id up = n.out.affine(x[0], 1, 0.5);
    const value_id whole = n.out.apply(unary_function::floor, up);
    const value_id half = n.out.apply(unary_function::floor, n.out.affine(whole, 0.5, 0));
    const value_id odd = n.out.subtract(whole, n.out.affine(half, 2, 0));
    const value_id between = n.out.binary(binary_function::equal, up, whole);
    return n.out.subtract(whole, n.out.multiply(between, odd));
  });
}
inline void sign(operation& n) {
  elementwise(n, 1, [&](const auto& x) {
    const value_id zero = n.out.constant({}, {0});
    return n.out.subtract(n.out.binary(binary_function::greater, x[0], zero),
                          n.out.binary(binary_function::greater, zero, x[0]));
  });
}

// --- activations
// -----------------------------------------------------------------------------------

inline void clip(operation& n) {
  constexpr double most = std::numeric_limits<double>::max();
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
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool bounded = high < std::numeric_limits<float>::max() && high != infinity;
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

/// Phi(x), the normal distribution's: gelu(x) / x, and 1/2 where that is none.
inline value_id normal_distribution(graph_builder& out, value_id x) {
  const value_id zero = out.binary(binary_function::equal, x, out.constant({}, {0}));
  const value_id safe = out.call(kernels::select{}, {zero, out.constant({}, {1}), x});
  const value_id whole = out.divide(out.apply(unary_function::gelu, safe), safe);
  return out.call(kernels::select{}, {zero, out.constant({}, {0.5}), whole});
}
/// erf(x) = 2 Phi(sqrt(2) x) - 1
inline void erf(operation& n) {
  elementwise(n, 1, [&](const auto& x) {
    return n.out.affine(normal_distribution(n.out, n.out.affine(x[0], std::numbers::sqrt2, 0)), 2,
                        -1);
  });
}
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
    if (*one == 3) {
      return elementwise(n, 1, [&](const auto& x) {
        return n.out.multiply(x[0], n.out.apply(unary_function::square, x[0]));
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

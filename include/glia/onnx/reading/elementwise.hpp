#pragma once

#include <algorithm>
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
#include "glia/onnx/reading/alignment.hpp"
#include "glia/onnx/reading/operation.hpp"

// Element-wise operations. Boolean values that depend on samples are stored as the numbers 1 and 0.
namespace glia::onnx::reading {

/// Computes map(x) for operand 0.
inline void map_elements(operation& n, const unary_map& map) {
  const tensor x = n.operand(0).computed() ? n.operand(0)
                                           : n.out.computed(n.out.plain(n.operand(0)), n.x[0].type);
  n.give_like(x, n.out.apply(map, x.id));
}
template <unary_function Function>
void unary(operation& n) {
  map_elements(n, {Function});
}

/// Throws `data_error` unless a node has exactly `count` operands and none is omitted.
inline void require_operands(const operation& n, std::size_t count) {
  require<data_error>(n.x.size() == count, "has ", n.x.size(), " operands; expected ", count);
  for (std::size_t i = 0; i < count; ++i) {
    static_cast<void>(n.operand(i));
  }
}

/// Computes f(values) for `count` operands, element by element.
template <class F>
void elementwise(operation& n, std::size_t count, const F& f,
                 element_type type = ::onnx::TensorProto::UNDEFINED) {
  require_operands(n, count);
  aligned operands = align(n.out, n.x);
  tensor result = graph_builder::with_value(operands.like, f(operands.values));
  // The broadcast result can have more axes in memory than the smaller operands.
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

/// Returns the number in a tensor of one element, if the number is known when the file is read.
[[nodiscard]] inline std::optional<double> number_in(const tensor& t) {
  if (t.known != nullptr && t.size() == 1) {
    return t.known->at(0);
  }
  if (t.source != nullptr && t.size() == 1) {
    return numbers_of(*t.source).at(0);
  }
  return std::nullopt;
}
/// Returns whether `other` keeps its shape if `number` is broadcast to it.
[[nodiscard]] inline bool leaves_shape(const tensor& number, const tensor& other) {
  return number.rank() <= other.rank();
}

/// Rounds x toward 0.
inline value_id truncated(graph_builder& out, value_id x) {
  const auto floor_positive = [&](value_id operand) {
    return out.apply(unary_function::floor, out.apply(unary_function::relu, operand));
  };
  return out.subtract(floor_positive(x), floor_positive(out.affine(x, -1, 0)));
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
  const auto minuend = number_in(n.operand(0));
  if (minuend && n.operand(1).computed() && leaves_shape(n.x[0], n.x[1])) {
    return n.give_like(n.x[1], n.out.affine(n.x[1].id, -1, *minuend));
  }
  elementwise(n, 2, [&](const auto& x) { return n.out.subtract(x[0], x[1]); });
}
inline void multiply(operation& n) {
  for (const std::size_t i : {0U, 1U}) {
    const auto number = number_in(n.operand(i));
    const tensor& other = n.operand(1 - i);
    if (number && other.computed() && leaves_shape(n.x[i], other)) {
      return n.give_like(other, n.out.scaled(other.id, *number));
    }
  }
  binary<binary_function::multiply>(n);
}
inline void divide(operation& n) {
  const bool whole = !is_real(n.operand(0).type);
  const auto number = number_in(n.operand(1));
  int exponent = 0;
  if (!whole && number && std::abs(std::frexp(*number, &exponent)) == 0.5 && n.x[0].computed() &&
      leaves_shape(n.x[1], n.x[0])) {  // a power of 2 has an exact reciprocal
    return n.give_like(n.x[0], n.out.scaled(n.x[0].id, 1 / *number));
  }
  elementwise(n, 2, [&](const auto& x) {
    const value_id quotient = n.out.binary(binary_function::divide, x[0], x[1]);
    return whole ? truncated(n.out, quotient) : quotient;
  });
}
inline void negate(operation& n) { map_elements(n, {unary_function::affine, -1, -0.0}); }

/// Applies f to the first two operands, then to the result and the next operand.
template <binary_function Function>
void fold(operation& n) {
  static_cast<void>(n.operand(0));
  elementwise(n, n.x.size(), [&](std::vector<value_id> x) {
    value_id result = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) {
      result = n.out.binary(Function, result, x[i]);
    }
    return result;
  });
}
inline void mean(operation& n) {
  fold<binary_function::add>(n);
  const auto count = static_cast<double>(n.x.size());
  n.give_like(n.results[0], n.out.affine(n.results[0].id, 1 / count, 0));
}

inline constexpr element_type truth = ::onnx::TensorProto::BOOL;

inline value_id not_of(graph_builder& out, value_id x) { return out.affine(x, -1, 1); }

template <bool Turned, bool OrEqual>
void compare(operation& n) {
  elementwise(
      n, 2,
      [&](const auto& x) {
        const value_id a = Turned ? x[1] : x[0];
        const value_id b = Turned ? x[0] : x[1];
        const value_id greater = n.out.binary(binary_function::greater, a, b);
        // `not less` would be true for NaN.
        return OrEqual ? n.out.binary(binary_function::maximum, greater,
                                      n.out.binary(binary_function::equal, a, b))
                       : greater;
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
  const bool positive = n.integer("detect_positive", 1) != 0;
  const bool negative = n.integer("detect_negative", 1) != 0;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  elementwise(
      n, 1,
      [&](const auto& x) {
        const auto is = [&](double value) {
          return n.out.binary(binary_function::equal, x[0], n.out.constant({}, {value}));
        };
        if (positive && negative) {
          return n.out.binary(binary_function::maximum, is(infinity), is(-infinity));
        }
        return positive || negative ? is(positive ? infinity : -infinity)
                                    : n.out.affine(is(infinity), 0, 0);
      },
      truth);
}
inline void ceil(operation& n) {
  elementwise(n, 1, [&](const auto& x) {
    return n.out.affine(n.out.apply(unary_function::floor, n.out.affine(x[0], -1, 0)), -1, 0);
  });
}
/// Rounds to the nearest integer. Ties go to the even integer.
inline value_id rounded_to_even(graph_builder& out, value_id x) {
  const value_id half = out.constant({}, {0.5});
  const value_id whole = out.apply(unary_function::floor, x);
  const value_id rest = out.binary(binary_function::subtract, x, whole);
  const value_id odd =
      out.binary(binary_function::subtract, whole,
                 out.scaled(out.apply(unary_function::floor, out.scaled(whole, 0.5)), 2));
  // Infinity and large numbers have no fraction and remain unchanged.
  const value_id increment =
      out.call(kernels::select{}, {out.binary(binary_function::equal, rest, half), odd,
                                   out.binary(binary_function::greater, rest, half)});
  return out.add(whole, increment);
}
inline void round(operation& n) {
  elementwise(n, 1, [&](const auto& x) { return rounded_to_even(n.out, x[0]); });
}
/// Returns -1, 0 or 1; NaN remains NaN.
inline void sign(operation& n) {
  elementwise(n, 1, [&](const auto& x) {
    const value_id zero = n.out.constant({}, {0});
    const value_id sign = n.out.subtract(n.out.binary(binary_function::greater, x[0], zero),
                                         n.out.binary(binary_function::greater, zero, x[0]));
    const value_id number = n.out.binary(binary_function::equal, x[0], x[0]);
    return n.out.call(kernels::select{}, {number, sign, x[0]});
  });
}

/// Computes the remainder of integers. It has the sign of the divisor or, with the attribute
/// `fmod`, the sign of the dividend.
inline void modulo(operation& n) {
  const bool as_c = n.integer("fmod", 0) != 0;
  require<data_error>(!is_real(n.operand(0).type),
                      "computes the remainder of floating-point numbers that depend on the "
                      "samples, which glia does not support");
  elementwise(n, 2, [&](const auto& x) {
    const value_id quotient = n.out.binary(binary_function::divide, x[0], x[1]);
    const value_id whole =
        as_c ? truncated(n.out, quotient) : n.out.apply(unary_function::floor, quotient);
    return n.out.binary(binary_function::subtract, x[0], n.out.multiply(whole, x[1]));
  });
}

}  // namespace glia::onnx::reading

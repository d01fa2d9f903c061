#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/reading/elementwise.hpp"
#include "glia/onnx/reading/number_format.hpp"

// Element-wise operations on numbers that do not depend on samples, when the file is read.
namespace glia::onnx::reading::folding {

/// Rounds a number to its type.
[[nodiscard]] inline double rounded(double x, element_type type) {
  if (const auto format = format_of(type)) {
    return format->nearest(x);
  }
  return type == ::onnx::TensorProto::DOUBLE ? x : static_cast<double>(static_cast<float>(x));
}

/// Wraps an integer to the range of its type.
[[nodiscard]] inline std::int64_t as_held(std::int64_t x, element_type type) {
  using P = ::onnx::TensorProto;
  switch (type) {
    case P::INT32:
      return static_cast<std::int32_t>(x);
    case P::UINT32:
      return static_cast<std::uint32_t>(x);
    case P::INT16:
      return static_cast<std::int16_t>(x);
    case P::UINT16:
      return static_cast<std::uint16_t>(x);
    case P::INT8:
      return static_cast<std::int8_t>(x);
    case P::UINT8:
      return static_cast<std::uint8_t>(x);
    default:
      return x;
  }
}

/// Applies a function to numbers that are broadcast to each other: `integer` if all operands are
/// integers, otherwise `real`.
template <class Real, class Integer>
[[nodiscard]] numbers elements_of(const std::vector<numbers>& x, const Real& real,
                                  const Integer& integer) {
  dims extents;
  for (const numbers& operand : x) {
    extents = broadcast(extents, operand.extents);
  }
  require_few(extents);
  std::vector<numbers> wide;
  bool reals = false;
  for (const numbers& operand : x) {
    wide.push_back(broadcast_to(operand, extents));
    reals = reals || operand.real();
  }
  const std::size_t count = count_of(extents);
  const auto apply = [&](const auto& f, auto& elements, const auto& element_of) {
    for (std::size_t i = 0; i < count; ++i) {
      auto value = element_of(wide[0], i);
      for (std::size_t k = 1; k < wide.size(); ++k) {
        value = f(value, element_of(wide[k], i));
      }
      elements.push_back(value);
    }
  };
  if (reals) {
    std::vector<double> result;
    apply(real, result, [](const numbers& operand, std::size_t i) { return operand.at(i); });
    for (double& value : result) {
      value = rounded(value, x[0].type);
    }
    return real_numbers(std::move(result), extents, x[0].type);
  }
  std::vector<std::int64_t> result;
  apply(integer, result,
        [](const numbers& operand, std::size_t i) { return operand.integers()[i]; });
  for (std::int64_t& value : result) {
    value = as_held(value, x[0].type);
  }
  return integer_numbers(std::move(result), extents, x[0].type);
}

[[nodiscard]] inline std::vector<numbers> operands(const operation& n, std::size_t min_count) {
  std::vector<numbers> result;
  for (std::size_t i = 0; i < n.x.size(); ++i) {
    result.push_back(n.known(i));
  }
  require<data_error>(result.size() >= min_count, "expected ", min_count, " operands, got ",
                      result.size());
  return result;
}

// Sums and products of integers wrap around, as on machines.
[[nodiscard]] inline std::int64_t wrapped(std::uint64_t x) { return static_cast<std::int64_t>(x); }
[[nodiscard]] inline std::uint64_t bits(std::int64_t x) { return static_cast<std::uint64_t>(x); }

inline void add(operation& n) {
  n.give(known_tensor(elements_of(
      operands(n, 1), [](double a, double b) { return a + b; },
      [](std::int64_t a, std::int64_t b) { return wrapped(bits(a) + bits(b)); })));
}
inline void subtract(operation& n) {
  n.give(known_tensor(elements_of(
      operands(n, 2), [](double a, double b) { return a - b; },
      [](std::int64_t a, std::int64_t b) { return wrapped(bits(a) - bits(b)); })));
}
inline void multiply(operation& n) {
  n.give(known_tensor(elements_of(
      operands(n, 2), [](double a, double b) { return a * b; },
      [](std::int64_t a, std::int64_t b) { return wrapped(bits(a) * bits(b)); })));
}
inline void divide(operation& n) {
  n.give(known_tensor(elements_of(
      operands(n, 2), [](double a, double b) { return a / b; },
      [](std::int64_t a, std::int64_t b) {
        require<data_error>(b != 0, "divides an integer by 0");
        return b == -1 ? wrapped(0 - bits(a)) : a / b;
      })));
}
inline void modulo(operation& n) {
  const bool as_c = n.integer("fmod", 0) != 0;
  n.give(known_tensor(elements_of(
      operands(n, 2), [](double a, double b) { return std::fmod(a, b); },
      [&](std::int64_t a, std::int64_t b) {
        require<data_error>(b != 0, "divides an integer by 0");
        const std::int64_t rest = b == -1 ? 0 : a % b;
        return as_c || rest == 0 || (rest < 0) == (b < 0) ? rest : rest + b;
      })));
}
inline void power(operation& n) {
  std::vector<numbers> x = operands(n, 2);
  const bool whole = !x[0].real() && x[1].real();  // the result then has the type of the base
  numbers result = elements_of(
      x, [](double a, double b) { return std::pow(a, b); },
      [](std::int64_t a, std::int64_t b) {
        const double raised = std::pow(static_cast<double>(a), static_cast<double>(b));
        require<data_error>(std::abs(raised) < 0x1p62, "cannot convert to an integer: ", raised);
        return static_cast<std::int64_t>(raised);
      });
  if (whole) {
    std::vector<std::int64_t> integers;
    for (const double value : result.reals()) {
      require<data_error>(std::abs(value) < 0x1p62, "cannot convert to an integer: ", value);
      integers.push_back(static_cast<std::int64_t>(value));
    }
    result.elements = std::move(integers);
  }
  n.give(known_tensor(std::move(result)));
}
inline void largest(operation& n) {
  n.give(known_tensor(elements_of(
      operands(n, 1),
      [](double a, double b) { return std::isnan(a)            ? a
                                      : b > a || std::isnan(b) ? b
                                                               : a; },
      [](std::int64_t a, std::int64_t b) { return std::max(a, b); })));
}
inline void smallest(operation& n) {
  n.give(known_tensor(elements_of(
      operands(n, 1),
      [](double a, double b) { return std::isnan(a)            ? a
                                      : b < a || std::isnan(b) ? b
                                                               : a; },
      [](std::int64_t a, std::int64_t b) { return std::min(a, b); })));
}

template <class Holds>
void compare(operation& n, const Holds& holds) {
  numbers result = elements_of(
      operands(n, 2), [&](double a, double b) { return holds(a, b) ? 1.0 : 0.0; },
      [&](std::int64_t a, std::int64_t b) { return std::int64_t{holds(a, b) ? 1 : 0}; });
  if (result.real()) {
    result.elements = std::vector<std::int64_t>(result.reals().begin(), result.reals().end());
  }
  result.type = truth;
  n.give(known_tensor(std::move(result)));
}
inline void equal(operation& n) {
  compare(n, [](auto a, auto b) { return a == b; });
}
inline void greater(operation& n) {
  compare(n, [](auto a, auto b) { return a > b; });
}
inline void less(operation& n) {
  compare(n, [](auto a, auto b) { return a < b; });
}
inline void greater_or_equal(operation& n) {
  compare(n, [](auto a, auto b) { return a >= b; });
}
inline void less_or_equal(operation& n) {
  compare(n, [](auto a, auto b) { return a <= b; });
}
inline void both(operation& n) {
  compare(n, [](auto a, auto b) { return a != 0 && b != 0; });
}
inline void either(operation& n) {
  compare(n, [](auto a, auto b) { return a != 0 || b != 0; });
}
inline void one_of(operation& n) {
  compare(n, [](auto a, auto b) { return (a != 0) != (b != 0); });
}

template <class F>
void transform_elements(operation& n, const F& f) {
  numbers x = n.known(0);
  if (x.real()) {
    std::vector<double> result;
    for (const double value : x.reals()) {
      result.push_back(rounded(static_cast<double>(f(value)), x.type));
    }
    x.elements = std::move(result);
  } else {
    std::vector<std::int64_t> result;
    for (const std::int64_t value : x.integers()) {
      result.push_back(static_cast<std::int64_t>(f(value)));
    }
    x.elements = std::move(result);
  }
  n.give(known_tensor(std::move(x)));
}
inline void negate(operation& n) {
  numbers x = n.known(0);
  if (x.real()) {
    return transform_elements(n, [](auto value) { return -value; });
  }
  std::vector<std::int64_t> result;
  for (const std::int64_t value : x.integers()) {
    result.push_back(as_held(wrapped(0 - bits(value)), x.type));
  }
  x.elements = std::move(result);
  n.give(known_tensor(std::move(x)));
}
inline void negation(operation& n) {
  transform_elements(n, [](auto value) { return value == 0 ? 1 : 0; });
}
inline void absolute(operation& n) {
  numbers x = n.known(0);
  if (x.real()) {
    return transform_elements(n, [](auto value) { return std::abs(value); });
  }
  const bool has_signs = x.type != ::onnx::TensorProto::UINT64;
  std::vector<std::int64_t> result;
  for (const std::int64_t value : x.integers()) {
    result.push_back(has_signs && value < 0 ? as_held(wrapped(0 - bits(value)), x.type) : value);
  }
  x.elements = std::move(result);
  n.give(known_tensor(std::move(x)));
}
inline void sign(operation& n) {
  transform_elements(n, [](auto value) {
    const bool is_nan = value != value;  // NOLINT(misc-redundant-expression)
    return is_nan ? value : decltype(value)((value > 0) - (value < 0));
  });
}
/// Applies f to floating-point numbers.
template <class F>
void transform_reals(operation& n, const F& f) {
  require<data_error>(n.known(0).real(), "expected floating-point numbers");
  transform_elements(n, [&](auto value) { return f(static_cast<double>(value)); });
}
inline void floor(operation& n) {
  transform_reals(n, [](double x) { return std::floor(x); });
}
inline void ceil(operation& n) {
  transform_reals(n, [](double x) { return std::ceil(x); });
}
inline void round(operation& n) {
  transform_reals(n, [](double x) { return std::nearbyint(x); });
}
inline void square_root(operation& n) {
  transform_reals(n, [](double x) { return std::sqrt(x); });
}
inline void exponential(operation& n) {
  transform_reals(n, [](double x) { return std::exp(x); });
}
inline void logarithm(operation& n) {
  transform_reals(n, [](double x) { return std::log(x); });
}
inline void reciprocal(operation& n) {
  transform_reals(n, [](double x) { return 1 / x; });
}
inline void sine(operation& n) {
  transform_reals(n, [](double x) { return std::sin(x); });
}
inline void cosine(operation& n) {
  transform_reals(n, [](double x) { return std::cos(x); });
}

inline void cast(operation& n) {
  numbers x = n.known(0);
  const auto type = n.node.op_type() == "CastLike" ? n.operand(1).type
                                                   : static_cast<element_type>(n.integer("to", 1));
  require<data_error>(glia::onnx::detail::raw_size(type) > 0, "casts to the unsupported type ",
                      name_of_type(type));
  if (is_real(type)) {
    std::vector<double> result;
    for (std::size_t i = 0; i < x.size(); ++i) {
      result.push_back(rounded(x.at(i), type));
    }
    return n.give(known_tensor(real_numbers(std::move(result), x.extents, type)));
  }
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (type == truth) {
      result.push_back(x.at(i) != 0 ? 1 : 0);
    } else if (x.real()) {
      const double value = x.at(i);
      require<data_error>(std::abs(value) < 0x1p63, "cannot convert to an integer: ", value);
      result.push_back(static_cast<std::int64_t>(value));
    } else {
      result.push_back(x.integers()[i]);
    }
  }
  for (std::int64_t& value : result) {
    value = as_held(value, type);
  }
  n.give(known_tensor(integer_numbers(std::move(result), x.extents, type)));
}

inline void where(operation& n) {
  const std::vector<numbers> x = operands(n, 3);
  const dims extents = broadcast(broadcast(x[0].extents, x[1].extents), x[2].extents);
  require_few(extents);
  const numbers condition = broadcast_to(x[0], extents);
  const numbers a = broadcast_to(x[1], extents);
  const numbers b = broadcast_to(x[2], extents);
  require<data_error>(a.real() == b.real(), "selects between numbers of different types");
  if (a.real()) {
    std::vector<double> result;
    for (std::size_t i = 0; i < condition.size(); ++i) {
      result.push_back(condition.at(i) != 0 ? a.at(i) : b.at(i));
    }
    return n.give(known_tensor(real_numbers(std::move(result), extents, a.type)));
  }
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < condition.size(); ++i) {
    result.push_back(condition.at(i) != 0 ? a.integers()[i] : b.integers()[i]);
  }
  n.give(known_tensor(integer_numbers(std::move(result), extents, a.type)));
}

}  // namespace glia::onnx::reading::folding

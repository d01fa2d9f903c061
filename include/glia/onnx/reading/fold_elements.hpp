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
  for (const numbers& one : x) {
    extents = broadcast(extents, one.extents);
  }
  require_few(extents);
  std::vector<numbers> all;
  bool reals = false;
  for (const numbers& one : x) {
    all.push_back(broadcast_to(one, extents));
    reals = reals || one.real();
  }
  const std::size_t count = count_of(extents);
  const auto apply = [&](const auto& f, auto& made, const auto& at) {
    for (std::size_t i = 0; i < count; ++i) {
      auto value = at(all[0], i);
      for (std::size_t k = 1; k < all.size(); ++k) {
        value = f(value, at(all[k], i));
      }
      made.push_back(value);
    }
  };
  if (reals) {
    std::vector<double> made;
    apply(real, made, [](const numbers& of, std::size_t i) { return of.at(i); });
    for (double& one : made) {
      one = rounded(one, x[0].type);
    }
    return real_numbers(std::move(made), extents, x[0].type);
  }
  std::vector<std::int64_t> made;
  apply(integer, made, [](const numbers& of, std::size_t i) { return of.integers()[i]; });
  for (std::int64_t& one : made) {
    one = as_held(one, x[0].type);
  }
  return integer_numbers(std::move(made), extents, x[0].type);
}

[[nodiscard]] inline std::vector<numbers> operands(const operation& n, std::size_t least) {
  std::vector<numbers> all;
  for (std::size_t i = 0; i < n.x.size(); ++i) {
    all.push_back(n.known(i));
  }
  require<data_error>(all.size() >= least, "expected ", least, " operands, got ", all.size());
  return all;
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
  const bool whole = !x[0].real() && x[1].real();  // and the result has the type of the base
  numbers made = elements_of(
      x, [](double a, double b) { return std::pow(a, b); },
      [](std::int64_t a, std::int64_t b) {
        const double raised = std::pow(static_cast<double>(a), static_cast<double>(b));
        require<data_error>(std::abs(raised) < 0x1p62, "cannot convert to an integer: ", raised);
        return static_cast<std::int64_t>(raised);
      });
  if (whole) {
    std::vector<std::int64_t> integers;
    for (const double one : made.reals()) {
      require<data_error>(std::abs(one) < 0x1p62, "cannot convert to an integer: ", one);
      integers.push_back(static_cast<std::int64_t>(one));
    }
    made.elements = std::move(integers);
  }
  n.give(known_tensor(std::move(made)));
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
  numbers made = elements_of(
      operands(n, 2), [&](double a, double b) { return holds(a, b) ? 1.0 : 0.0; },
      [&](std::int64_t a, std::int64_t b) { return std::int64_t{holds(a, b) ? 1 : 0}; });
  if (made.real()) {
    made.elements = std::vector<std::int64_t>(made.reals().begin(), made.reals().end());
  }
  made.type = truth;
  n.give(known_tensor(std::move(made)));
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
void each(operation& n, const F& f) {
  numbers x = n.known(0);
  if (x.real()) {
    std::vector<double> made;
    for (const double one : x.reals()) {
      made.push_back(rounded(static_cast<double>(f(one)), x.type));
    }
    x.elements = std::move(made);
  } else {
    std::vector<std::int64_t> made;
    for (const std::int64_t one : x.integers()) {
      made.push_back(static_cast<std::int64_t>(f(one)));
    }
    x.elements = std::move(made);
  }
  n.give(known_tensor(std::move(x)));
}
inline void negate(operation& n) {
  numbers x = n.known(0);
  if (x.real()) {
    return each(n, [](auto one) { return -one; });
  }
  std::vector<std::int64_t> made;
  for (const std::int64_t one : x.integers()) {
    made.push_back(as_held(wrapped(0 - bits(one)), x.type));
  }
  x.elements = std::move(made);
  n.give(known_tensor(std::move(x)));
}
inline void negation(operation& n) {
  each(n, [](auto one) { return one == 0 ? 1 : 0; });
}
inline void absolute(operation& n) {
  numbers x = n.known(0);
  if (x.real()) {
    return each(n, [](auto one) { return std::abs(one); });
  }
  const bool has_signs = x.type != ::onnx::TensorProto::UINT64;
  std::vector<std::int64_t> made;
  for (const std::int64_t one : x.integers()) {
    made.push_back(has_signs && one < 0 ? as_held(wrapped(0 - bits(one)), x.type) : one);
  }
  x.elements = std::move(made);
  n.give(known_tensor(std::move(x)));
}
inline void sign(operation& n) {
  each(n, [](auto one) {
    const bool is_nan = one != one;  // NOLINT(misc-redundant-expression)
    return is_nan ? one : decltype(one)((one > 0) - (one < 0));
  });
}
/// Applies f to floating-point numbers.
template <class F>
void each_real(operation& n, const F& f) {
  require<data_error>(n.known(0).real(), "expected floating-point numbers");
  each(n, [&](auto one) { return f(static_cast<double>(one)); });
}
inline void floor(operation& n) {
  each_real(n, [](double x) { return std::floor(x); });
}
inline void ceil(operation& n) {
  each_real(n, [](double x) { return std::ceil(x); });
}
inline void round(operation& n) {
  each_real(n, [](double x) { return std::nearbyint(x); });
}
inline void square_root(operation& n) {
  each_real(n, [](double x) { return std::sqrt(x); });
}
inline void exponential(operation& n) {
  each_real(n, [](double x) { return std::exp(x); });
}
inline void logarithm(operation& n) {
  each_real(n, [](double x) { return std::log(x); });
}
inline void reciprocal(operation& n) {
  each_real(n, [](double x) { return 1 / x; });
}
inline void sine(operation& n) {
  each_real(n, [](double x) { return std::sin(x); });
}
inline void cosine(operation& n) {
  each_real(n, [](double x) { return std::cos(x); });
}

inline void cast(operation& n) {
  numbers x = n.known(0);
  const auto to = n.node.op_type() == "CastLike" ? n.operand(1).type
                                                 : static_cast<element_type>(n.integer("to", 1));
  require<data_error>(glia::onnx::detail::raw_size(to) > 0, "casts to the unsupported type ",
                      name_of_type(to));
  if (is_real(to)) {
    std::vector<double> made;
    for (std::size_t i = 0; i < x.size(); ++i) {
      made.push_back(rounded(x.at(i), to));
    }
    return n.give(known_tensor(real_numbers(std::move(made), x.extents, to)));
  }
  std::vector<std::int64_t> made;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (to == truth) {
      made.push_back(x.at(i) != 0 ? 1 : 0);
    } else if (x.real()) {
      const double one = x.at(i);
      require<data_error>(std::abs(one) < 0x1p63, "cannot convert to an integer: ", one);
      made.push_back(static_cast<std::int64_t>(one));
    } else {
      made.push_back(x.integers()[i]);
    }
  }
  for (std::int64_t& one : made) {
    one = as_held(one, to);
  }
  n.give(known_tensor(integer_numbers(std::move(made), x.extents, to)));
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
    std::vector<double> made;
    for (std::size_t i = 0; i < condition.size(); ++i) {
      made.push_back(condition.at(i) != 0 ? a.at(i) : b.at(i));
    }
    return n.give(known_tensor(real_numbers(std::move(made), extents, a.type)));
  }
  std::vector<std::int64_t> made;
  for (std::size_t i = 0; i < condition.size(); ++i) {
    made.push_back(condition.at(i) != 0 ? a.integers()[i] : b.integers()[i]);
  }
  n.give(known_tensor(integer_numbers(std::move(made), extents, a.type)));
}

}  // namespace glia::onnx::reading::folding

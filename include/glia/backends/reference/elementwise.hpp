#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>

#include "glia/backends/broadcast_plan.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/backends/reference/compensated_sums.hpp"
#include "glia/core/random.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/dropout.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/kernels/noise.hpp"

namespace glia::reference_loops {

template <class T>
T sigmoid(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

/// Computes the normal distribution function in double, because rounding a large argument to T
/// would lose digits of the result.
template <class T>
T normal_cdf(T x) {
  return static_cast<T>(0.5 * std::erfc(static_cast<double>(x) / -std::numbers::sqrt2));
}
/// Computes exp(-factor x^2), in double for the same reason.
template <class T>
T bell(T x, double factor) {
  return static_cast<T>(std::exp(-factor * static_cast<double>(x) * static_cast<double>(x)));
}

template <class T>
T apply(const unary_map& map, T x) {
  const T a = static_cast<T>(map.a);
  const T b = static_cast<T>(map.b);
  switch (map.function) {
    case unary_function::affine:
      return a * x + b;
    case unary_function::clamp:
      return std::min(std::max(x, a), b);
    case unary_function::abs:
      return std::abs(x);
    case unary_function::square:
      return x * x;
    case unary_function::sqrt:
      return std::sqrt(x);
    case unary_function::exp:
      return std::exp(x);
    case unary_function::log:
      return std::log(x);
    case unary_function::reciprocal:
      return T{1} / x;
    case unary_function::softplus:
      return std::max(x, T{0}) + std::log1p(std::exp(-std::abs(x)));
    case unary_function::floor:
      return std::floor(x);
    case unary_function::sin:
      return std::sin(x);
    case unary_function::cos:
      return std::cos(x);
    case unary_function::pow:
      return static_cast<T>(std::pow(static_cast<double>(x), map.a));
    case unary_function::relu:
      return std::max(x, T{0});
    case unary_function::relu6:
      return std::min(std::max(x, T{0}), T{6});
    case unary_function::leaky_relu:
      return x > 0 ? x : a * x;
    case unary_function::elu:
      return x > 0 ? x : a * std::expm1(x);
    case unary_function::sigmoid:
      return sigmoid(x);
    case unary_function::tanh:
      return std::tanh(x);
    case unary_function::silu:
      return x * sigmoid(x);
    case unary_function::erf:
      return std::erf(x);
    case unary_function::gelu:
      return x * normal_cdf(x);
  }
  return x;
}

/// Returns whether the function blocks any gradient, even infinity or NaN, if its derivative is 0.
[[nodiscard]] constexpr bool cuts(unary_function function) noexcept {
  return function == unary_function::relu || function == unary_function::relu6 ||
         function == unary_function::clamp || function == unary_function::abs ||
         function == unary_function::floor;
}

/// Returns the derivative, given the operand `s` that saved_for_gradient selects: the input x or
/// the output y.
template <class T>
T derivative(const unary_map& map, T s) {
  const T a = static_cast<T>(map.a);
  const T b = static_cast<T>(map.b);
  switch (map.function) {
    case unary_function::affine:
      return a;
    case unary_function::clamp:
      return s < a || s > b ? T{0} : T{1};
    case unary_function::abs:
      return s == 0 ? T{0} : s < 0 ? T{-1} : T{1};
    case unary_function::square:
      return 2 * s;
    case unary_function::sqrt:
      return T(0.5) / s;
    case unary_function::exp:
      return s;
    case unary_function::log:
      return T{1} / s;
    case unary_function::reciprocal:
      return -s * s;
    case unary_function::softplus:
      return sigmoid(s);
    case unary_function::floor:
      return T{0};
    case unary_function::sin:
      return std::cos(s);
    case unary_function::cos:
      return -std::sin(s);
    case unary_function::pow:
      return a == 0 ? T{0} : static_cast<T>(map.a * std::pow(static_cast<double>(s), map.a - 1));
    case unary_function::relu:
      return s <= 0 ? T{0} : T{1};
    case unary_function::relu6:
      return s <= 0 || s >= 6 ? T{0} : T{1};
    case unary_function::leaky_relu:
      return s > 0 ? T{1} : a;
    case unary_function::elu:
      return s > 0 ? T{1} : s + a;
    case unary_function::sigmoid:
      return s * (1 - s);
    case unary_function::tanh:
      return (1 - s) * (1 + s);
    case unary_function::silu: {
      const T sig = sigmoid(s);
      return sig * (1 + s * (1 - sig));
    }
    case unary_function::erf:
      return 2 * std::numbers::inv_sqrtpi_v<T> * bell(s, 1);
    case unary_function::gelu: {
      const T density = bell(s, 0.5) / std::sqrt(2 * std::numbers::pi_v<T>);
      return normal_cdf(s) + s * density;
    }
  }
  return T{1};
}

template <class T>
T apply(binary_function function, T a, T b) {
  switch (function) {
    case binary_function::add:
      return a + b;
    case binary_function::subtract:
      return a - b;
    case binary_function::multiply:
      return a * b;
    case binary_function::divide:
      return a / b;
    case binary_function::maximum:
      return a < b || std::isnan(b) ? b : a;
    case binary_function::minimum:
      return b < a || std::isnan(b) ? b : a;
    case binary_function::greater:
      return a > b ? T{1} : T{0};
    case binary_function::equal:
      return a == b ? T{1} : T{0};
  }
  return a;
}

template <class T>
struct elementwise {
  using tensor = detail::tensor_view<T>;

  void compute(const kernels::unary& k, const memory_pool&, const tensor& x,
               const tensor& y) const {
    for (std::size_t i = 0; i < x.size(); ++i) {
      y.data()[i] = apply(k.map, x.data()[i]);
    }
  }

  void compute(const kernels::unary_gradient& k, const memory_pool&, const tensor& dy,
               const tensor& saved, const tensor& dx) const {
    for (std::size_t i = 0; i < dy.size(); ++i) {
      const T slope = derivative(k.map, k.needs_saved() ? saved.data()[i] : T{0});
      // If an activation blocks the gradient, the result is 0 for any dy.
      dx.data()[i] = slope == 0 && cuts(k.map.function) ? T{0} : dy.data()[i] * slope;
    }
  }

  void compute(const kernels::binary& k, const memory_pool&, const tensor& a, const tensor& b,
               const tensor& result) const {
    const detail::broadcast_plan plan(result.shape(), a.shape(), b.shape());
    T* y = result.data();
    for (std::size_t row = 0; row < plan.rows(); ++row) {
      const auto offsets = plan.row_offsets(row);
      for (std::size_t i = 0; i < plan.inner(); ++i) {
        *y++ = apply(k.function, a.data()[offsets[0] + i * plan.inner_step(0)],
                     b.data()[offsets[1] + i * plan.inner_step(1)]);
      }
    }
  }

  void compute(const kernels::select&, const memory_pool&, const tensor& condition, const tensor& a,
               const tensor& b, const tensor& result) const {
    const detail::broadcast_plan plan(result.shape(), condition.shape(), a.shape(), b.shape());
    T* y = result.data();
    for (std::size_t row = 0; row < plan.rows(); ++row) {
      const auto offsets = plan.row_offsets(row);
      for (std::size_t i = 0; i < plan.inner(); ++i) {
        *y++ = condition.data()[offsets[0] + i * plan.inner_step(0)] != 0
                   ? a.data()[offsets[1] + i * plan.inner_step(1)]
                   : b.data()[offsets[2] + i * plan.inner_step(2)];
      }
    }
  }

  void compute(const kernels::broadcast_to& k, const memory_pool&, const tensor& x,
               const tensor& result) const {
    const detail::broadcast_plan plan(k.target_shape, x.shape());
    T* y = result.data();
    for (std::size_t row = 0; row < plan.rows(); ++row) {
      const auto offsets = plan.row_offsets(row);
      for (std::size_t i = 0; i < plan.inner(); ++i) {
        *y++ = x.data()[offsets[0] + i * plan.inner_step(0)];
      }
    }
  }

  void compute(const kernels::sum_to& k, const memory_pool& memory, const tensor& terms,
               const tensor& y) const {
    const detail::broadcast_plan plan(terms.shape(), k.target_shape);
    const T* x = terms.data();
    const compensated_sums<T> sums(memory, y);
    for (std::size_t row = 0; row < plan.rows(); ++row) {
      const auto offsets = plan.row_offsets(row);
      for (std::size_t i = 0; i < plan.inner(); ++i) {
        sums.add(offsets[0] + i * plan.inner_step(0), *x++);
      }
    }
    sums.end();
  }

  void compute(const kernels::norm&, const memory_pool&, const tensor& x, const tensor& y) const {
    const auto sum_of_squares = [&](long double scale) {
      long double sum = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const long double value = scale * static_cast<long double>(x.data()[i]);
        sum += value * value;
      }
      return sum;
    };
    long double scale = 1;
    long double squares = sum_of_squares(scale);
    // A long double that is no wider than double cannot store the squares of all doubles.
    if constexpr (2 * std::numeric_limits<T>::max_exponent >
                  std::numeric_limits<long double>::max_exponent) {
      scale = squares > 0x1p1000L ? 0x1p-600L : squares < 0x1p-900L ? 0x1p600L : 1;
      squares = scale == 1 ? squares : sum_of_squares(scale);
    }
    y.data()[0] = static_cast<T>(std::sqrt(squares) / scale);
  }

  void compute(const kernels::dropout& k, const memory_pool&, const tensor& x, const tensor& words,
               const tensor& y) const {
    const step_key key = step_key::from_words(words.integers());
    const std::uint64_t offset = key.first_element(x.shape());
    const T scale = static_cast<T>(1 / (1 - k.rate));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool is_kept = random_half(key.stream(k.stream), offset + i) * 0x1p-16 >= k.rate;
      y.data()[i] = is_kept ? x.data()[i] * scale : T{0};
    }
  }

  void compute(const kernels::gaussian_noise& k, const memory_pool&, const tensor& x,
               const tensor& words, const tensor& y) const {
    const step_key key = step_key::from_words(words.integers());
    const std::uint64_t offset = key.first_element(x.shape());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const T noise = normal_of<T>(detail::random_bits(key.stream(k.stream), offset + i));
      y.data()[i] = x.data()[i] + static_cast<T>(k.deviation) * noise;
    }
  }
};

}  // namespace glia::reference_loops

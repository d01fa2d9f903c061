#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "glia/backends/broadcast_plan.hpp"
#include "glia/backends/kernel_arguments.hpp"
#include "glia/core/random.hpp"

namespace glia::reference_loops {

template <class T>
T sigmoid(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

/// The normal distribution function.
template <class T>
T normal_cdf(T x) {
  return T(0.5) * std::erfc(-x / std::numbers::sqrt2_v<T>);
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
    case unary_function::absolute:
      return std::abs(x);
    case unary_function::square:
      return x * x;
    case unary_function::square_root:
      return std::sqrt(x);
    case unary_function::exponential:
      return std::exp(x);
    case unary_function::logarithm:
      return std::log(x);
    case unary_function::reciprocal:
      return T{1} / x;
    case unary_function::softplus:
      return std::max(x, T{0}) + std::log1p(std::exp(-std::abs(x)));
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
    case unary_function::swish:
      return x * sigmoid(x);
    case unary_function::gelu:
      return x * normal_cdf(x);
  }
  return x;
}

/// Whether the function lets nothing through where its derivative is 0.
[[nodiscard]] constexpr bool cuts(unary_function function) noexcept {
  return function == unary_function::relu || function == unary_function::relu6 ||
         function == unary_function::clamp || function == unary_function::absolute;
}

/// The derivative at the operand `s` that saved_for_gradient names: the input x or the output y.
template <class T>
T derivative(const unary_map& map, T s) {
  const T a = static_cast<T>(map.a);
  const T b = static_cast<T>(map.b);
  switch (map.function) {
    case unary_function::affine:
      return a;
    case unary_function::clamp:
      return s < a || s > b ? T{0} : T{1};
    case unary_function::absolute:
      return s == 0 ? T{0} : s < 0 ? T{-1} : T{1};
    case unary_function::square:
      return 2 * s;
    case unary_function::square_root:
      return T(0.5) / s;
    case unary_function::exponential:
      return s;
    case unary_function::logarithm:
      return T{1} / s;
    case unary_function::reciprocal:
      return -s * s;
    case unary_function::softplus:
      return sigmoid(s);
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
      return 1 - s * s;
    case unary_function::swish: {
      const T sig = sigmoid(s);
      return sig * (1 + s * (1 - sig));
    }
    case unary_function::gelu: {
      const T density = std::exp(T(-0.5) * s * s) / std::sqrt(2 * std::numbers::pi_v<T>);
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
  void unary(const unary_map& map, const T* x, T* y, std::size_t n) const {
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = apply(map, x[i]);
    }
  }

  void unary_gradient(const unary_map& map, const T* dy, const T* saved, T* dx,
                      std::size_t n) const {
    for (std::size_t i = 0; i < n; ++i) {
      const T slope = derivative(map, saved == nullptr ? T{0} : saved[i]);
      // What an activation cuts off is 0, whatever it was.
      dx[i] = slope == 0 && cuts(map.function) ? T{0} : dy[i] * slope;
    }
  }

  void binary(binary_function function, const T* a, const T* b, T* y,
              const broadcast_plan& plan) const {
    for (std::size_t row = 0; row < plan.rows(); ++row) {
      const auto at = plan.row_offsets(row);
      for (std::size_t i = 0; i < plan.inner(); ++i) {
        *y++ =
            apply(function, a[at.a + i * plan.inner_step_a()], b[at.b + i * plan.inner_step_b()]);
      }
    }
  }

  void broadcast_to(const T* x, T* y, const broadcast_plan& plan) const {
    for (std::size_t row = 0; row < plan.rows(); ++row) {
      const auto at = plan.row_offsets(row);
      for (std::size_t i = 0; i < plan.inner(); ++i) {
        *y++ = x[at.a + i * plan.inner_step_a()];
      }
    }
  }

  void sum_to(const T* x, T* y, std::size_t outputs, const broadcast_plan& plan) const {
    std::fill_n(y, outputs, T{0});
    for (std::size_t row = 0; row < plan.rows(); ++row) {
      const auto at = plan.row_offsets(row);
      for (std::size_t i = 0; i < plan.inner(); ++i) {
        y[at.a + i * plan.inner_step_a()] += *x++;
      }
    }
  }

  void dropout(const T* x, T* y, std::size_t n, double rate, const random_key& key,
               std::uint64_t offset) const {
    const T scale = static_cast<T>(1 / (1 - rate));
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = random_half(key, offset + i) * 0x1p-16 >= rate ? x[i] * scale : T{0};
    }
  }
};

}  // namespace glia::reference_loops

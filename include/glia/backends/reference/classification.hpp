#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "glia/backends/host_tensor.hpp"
#include "glia/backends/long_sum.hpp"
#include "glia/kernels/classification.hpp"

namespace glia::reference_loops {

template <class T>
struct classification {
  using tensor = detail::tensor_view<T>;

  void compute(const kernels::softmax&, const memory_pool&, const tensor& x,
               const tensor& y) const {
    softmax(x.data(), y.data(), row_count(x.shape()), x.shape().back());
  }
  void compute(const kernels::softmax_gradient&, const memory_pool&, const tensor& dy,
               const tensor& y, const tensor& dx) const {
    softmax_gradient(dy.data(), y.data(), dx.data(), row_count(y.shape()), y.shape().back());
  }
  void compute(const kernels::softmax_cross_entropy&, const memory_pool&, const tensor& logits,
               const tensor& targets, const tensor& loss, const tensor& probabilities) const {
    softmax_cross_entropy(logits.data(), targets.data(), loss.data(), probabilities.data(),
                          row_count(logits.shape()), logits.shape().back());
  }
  void compute(const kernels::softmax_cross_entropy_gradient&, const memory_pool&,
               const tensor& dloss, const tensor& probabilities, const tensor& targets,
               const tensor& dlogits) const {
    softmax_cross_entropy_gradient(dloss.data(), probabilities.data(), targets.data(),
                                   dlogits.data(), row_count(targets.shape()),
                                   targets.shape().back());
  }

  static void softmax(const T* x, T* y, std::size_t rows, std::size_t columns) {
    for (std::size_t n = 0; n < rows; ++n, x += columns, y += columns) {
      softmax_of_row(x, *std::max_element(x, x + columns), y, columns);
    }
  }

 private:
  static void softmax_gradient(const T* dy, const T* y, T* dx, std::size_t rows,
                               std::size_t columns) {
    for (std::size_t n = 0; n < rows; ++n, dy += columns, y += columns, dx += columns) {
      detail::compensated_sum<T> dot;
      for (std::size_t k = 0; k < columns; ++k) {
        dot.add(dy[k] * y[k]);
      }
      for (std::size_t k = 0; k < columns; ++k) {
        dx[k] = y[k] * (dy[k] - dot.value());
      }
    }
  }

  // Computes in double, because the sums over many classes must be more accurate than the sums of
  // the tested devices.
  static void softmax_cross_entropy(const T* logits, const T* targets, T* loss, T* probabilities,
                                    std::size_t rows, std::size_t columns) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (std::size_t n = 0; n < rows; ++n) {
      const T* x = logits + n * columns;
      const T* t = targets + n * columns;
      T* p = probabilities + n * columns;
      const T* const likely = std::max_element(x, x + columns);
      const T highest = *likely;
      // If one logit is infinite, its class has the probability 1. If several are, no class has.
      const bool certain = std::isinf(highest) && std::count(x, x + columns, highest) == 1;
      const auto relative_logit = [&](std::size_t k) {
        return !certain           ? static_cast<double>(x[k]) - highest
               : x + k == likely  ? 0
               : std::isnan(x[k]) ? static_cast<double>(x[k])
                                  : -infinity;
      };
      double weight = 0;
      double dot = 0;
      double rest = 0;
      bool counts = false;
      for (std::size_t k = 0; k < columns; ++k) {
        if (t[k] != 0) {  // for a target of 0, the logit may be -infinity
          counts = true;
          weight += t[k];
          dot += t[k] * relative_logit(k);
        }
        rest += x + k == likely ? 0 : std::exp(relative_logit(k));
      }
      const double of_highest = relative_logit(static_cast<std::size_t>(likely - x)) == 0
                                    ? 1
                                    : std::numeric_limits<double>::quiet_NaN();
      const double total = of_highest + rest;
      const double of_row = weight * std::log1p(rest + (of_highest - 1)) - dot;
      for (std::size_t k = 0; k < columns; ++k) {  // p and x may be the same memory
        p[k] = static_cast<T>((x + k == likely ? of_highest : std::exp(relative_logit(k))) / total);
      }
      loss[n] = counts ? static_cast<T>(of_row) : T{0};
    }
  }

  // For probabilities above 1/2, 1 minus the probability is computed as the sum of the other
  // probabilities.
  static void softmax_cross_entropy_gradient(const T* dloss, const T* probabilities,
                                             const T* targets, T* dlogits, std::size_t rows,
                                             std::size_t columns) {
    for (std::size_t n = 0; n < rows; ++n) {
      const T* p = probabilities + n * columns;
      const T* t = targets + n * columns;
      detail::compensated_sum<double> weights;
      detail::compensated_sum<double> unlikely_targets;
      detail::compensated_sum<double> unlikely;
      for (std::size_t k = 0; k < columns; ++k) {
        weights.add(t[k]);
        unlikely_targets.add(p[k] > T(0.5) ? T{0} : t[k]);
        unlikely.add(p[k] > T(0.5) ? T{0} : p[k]);
      }
      const double weight = weights.value();
      const double target_sum = unlikely_targets.value();
      const double probability_sum = unlikely.value();
      const bool counts = std::any_of(t, t + columns, [](T target) { return target != 0; });
      for (std::size_t k = 0; k < columns; ++k) {  // dlogits and p may be the same memory
        const double slope = p[k] > T(0.5) ? target_sum - weight * probability_sum
                                           : weight * p[k] - static_cast<double>(t[k]);
        dlogits[n * columns + k] = counts ? static_cast<T>(dloss[n] * slope) : T{0};
      }
    }
  }

  /// Writes softmax(x) to y, which may be x.
  static void softmax_of_row(const T* x, T highest, T* y, std::size_t columns) {
    detail::compensated_sum<T> total;
    for (std::size_t k = 0; k < columns; ++k) {
      y[k] = std::exp(x[k] - highest);
      total.add(y[k]);
    }
    const T sum = total.value();
    for (std::size_t k = 0; k < columns; ++k) {
      y[k] /= sum;
    }
  }
};

}  // namespace glia::reference_loops

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "glia/backends/host_tensor.hpp"
#include "glia/backends/long_sum.hpp"
#include "glia/kernels/classification.hpp"

namespace glia::reference_loops {

template <class T>
struct classification {
  using tensor = host_tensor<T>;

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
      log_sum_exp(x, *std::max_element(x, x + columns), y, columns);
    }
  }

 private:
  static void softmax_gradient(const T* dy, const T* y, T* dx, std::size_t rows,
                               std::size_t columns) {
    for (std::size_t n = 0; n < rows; ++n, dy += columns, y += columns, dx += columns) {
      compensated_sum<T> dot;
      for (std::size_t k = 0; k < columns; ++k) {
        dot.add(dy[k] * y[k]);
      }
      for (std::size_t k = 0; k < columns; ++k) {
        dx[k] = y[k] * (dy[k] - dot.value());
      }
    }
  }

  static void softmax_cross_entropy(const T* logits, const T* targets, T* loss, T* probabilities,
                                    std::size_t rows, std::size_t columns) {
    for (std::size_t n = 0; n < rows; ++n) {
      const T* x = logits + n * columns;
      const T* t = targets + n * columns;
      const T highest = *std::max_element(x, x + columns);
      // In double: the oracle's sums over many classes must be better than those it judges.
      double target_sum = 0;
      double dot = 0;
      for (std::size_t k = 0; k < columns; ++k) {
        if (t[k] != 0) {  // where it is, the logit may be -infinity: a class that cannot be
          target_sum += t[k];
          dot += static_cast<double>(t[k]) * (x[k] - highest);
        }
      }
      const T log_sum = log_sum_exp(x, highest, probabilities + n * columns, columns);
      loss[n] = static_cast<T>(target_sum * log_sum - dot);
    }
  }

  static void softmax_cross_entropy_gradient(const T* dloss, const T* probabilities,
                                             const T* targets, T* dlogits, std::size_t rows,
                                             std::size_t columns) {
    for (std::size_t n = 0; n < rows; ++n) {
      const std::size_t row = n * columns;
      compensated_sum<T> targets_sum;
      for (std::size_t k = 0; k < columns; ++k) {
        targets_sum.add(targets[row + k]);
      }
      const T target_sum = targets_sum.value();
      for (std::size_t k = 0; k < columns; ++k) {
        dlogits[row + k] = dloss[n] * (probabilities[row + k] * target_sum - targets[row + k]);
      }
    }
  }

  /// Writes softmax(x) to y, which may be x, and returns ln(sum(exp(x - highest))).
  static T log_sum_exp(const T* x, T highest, T* y, std::size_t columns) {
    compensated_sum<T> all;
    for (std::size_t k = 0; k < columns; ++k) {
      y[k] = std::exp(x[k] - highest);
      all.add(y[k]);
    }
    const T sum = all.value();
    for (std::size_t k = 0; k < columns; ++k) {
      y[k] /= sum;
    }
    return std::log(sum);
  }
};

}  // namespace glia::reference_loops

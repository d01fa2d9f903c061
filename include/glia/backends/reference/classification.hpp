#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace glia::reference_loops {

template <class T>
struct classification {
  void softmax(const T* x, T* y, std::size_t rows, std::size_t columns) const {
    for (std::size_t n = 0; n < rows; ++n, x += columns, y += columns) {
      log_sum_exp(x, y, columns);
    }
  }

  void softmax_gradient(const T* dy, const T* y, T* dx, std::size_t rows,
                        std::size_t columns) const {
    for (std::size_t n = 0; n < rows; ++n, dy += columns, y += columns, dx += columns) {
      T dot = 0;
      for (std::size_t k = 0; k < columns; ++k) {
        dot += dy[k] * y[k];
      }
      for (std::size_t k = 0; k < columns; ++k) {
        dx[k] = y[k] * (dy[k] - dot);
      }
    }
  }

  void softmax_cross_entropy(const T* logits, const T* targets, T* loss, T* probabilities,
                             std::size_t rows, std::size_t columns) const {
    for (std::size_t n = 0; n < rows; ++n) {
      const T* x = logits + n * columns;
      const T* t = targets + n * columns;
      T target_sum = 0;
      T dot = 0;
      for (std::size_t k = 0; k < columns; ++k) {
        target_sum += t[k];
        dot += t[k] * x[k];
      }
      loss[n] = target_sum * log_sum_exp(x, probabilities + n * columns, columns) - dot;
    }
  }

  void softmax_cross_entropy_gradient(const T* dloss, const T* probabilities, const T* targets,
                                      T* dlogits, std::size_t rows, std::size_t columns) const {
    for (std::size_t n = 0; n < rows; ++n) {
      const std::size_t row = n * columns;
      T target_sum = 0;
      for (std::size_t k = 0; k < columns; ++k) {
        target_sum += targets[row + k];
      }
      for (std::size_t k = 0; k < columns; ++k) {
        dlogits[row + k] = dloss[n] * (probabilities[row + k] * target_sum - targets[row + k]);
      }
    }
  }

 private:
  /// Writes softmax(x) to y, which may be x, and returns ln(sum(exp(x))).
  static T log_sum_exp(const T* x, T* y, std::size_t columns) {
    const T highest = *std::max_element(x, x + columns);
    T sum = 0;
    for (std::size_t k = 0; k < columns; ++k) {
      y[k] = std::exp(x[k] - highest);
      sum += y[k];
    }
    for (std::size_t k = 0; k < columns; ++k) {
      y[k] /= sum;
    }
    return highest + std::log(sum);
  }
};

}  // namespace glia::reference_loops

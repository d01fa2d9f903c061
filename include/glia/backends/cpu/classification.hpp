#pragma once

#include <cstddef>

#include "glia/backends/cpu/workers.hpp"

namespace glia::cpu_loops {

/// Softmax and its cross-entropy, in blocks of rows.
template <class T>
class classification {
 public:
  explicit classification(const workers& team) : team_(&team) {}

  void softmax(const T* x, T* y, std::size_t rows, std::size_t columns) const {
    for_each_row(rows, columns, [&](auto kernels, std::size_t, std::size_t at) {
      kernels.softmax(x + at, y + at, columns);
    });
  }

  void softmax_gradient(const T* dy, const T* y, T* dx, std::size_t rows,
                        std::size_t columns) const {
    for_each_row(rows, columns, [&](auto kernels, std::size_t, std::size_t at) {
      const T dot = kernels.dot(dy + at, y + at, columns);
      kernels.unary({unary_function::affine, 1, -static_cast<double>(dot)}, dy + at, dx + at,
                    columns);
      kernels.binary(binary_function::multiply, dx + at, 1, y + at, 1, dx + at, columns);
    });
  }

  void softmax_cross_entropy(const T* logits, const T* targets, T* loss, T* probabilities,
                             std::size_t rows, std::size_t columns) const {
    for_each_row(rows, columns, [&](auto kernels, std::size_t n, std::size_t at) {
      // Before softmax, which may overwrite the logits.
      const T highest = kernels.largest_of(logits + at, columns);
      const T dot = kernels.dot_below(logits + at, targets + at, highest, columns);
      const T log_sum = kernels.softmax(logits + at, probabilities + at, columns);
      loss[n] = kernels.sum(targets + at, columns) * log_sum - dot;
    });
  }

  void softmax_cross_entropy_gradient(const T* dloss, const T* probabilities, const T* targets,
                                      T* dlogits, std::size_t rows, std::size_t columns) const {
    for_each_row(rows, columns, [&](auto kernels, std::size_t n, std::size_t at) {
      kernels.scaled_difference(dloss[n], kernels.sum(targets + at, columns), probabilities + at,
                                targets + at, dlogits + at, columns);
    });
  }

 private:
  template <class Body>
  void for_each_row(std::size_t rows, std::size_t columns, const Body& body) const {
    team_->for_rows(rows, columns, [&](auto kernels, std::size_t first, std::size_t count) {
      for (std::size_t n = first; n < first + count; ++n) {
        body(kernels, n, n * columns);
      }
    });
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops

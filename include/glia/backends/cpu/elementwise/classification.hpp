#pragma once

#include <cstddef>

#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/classification.hpp"

namespace glia::cpu_loops {

/// Softmax and its cross-entropy, computed in blocks of rows.
template <class T>
class classification {
 public:
  using tensor = detail::tensor_view<T>;

  explicit classification(const workers& team) : team_(&team) {}

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

 private:
  void softmax(const T* x, T* y, std::size_t rows, std::size_t columns) const {
    for_each_row(rows, columns, [&](auto loops, std::size_t, std::size_t start) {
      loops.softmax(x + start, y + start, columns);
    });
  }

  void softmax_gradient(const T* dy, const T* y, T* dx, std::size_t rows,
                        std::size_t columns) const {
    for_each_row(rows, columns, [&](auto loops, std::size_t, std::size_t start) {
      const T dot = loops.dot(dy + start, y + start, columns);
      loops.unary({unary_function::affine, 1, -static_cast<double>(dot)}, dy + start, dx + start,
                  columns);
      loops.binary(binary_function::multiply, dx + start, 1, y + start, 1, dx + start, columns);
    });
  }

  void softmax_cross_entropy(const T* logits, const T* targets, T* loss, T* probabilities,
                             std::size_t rows, std::size_t columns) const {
    for_each_row(rows, columns, [&](auto loops, std::size_t n, std::size_t start) {
      loss[n] = loops.softmax_cross_entropy(logits + start, targets + start, probabilities + start,
                                            columns);
    });
  }

  void softmax_cross_entropy_gradient(const T* dloss, const T* probabilities, const T* targets,
                                      T* dlogits, std::size_t rows, std::size_t columns) const {
    for_each_row(rows, columns, [&](auto loops, std::size_t n, std::size_t start) {
      loops.softmax_cross_entropy_gradient(dloss[n], probabilities + start, targets + start,
                                           dlogits + start, columns);
    });
  }

  template <class Body>
  void for_each_row(std::size_t rows, std::size_t columns, const Body& body) const {
    team_->for_rows(rows, columns, [&](auto loops, std::size_t first, std::size_t count) {
      for (std::size_t n = first; n < first + count; ++n) {
        body(loops, n, n * columns);
      }
    });
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops

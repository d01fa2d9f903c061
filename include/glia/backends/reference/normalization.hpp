#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/normalization.hpp"

namespace glia::reference_loops {

template <class T>
struct normalizing {
  using tensor = host_tensor<T>;

  void compute(const kernels::normalize& k, const memory_pool&, const tensor& x,
               const tensor& gamma, const tensor& beta, const tensor& y, const tensor& mean,
               const tensor& variance) const {
    normalize(k.kind, x.data(), gamma.data(), beta.data(), k.epsilon, y.data(), mean.data(),
              variance.data(), row_count(x.shape()), x.shape().back());
  }

  void compute(const kernels::normalize_gradient& k, const memory_pool&, const tensor& dy,
               const tensor& x, const tensor& gamma, const tensor& mean, const tensor& variance,
               const tensor& dx, const tensor& dgamma, const tensor& dbeta) const {
    normalize_gradient(k.kind, dy.data(), x.data(), gamma.data(), mean.data(), variance.data(),
                       k.epsilon, dx.data(), dgamma.data(), dbeta.data(), row_count(x.shape()),
                       x.shape().back());
  }

 private:
  static void normalize(normalization kind, const T* x, const T* gamma, const T* beta,
                        double epsilon, T* y, T* mean, T* variance, std::size_t rows,
                        std::size_t columns) {
    const sets over(kind, rows, columns);
    for (std::size_t set = 0; set < over.count; ++set) {
      T sum = 0;
      over.for_each(set, [&](std::size_t i) { sum += x[i]; });
      mean[set] = sum / static_cast<T>(over.length);
      T squares = 0;
      over.for_each(set,
                    [&](std::size_t i) { squares += (x[i] - mean[set]) * (x[i] - mean[set]); });
      variance[set] = squares / static_cast<T>(over.length);
      const T scale = T{1} / std::sqrt(variance[set] + static_cast<T>(epsilon));
      over.for_each(set, [&](std::size_t i) {
        y[i] = gamma[i % columns] * (x[i] - mean[set]) * scale + beta[i % columns];
      });
    }
  }

  // With h = (x - mean) / sqrt(variance + epsilon) and q = gamma dy, both over one set:
  // dx = (q - mean(q) - h mean(q h)) / sqrt(variance + epsilon). Over a batch gamma is a factor of
  // the whole.
  static void normalize_gradient(normalization kind, const T* dy, const T* x, const T* gamma,
                                 const T* mean, const T* variance, double epsilon, T* dx, T* dgamma,
                                 T* dbeta, std::size_t rows, std::size_t columns) {
    const sets over(kind, rows, columns);
    std::fill_n(dgamma, columns, T{0});
    std::fill_n(dbeta, columns, T{0});
    const bool factor = kind == normalization::batch;
    for (std::size_t set = 0; set < over.count; ++set) {
      const T scale = T{1} / std::sqrt(variance[set] + static_cast<T>(epsilon));
      const T outer = factor ? gamma[set] : T{1};
      const auto inner = [&](std::size_t i) { return factor ? T{1} : gamma[i % columns]; };
      T mean_q = 0;
      T mean_qh = 0;
      over.for_each(set, [&](std::size_t i) {
        const T h = (x[i] - mean[set]) * scale;
        const T q = inner(i) * dy[i];
        dgamma[i % columns] += dy[i] * h;
        dbeta[i % columns] += dy[i];
        mean_q += q / static_cast<T>(over.length);
        mean_qh += q * h / static_cast<T>(over.length);
      });
      over.for_each(set, [&](std::size_t i) {
        const T h = (x[i] - mean[set]) * scale;
        dx[i] = outer * scale * (inner(i) * dy[i] - mean_q - h * mean_qh);
      });
    }
  }

  // The sets of elements that share their statistics: columns for batch, rows for layer.
  struct sets {
    sets(normalization kind, std::size_t rows, std::size_t columns)
        : count(kind == normalization::batch ? columns : rows),
          length(kind == normalization::batch ? rows : columns),
          set_step(kind == normalization::batch ? 1 : columns),
          element_step(kind == normalization::batch ? columns : 1) {}

    template <class Visit>
    void for_each(std::size_t set, const Visit& visit) const {
      for (std::size_t i = 0; i < length; ++i) {
        visit(set * set_step + i * element_step);
      }
    }

    std::size_t count;
    std::size_t length;
    std::size_t set_step;
    std::size_t element_step;
  };
};

}  // namespace glia::reference_loops

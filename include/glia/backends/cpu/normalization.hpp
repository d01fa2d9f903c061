#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "glia/backends/cpu/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/normalization.hpp"

namespace glia::cpu_loops {

/// Batch normalisation in blocks of channels, layer normalisation in blocks of rows. A block's sums
/// run over all its rows in order, so the result does not depend on the number of threads.
template <class T>
class normalizing {
 public:
  using tensor = host_tensor<T>;

  explicit normalizing(const workers& team) : team_(&team) {}

  void compute(const kernels::normalize& k, const memory_pool&, const tensor& x,
               const tensor& gamma, const tensor& beta, const tensor& y, const tensor& mean,
               const tensor& variance) const {
    normalize(k.kind, x.data(), gamma.data(), beta.data(), k.epsilon, y.data(), mean.data(),
              variance.data(), row_count(x.shape()), x.shape().back());
  }

  void compute(const kernels::normalize_gradient& k, const memory_pool& memory, const tensor& dy,
               const tensor& x, const tensor& gamma, const tensor& mean, const tensor& variance,
               const tensor& dx, const tensor& dgamma, const tensor& dbeta) const {
    normalize_gradient(k.kind, dy.data(), x.data(), gamma.data(), mean.data(), variance.data(),
                       k.epsilon, dx.data(), dgamma.data(), dbeta.data(), row_count(x.shape()),
                       x.shape().back(), memory);
  }

 private:
  void normalize(normalization kind, const T* x, const T* gamma, const T* beta, double epsilon,
                 T* y, T* mean, T* variance, std::size_t rows, std::size_t columns) const {
    if (kind == normalization::layer) {
      normalize_rows(x, gamma, beta, epsilon, y, mean, variance, rows, columns);
      return;
    }
    team_->for_blocks(columns, channels, [&](auto loops, std::size_t first, std::size_t count) {
      T scale[channels];
      T* m = mean + first;
      T* v = variance + first;
      std::fill_n(m, count, T{0});
      std::fill_n(v, count, T{0});
      for (std::size_t r = 0; r < rows; ++r) {
        loops.add(x + r * columns + first, m, count);
      }
      for (std::size_t c = 0; c < count; ++c) {
        m[c] /= static_cast<T>(rows);
      }
      for (std::size_t r = 0; r < rows; ++r) {
        loops.add_squared_difference(x + r * columns + first, m, v, count);
      }
      for (std::size_t c = 0; c < count; ++c) {
        v[c] /= static_cast<T>(rows);
        scale[c] = gamma[first + c] * inverse_deviation(v[c], epsilon);
      }
      for (std::size_t r = 0; r < rows; ++r) {
        loops.center_and_scale(x + r * columns + first, m, scale, beta + first,
                               y + r * columns + first, count);
      }
    });
  }

  // The formula stands with the reference backend's loops.
  void normalize_gradient(normalization kind, const T* dy, const T* x, const T* gamma,
                          const T* mean, const T* variance, double epsilon, T* dx, T* dgamma,
                          T* dbeta, std::size_t rows, std::size_t columns,
                          const memory_pool& memory) const {
    if (kind == normalization::layer) {
      gradient_of_rows(dy, x, gamma, mean, variance, epsilon, dx, dgamma, dbeta, rows, columns,
                       memory);
      return;
    }
    team_->for_blocks(columns, channels, [&](auto loops, std::size_t first, std::size_t count) {
      const T* m = mean + first;
      const T none[channels] = {};
      T inverse[channels];
      T h[channels];
      for (std::size_t c = 0; c < count; ++c) {
        inverse[c] = inverse_deviation(variance[first + c], epsilon);
      }
      std::fill_n(dgamma + first, count, T{0});
      std::fill_n(dbeta + first, count, T{0});
      for (std::size_t r = 0; r < rows; ++r) {
        loops.center_and_scale(x + r * columns + first, m, inverse, none, h, count);
        loops.add_product(dy + r * columns + first, h, dgamma + first, count);
        loops.add(dy + r * columns + first, dbeta + first, count);
      }
      // dx = gamma inverse (dy - dbeta / rows - h dgamma / rows)
      T scale[channels];
      T mean_dy[channels];
      T slope[channels];
      for (std::size_t c = 0; c < count; ++c) {
        scale[c] = gamma[first + c] * inverse[c];
        mean_dy[c] = dbeta[first + c] / static_cast<T>(rows);
        slope[c] = inverse[c] * dgamma[first + c] / static_cast<T>(rows);
      }
      for (std::size_t r = 0; r < rows; ++r) {
        const std::size_t at = r * columns + first;
        loops.normalized_gradient(dy + at, x + at, m, mean_dy, slope, scale, dx + at, count);
      }
    });
  }

  static constexpr std::size_t channels = 64;
  static constexpr std::size_t gradient_lanes = 8;

  static T inverse_deviation(T variance, double epsilon) {
    return T{1} / std::sqrt(variance + static_cast<T>(epsilon));
  }

  void normalize_rows(const T* x, const T* gamma, const T* beta, double epsilon, T* y, T* mean,
                      T* variance, std::size_t rows, std::size_t columns) const {
    team_->for_rows(rows, columns, [&](auto loops, std::size_t first, std::size_t count) {
      for (std::size_t r = first; r < first + count; ++r) {
        const T* from = x + r * columns;
        T* to = y + r * columns;
        mean[r] = loops.sum(from, columns) / static_cast<T>(columns);
        loops.unary({unary_function::affine, 1, -static_cast<double>(mean[r])}, from, to, columns);
        variance[r] = loops.dot(to, to, columns) / static_cast<T>(columns);
        loops.unary({unary_function::affine, inverse_deviation(variance[r], epsilon), 0}, to, to,
                    columns);
        loops.scale_and_shift(to, gamma, beta, to, columns);
      }
    });
  }

  void gradient_of_rows(const T* dy, const T* x, const T* gamma, const T* mean, const T* variance,
                        double epsilon, T* dx, T* dgamma, T* dbeta, std::size_t rows,
                        std::size_t columns, const memory_pool& memory) const {
    const std::size_t lanes = std::min(rows, gradient_lanes);
    // Of each lane: its sums for gamma and for beta, and the normalised row at hand.
    const host_tensor<T> partial(memory, {lanes, 3, columns});
    team_->for_each(lanes, [&](auto loops, std::size_t lane) {
      T* lane_gamma = partial.data() + lane * 3 * columns;
      T* lane_beta = lane_gamma + columns;
      T* h = lane_beta + columns;
      std::fill_n(lane_gamma, 2 * columns, T{0});
      for (std::size_t r = lane * rows / lanes; r < (lane + 1) * rows / lanes; ++r) {
        const T* g = dy + r * columns;
        T* to = dx + r * columns;
        const T inverse = inverse_deviation(variance[r], epsilon);
        loops.unary({unary_function::affine, inverse, -static_cast<double>(mean[r] * inverse)},
                    x + r * columns, h, columns);
        loops.add_product(g, h, lane_gamma, columns);
        loops.add(g, lane_beta, columns);
        loops.binary(binary_function::multiply, g, 1, gamma, 1, to, columns);
        const T mean_q = loops.sum(to, columns) / static_cast<T>(columns);
        const T mean_qh = loops.dot(to, h, columns) / static_cast<T>(columns);
        loops.add_scaled(-mean_qh, h, to, columns);
        loops.unary({unary_function::affine, inverse, -static_cast<double>(mean_q * inverse)}, to,
                    to, columns);
      }
    });
    std::fill_n(dgamma, columns, T{0});
    std::fill_n(dbeta, columns, T{0});
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      for (std::size_t c = 0; c < columns; ++c) {
        dgamma[c] += partial.data()[lane * 3 * columns + c];
        dbeta[c] += partial.data()[lane * 3 * columns + columns + c];
      }
    }
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "glia/backends/cpu/column_strips.hpp"
#include "glia/backends/cpu/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/normalization.hpp"

namespace glia::cpu_loops {

/// Batch normalisation in chunks of rows, whose sums are added in order, layer normalisation in
/// blocks of rows: the result does not depend on the number of threads.
template <class T>
class normalizing {
 public:
  using tensor = host_tensor<T>;
  using strips = column_strips<T>;

  explicit normalizing(const workers& team) : team_(&team) {}

  void compute(const kernels::normalize& k, const memory_pool& memory, const tensor& x,
               const tensor& gamma, const tensor& beta, const tensor& y, const tensor& mean,
               const tensor& variance) const {
    normalize(k.kind, x.data(), gamma.data(), beta.data(), k.epsilon, y.data(), mean.data(),
              variance.data(), row_count(x.shape()), x.shape().back(), memory);
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
                 T* y, T* mean, T* variance, std::size_t rows, std::size_t columns,
                 const memory_pool& memory) const {
    if (kind == normalization::layer) {
      normalize_rows(x, gamma, beta, epsilon, y, mean, variance, rows, columns);
      return;
    }
    const strips cut(rows, columns);
    statistics(cut, x, mean, variance, memory);
    const tensor repeated(memory, {3, cut.width()});
    T* const means = repeated.data();
    T* const scales = means + cut.width();
    T* const shifts = scales + cut.width();
    for (std::size_t c = 0; c < columns; ++c) {
      scales[c] = gamma[c] * inverse_deviation(variance[c], epsilon);
    }
    std::copy_n(mean, columns, means);
    std::copy_n(beta, columns, shifts);
    for (T* const each : {means, scales, shifts}) {
      cut.repeat(each);
    }
    cut.for_tasks(*team_, [&](auto loops, const auto& task) {
      task.for_each([&](std::size_t at, std::size_t column, std::size_t count) {
        loops.center_and_scale(x + at, means + column, scales + column, shifts + column, y + at,
                               count);
      });
    });
  }

  /// Mean and variance of each column: of chunks that stay in a cache meanwhile, from which those
  /// of all rows are put together.
  void statistics(const strips& cut, const T* x, T* mean, T* variance,
                  const memory_pool& memory) const {
    const std::size_t columns = cut.columns();
    const tensor found(memory, {cut.chunks(), 2, columns});
    const tensor room(memory, {team_->threads(), 2, cut.width()});
    cut.for_tasks(*team_, [&](auto loops, const auto& task) {
      T* const means = room.data() + task.thread * 2 * cut.width() + task.column;
      T* const squares = means + cut.width();
      std::fill_n(means, task.width, T{0});
      std::fill_n(squares, task.width, T{0});
      task.for_each(
          [&](std::size_t at, std::size_t, std::size_t count) { loops.add(x + at, means, count); });
      task.fold(loops, means);
      for (std::size_t c = 0; c < task.columns; ++c) {
        means[c] /= static_cast<T>(task.rows);
      }
      task.repeat(means);
      task.for_each([&](std::size_t at, std::size_t, std::size_t count) {
        loops.add_squared_difference(x + at, means, squares, count);
      });
      task.fold(loops, squares);
      T* const to = found.data() + task.chunk * 2 * columns + task.column;
      std::copy_n(means, task.columns, to);
      std::copy_n(squares, task.columns, to + columns);
    });
    // Of infinite numbers the mean is infinite, as a single sum of them is.
    std::fill_n(mean, columns, T{0});
    std::fill_n(variance, columns, T{0});
    for (std::size_t chunk = 0; chunk < cut.chunks(); ++chunk) {
      const T* const means = found.data() + chunk * 2 * columns;
      const T share = static_cast<T>(cut.rows_of(chunk)) / static_cast<T>(cut.rows());
      for (std::size_t c = 0; c < columns; ++c) {
        mean[c] += share * means[c];
      }
    }
    for (std::size_t chunk = 0; chunk < cut.chunks(); ++chunk) {
      const T* const means = found.data() + chunk * 2 * columns;
      const T* const squares = means + columns;
      const auto count = static_cast<T>(cut.rows_of(chunk));
      for (std::size_t c = 0; c < columns; ++c) {
        const T beside = means[c] - mean[c];
        variance[c] += squares[c] + count * beside * beside;
      }
    }
    for (std::size_t c = 0; c < columns; ++c) {
      variance[c] /= static_cast<T>(cut.rows());
    }
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
    const strips cut(rows, columns);
    const tensor repeated(memory, {4, cut.width()});
    T* const means = repeated.data();
    T* const scales = means + cut.width();
    T* const means_dy = scales + cut.width();
    T* const slopes = means_dy + cut.width();
    std::copy_n(mean, columns, means);
    cut.repeat(means);
    gradient_sums(cut, dy, x, means, dgamma, dbeta, memory);
    // dx = gamma inverse (dy - dbeta / rows - h dgamma / rows), h = (x - mean) inverse
    for (std::size_t c = 0; c < columns; ++c) {
      const T inverse = inverse_deviation(variance[c], epsilon);
      dgamma[c] *= inverse;
      scales[c] = gamma[c] * inverse;
      means_dy[c] = dbeta[c] / static_cast<T>(rows);
      slopes[c] = inverse * dgamma[c] / static_cast<T>(rows);
    }
    for (T* const each : {scales, means_dy, slopes}) {
      cut.repeat(each);
    }
    cut.for_tasks(*team_, [&](auto loops, const auto& task) {
      task.for_each([&](std::size_t at, std::size_t column, std::size_t count) {
        loops.normalized_gradient(dy + at, x + at, means + column, means_dy + column,
                                  slopes + column, scales + column, dx + at, count);
      });
    });
  }

  /// sum dy (x - mean) and sum dy of each column.
  void gradient_sums(const strips& cut, const T* dy, const T* x, const T* means, T* products,
                     T* sums, const memory_pool& memory) const {
    const std::size_t columns = cut.columns();
    const tensor found(memory, {cut.chunks(), 2, columns});
    const tensor room(memory, {team_->threads(), 2, cut.width()});
    cut.for_tasks(*team_, [&](auto loops, const auto& task) {
      T* const mine = room.data() + task.thread * 2 * cut.width() + task.column;
      T* const of_dy = mine + cut.width();
      std::fill_n(mine, task.width, T{0});
      std::fill_n(of_dy, task.width, T{0});
      task.for_each([&](std::size_t at, std::size_t column, std::size_t count) {
        loops.add_centered_product(dy + at, x + at, means + column, mine, of_dy, count);
      });
      T* const to = found.data() + task.chunk * 2 * columns + task.column;
      task.fold(loops, mine);
      task.fold(loops, of_dy);
      std::copy_n(mine, task.columns, to);
      std::copy_n(of_dy, task.columns, to + columns);
    });
    std::fill_n(products, columns, T{0});
    std::fill_n(sums, columns, T{0});
    for (std::size_t chunk = 0; chunk < cut.chunks(); ++chunk) {
      const T* const from = found.data() + chunk * 2 * columns;
      for (std::size_t c = 0; c < columns; ++c) {
        products[c] += from[c];
        sums[c] += from[columns + c];
      }
    }
  }

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

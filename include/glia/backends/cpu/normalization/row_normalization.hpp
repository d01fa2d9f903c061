#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "glia/backends/cpu/threads/gradient_lanes.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/backends/long_sum.hpp"
#include "glia/backends/set_statistics.hpp"
#include "glia/kernels/normalization.hpp"

namespace glia::cpu_loops {

/// Normalizes rows, each with its own statistics, and computes the gradients.
template <class T>
class row_normalization {
 public:
  explicit row_normalization(const workers& team) : team_(&team) {}

  void normalize(const kernels::normalize& k, const normalized_sets& sets, const T* x,
                 const T* gamma, const T* beta, T* y, T* mean, T* variance) const {
    const std::size_t columns = sets.columns;
    const bool centered = k.kind == normalization::layer;
    const auto length = static_cast<T>(columns);
    team_->for_rows(sets.samples, columns, [&](auto loops, std::size_t first, std::size_t count) {
      for (std::size_t r = first; r < first + count; ++r) {
        const T* const source = x + r * columns;
        T* const target = y + r * columns;
        const T middle =
            centered ? source[0] + loops.sum_apart(source, source[0], columns) / length : T{0};
        T sums[2];
        loops.sum_moments(source, middle, columns, sums);
        const T offset = centered ? sums[0] / length : T{0};
        const T squares = sums[1] / length;
        mean[r] = middle + offset;
        variance[r] = std::max(squares - offset * offset, T{0});
        const T widened = variance[r] + static_cast<T>(k.epsilon);
        if (is_usual_variance(widened) && std::isfinite(mean[r])) {
          loops.normalize_row(source, middle, offset, T{1} / std::sqrt(widened), gamma, beta,
                              target, columns);
          continue;
        }
        const set_statistics<T> statistics(
            columns, [&](std::size_t i) { return source[i]; }, k.epsilon, centered);
        mean[r] = statistics.mean();
        variance[r] = statistics.variance();
        for (std::size_t c = 0; c < columns; ++c) {
          target[c] = statistics.normalized(source[c]) * gamma[c] + beta[c];
        }
      }
    });
  }

  void gradient(const kernels::normalize_gradient& k, const normalized_sets& sets, const T* dy,
                const T* x, const T* gamma, const T* mean, const T* variance, T* dx, T* dgamma,
                T* dbeta, const memory_pool& memory) const {
    const std::size_t rows = sets.samples;
    const std::size_t columns = sets.columns;
    const bool centered = k.kind == normalization::layer;
    const auto length = static_cast<T>(columns);
    const detail::host_tensor<T> normalized(memory, {team_->threads(), columns});
    const detail::host_tensor<T> sums(memory, {2, columns});
    sum_over_lanes(
        *team_, team_->level(), memory, rows, 2 * columns, sums.data(),
        [](std::size_t count) { return count; },
        [&](auto loops, std::size_t first, std::size_t count, auto& lane, std::size_t thread) {
          T* const h = normalized.data() + thread * columns;
          for (std::size_t r = first; r < first + count; ++r) {
            const T* const source = x + r * columns;
            const T* const g = dy + r * columns;
            T* const target = dx + r * columns;
            const T widened = variance[r] + static_cast<T>(k.epsilon);
            T inverse = T{1} / std::sqrt(widened);
            T* const of_gamma = lane.data();
            T* const of_beta = of_gamma + columns;
            if (is_usual_variance(widened)) {
              // If the mean is smaller than the deviation, its error is less than a rounding.
              const bool is_far = centered && std::abs(mean[r]) * inverse > 1;
              const T rest = is_far
                                 ? detail::rest_of_mean(
                                       mean[r], loops.sum_apart(source, mean[r], columns) / length)
                                 : T{0};
              loops.start_row_gradient(g, source, mean[r], rest, inverse, gamma, h, of_gamma,
                                       of_beta, target, columns);
            } else {
              const set_statistics<T> statistics(
                  columns, [&](std::size_t i) { return source[i]; }, k.epsilon, centered);
              inverse = statistics.inverse_deviation();
              for (std::size_t c = 0; c < columns; ++c) {
                h[c] = statistics.normalized(source[c]);
              }
              loops.start_row_gradient(g, h, T{0}, T{0}, T{1}, gamma, h, of_gamma, of_beta, target,
                                       columns);
            }
            lane.added(1);
            T sums_of_q[2];
            loops.sum_and_dot(target, h, columns, sums_of_q);
            loops.end_row_gradient(h, inverse, centered ? sums_of_q[0] / length : T{0},
                                   sums_of_q[1] / length, target, columns);
          }
        });
    std::copy_n(sums.data(), columns, dgamma);
    std::copy_n(sums.data() + columns, columns, dbeta);
  }

 private:
  const workers* team_;
};

}  // namespace glia::cpu_loops

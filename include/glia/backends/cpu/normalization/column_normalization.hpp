#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "glia/backends/cpu/normalization/column_statistics.hpp"
#include "glia/backends/cpu/normalization/column_strips.hpp"
#include "glia/backends/long_sum.hpp"
#include "glia/backends/set_statistics.hpp"
#include "glia/kernels/normalization.hpp"

namespace glia::cpu_loops {

/// Normalizes the columns of one sample, and computes the gradients. `for_tasks(f)` calls f(loops,
/// task) for the tasks of the sample's rows.
template <class T>
class column_normalization {
  using strips = column_strips<T>;

 public:
  template <class Loops, class ForTasks>
  static void normalize(const Loops& loops, double epsilon, const normalized_sets& sets,
                        const strips& cut, const column_memory<T>& memory,
                        const ForTasks& for_tasks, const T* x, const T* gamma, const T* beta, T* y,
                        T* mean, T* variance) {
    T* const rest = memory.column(4);
    column_statistics<T>::compute(loops, sets, cut, memory, for_tasks, x, mean, rest, variance);
    T* const means = memory.column(0);
    T* const scales = memory.column(1);
    T* const shifts = memory.column(2);
    bool usual = true;
    if (sets.run == 1 && loops.normalizing_factors(mean, rest, variance, static_cast<T>(epsilon),
                                                   gamma, beta, scales, shifts, sets.columns)) {
      std::copy_n(mean, sets.columns, means);
    } else {
      usual = factors_of_sets(loops, epsilon, sets, x, gamma, beta, mean, rest, variance, means,
                              scales, shifts);
    }
    for (T* const values : {means, scales, shifts}) {
      cut.repeat(values);
    }
    for_tasks([&](auto task_loops, const auto& task) {
      task.for_each([&](std::size_t start, std::size_t column, std::size_t count) {
        task_loops.center_and_scale(x + start, means + column, scales + column, shifts + column,
                                    y + start, count);
      });
    });
    for (std::size_t set = 0; !usual && set < sets.per_sample; ++set) {
      if (!std::isnan(rest[set])) {
        continue;
      }
      const set_statistics<T> statistics = column_statistics<T>::of_set(sets, set, x, epsilon);
      for (std::size_t i = 0; i < sets.length(); ++i) {
        const std::size_t element = sets.element(set, i);
        const std::size_t c = sets.column(set, i);
        y[element] = statistics.normalized(x[element]) * gamma[c] + beta[c];
      }
    }
  }

  // The reference backend's loops explain the formula.
  template <class Loops, class ForTasks>
  static void gradient(const Loops& loops, double epsilon, const normalized_sets& sets,
                       const strips& cut, const column_memory<T>& memory, const ForTasks& for_tasks,
                       const T* dy, const T* x, const T* gamma, const T* mean, const T* variance,
                       T* dx, T* dgamma, T* dbeta) {
    T* const means = memory.column(0);
    T* const offsets = memory.column(1);
    for (std::size_t set = 0; set < sets.per_sample; ++set) {
      std::fill_n(means + set * sets.run, sets.run, mean[set]);
    }
    cut.repeat(means);
    gradient_sums(loops, sets.columns, cut, memory, for_tasks, dy, x, dgamma, dbeta, offsets);
    // dx = inverse (q - mean(q) - h mean(q h)), q = gamma dy, h = (x - mean - rest) inverse
    T* const scales = memory.column(2);
    T* const constants = memory.column(3);
    T* const slopes = memory.column(4);
    const auto length = static_cast<T>(sets.length());
    const bool single = sets.run == 1;
    const bool usual =
        (single &&
         loops.gradient_factors(mean, offsets, variance, static_cast<T>(epsilon), length, gamma,
                                dbeta, dgamma, scales, constants, slopes, sets.columns)) ||
        gradient_factors_of_sets(loops, epsilon, sets, mean, offsets, variance, gamma, dbeta,
                                 dgamma, scales, constants, slopes);
    for (T* const values : {scales, constants, slopes}) {
      cut.repeat(values);
    }
    for_tasks([&](auto task_loops, const auto& task) {
      task.for_each([&](std::size_t start, std::size_t column, std::size_t count) {
        if (single) {
          task_loops.normalized_gradient(dy + start, x + start, means + column, constants + column,
                                         slopes + column, scales + column, dx + start, count);
        } else {
          task_loops.grouped_gradient(dy + start, x + start, means + column, constants + column,
                                      slopes + column, scales + column, dx + start, count);
        }
      });
    });
    for (std::size_t set = 0; !usual && set < sets.per_sample; ++set) {
      if (!is_usual_variance(variance[set] + static_cast<T>(epsilon))) {
        gradient_of_set(sets, set, column_statistics<T>::of_set(sets, set, x, epsilon), dy, x,
                        gamma, dx, dgamma);
      }
    }
  }

 private:
  /// Computes the same as loops.normalizing_factors for sets of any number of columns. The `rest`
  /// of a set that is handled separately is NaN.
  template <class Loops>
  static bool factors_of_sets(const Loops& loops, double epsilon, const normalized_sets& sets,
                              const T* x, const T* gamma, const T* beta, T* mean, T* rest,
                              T* variance, T* means, T* scales, T* shifts) {
    bool usual = true;
    for (std::size_t set = 0; set < sets.per_sample; ++set) {
      const T widened = variance[set] + static_cast<T>(epsilon);
      T inverse = T{1} / std::sqrt(widened);
      if (!is_usual_variance(widened) || !std::isfinite(mean[set])) {
        usual = false;
        const set_statistics<T> statistics = column_statistics<T>::of_set(sets, set, x, epsilon);
        mean[set] = statistics.mean();
        variance[set] = statistics.variance();
        inverse = statistics.inverse_deviation();
        rest[set] = std::numeric_limits<T>::quiet_NaN();
      }
      for (std::size_t c = set * sets.run; c < (set + 1) * sets.run; ++c) {
        means[c] = mean[set];
        scales[c] = gamma[c] * inverse;
        shifts[c] = beta[c] - loops.part_of(rest[set], scales[c]);
      }
    }
    return usual;
  }

  template <class Loops>
  static T sum_of_run(const Loops& loops, const T* x, std::size_t n) {
    return n == 1 ? *x : loops.sum(x, n);
  }

  /// Computes the same as loops.gradient_factors for sets of any number of columns. For sets of
  /// several columns, dx = scale dy - constant - (x - mean) slope.
  template <class Loops>
  static bool gradient_factors_of_sets(const Loops& loops, double epsilon,
                                       const normalized_sets& sets, const T* mean, const T* offsets,
                                       const T* variance, const T* gamma, const T* dbeta, T* dgamma,
                                       T* scales, T* constants, T* slopes) {
    const auto length = static_cast<T>(sets.length());
    const bool single = sets.run == 1;
    bool usual = true;
    for (std::size_t set = 0; set < sets.per_sample; ++set) {
      const std::size_t first = set * sets.run;
      const T widened = variance[set] + static_cast<T>(epsilon);
      const T inverse = T{1} / std::sqrt(widened);
      usual = usual && is_usual_variance(widened);
      const T rest =
          detail::rest_of_mean(mean[set], sum_of_run(loops, offsets + first, sets.run) / length);
      detail::compensated_sum<T> q_sum;
      detail::compensated_sum<T> qh_sum;
      for (std::size_t c = first; c < first + sets.run; ++c) {
        dgamma[c] = inverse * (dgamma[c] - loops.part_of(rest, dbeta[c]));
        const T factor = single ? T{1} : gamma[c];
        q_sum.add(factor * dbeta[c] / length);
        qh_sum.add(factor * dgamma[c] / length);
      }
      const T mean_q = q_sum.value();
      const T mean_qh = qh_sum.value();
      // If a set has a single gamma, gamma is a factor of the whole gradient.
      const T outer = single ? T{1} : inverse;
      for (std::size_t c = first; c < first + sets.run; ++c) {
        scales[c] = inverse * gamma[c];
        slopes[c] = outer * inverse * mean_qh;
        constants[c] = outer * mean_q - loops.part_of(rest, slopes[c]);
      }
    }
    return usual;
  }

  /// Computes the gradient of a set that is handled separately. It writes dgamma only for the set's
  /// columns.
  static void gradient_of_set(const normalized_sets& sets, std::size_t set,
                              const set_statistics<T>& statistics, const T* dy, const T* x,
                              const T* gamma, T* dx, T* dgamma) {
    detail::compensated_sum<T> q_sum;
    detail::compensated_sum<T> qh_sum;
    for (std::size_t j = 0; j < sets.run; ++j) {
      detail::compensated_sum<T> gh_sum;
      for (std::size_t i = j; i < sets.length(); i += sets.run) {
        const std::size_t element = sets.element(set, i);
        const T h = statistics.normalized(x[element]);
        gh_sum.add(dy[element] * h);
        q_sum.add(gamma[sets.column(set, i)] * dy[element]);
        qh_sum.add(gamma[sets.column(set, i)] * dy[element] * h);
      }
      dgamma[sets.column(set, j)] = gh_sum.value();
    }
    const auto length = static_cast<T>(sets.length());
    const T mean_q = q_sum.value() / length;
    const T mean_qh = qh_sum.value() / length;
    for (std::size_t i = 0; i < sets.length(); ++i) {
      const std::size_t element = sets.element(set, i);
      dx[element] =
          statistics.inverse_deviation() * (gamma[sets.column(set, i)] * dy[element] - mean_q -
                                            statistics.normalized(x[element]) * mean_qh);
    }
  }

  /// Computes sum dy (x - mean), sum dy and sum (x - mean) of each column.
  template <class Loops, class ForTasks>
  static void gradient_sums(const Loops& loops, std::size_t columns, const strips& cut,
                            const column_memory<T>& memory, const ForTasks& for_tasks, const T* dy,
                            const T* x, T* products, T* sums, T* offsets) {
    const T* const means = memory.column(0);
    for_tasks([&](auto task_loops, const auto& task) {
      T* const mine[] = {memory.strip(task, 0), memory.strip(task, 1), memory.strip(task, 2)};
      task.for_runs([&](std::size_t start, std::size_t column, std::size_t width, std::size_t step,
                        std::size_t strips_of_it) {
        task_loops.add_gradient_moments(dy + start, x + start, step, strips_of_it, means + column,
                                        mine[0], mine[1], mine[2], width);
      });
      for (std::size_t i = 0; i < 3; ++i) {
        task.fold(task_loops, mine[i]);
        std::copy_n(mine[i], task.columns, memory.chunk(task.chunk, i) + task.column);
      }
    });
    T* const totals[] = {products, sums, offsets};
    T* const lost = memory.column(2);
    for (std::size_t i = 0; i < 3; ++i) {
      std::fill_n(totals[i], columns, T{0});
      std::fill_n(lost, columns, T{0});
      for (std::size_t chunk = 0; chunk < cut.chunks(); ++chunk) {
        loops.add_compensated(memory.chunk(chunk, i), totals[i], lost, columns);
      }
      loops.end_compensated(totals[i], lost, columns);
    }
  }
};

}  // namespace glia::cpu_loops

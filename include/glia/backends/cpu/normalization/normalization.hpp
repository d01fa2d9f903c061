#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "glia/backends/cpu/normalization/column_strips.hpp"
#include "glia/backends/cpu/threads/gradient_lanes.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/backends/long_sum.hpp"
#include "glia/backends/set_statistics.hpp"
#include "glia/kernels/normalization.hpp"

namespace glia::cpu_loops {

/// Computes normalizations and their gradients. If several rows share their statistics, each chunk
/// of rows has its own statistics, and the chunks are combined in order. Rows with separate
/// statistics are processed in blocks. So the result does not depend on the number of threads.
///
/// The first sums add the distances of all elements to one of them, to compute the mean. The next
/// sums add the distances to this mean. The mean is rounded once, and its rounding error is
/// corrected for. Sets whose squares leave the range of T are handled separately, by
/// set_statistics.
template <class T>
class normalizing {
 public:
  using tensor = tensor_view<T>;

  explicit normalizing(const workers& team) : team_(&team) {}

  void compute(const kernels::normalize& k, const memory_pool& memory, const tensor& x,
               const tensor& gamma, const tensor& beta, const tensor& y, const tensor& mean,
               const tensor& variance) const {
    const normalized_sets sets(x.shape(), k.kind, k.groups);
    if (is_by_rows(k.kind)) {
      normalize_rows(k, sets, x.data(), gamma.data(), beta.data(), y.data(), mean.data(),
                     variance.data());
      return;
    }
    const strips cut(sets.rows, sets.columns);
    for_samples(sets, cut, 3, memory,
                [&](std::size_t sample, T* room, const auto& for_tasks, auto loops) {
                  const std::size_t at = sample * sets.rows * sets.columns;
                  const std::size_t first = sample * sets.per_sample;
                  normalize_columns(loops, k.epsilon, sets, cut, room, for_tasks, x.data() + at,
                                    gamma.data(), beta.data(), y.data() + at, mean.data() + first,
                                    variance.data() + first);
                });
  }

  void compute(const kernels::normalize_gradient& k, const memory_pool& memory, const tensor& dy,
               const tensor& x, const tensor& gamma, const tensor& mean, const tensor& variance,
               const tensor& dx, const tensor& dgamma, const tensor& dbeta) const {
    const normalized_sets sets(x.shape(), k.kind, k.groups);
    if (is_by_rows(k.kind)) {
      gradient_of_rows(k, sets, dy.data(), x.data(), gamma.data(), mean.data(), variance.data(),
                       dx.data(), dgamma.data(), dbeta.data(), memory);
      return;
    }
    const strips cut(sets.rows, sets.columns);
    // The sums for gamma and for beta, separately for each sample.
    const std::size_t columns = sets.columns;
    const host_tensor<T> sums(memory, {sets.samples, 2, columns});
    for_samples(
        sets, cut, 3, memory, [&](std::size_t sample, T* room, const auto& for_tasks, auto loops) {
          const std::size_t at = sample * sets.rows * columns;
          const std::size_t first = sample * sets.per_sample;
          T* const mine = sums.data() + sample * 2 * columns;
          gradient_of_columns(loops, k.epsilon, sets, cut, room, for_tasks, dy.data() + at,
                              x.data() + at, gamma.data(), mean.data() + first,
                              variance.data() + first, dx.data() + at, mine, mine + columns);
        });
    with_isa(team_->level(), [&](auto loops) {
      loops.sum_rows(sums.data(), 2 * columns, sets.samples, dgamma.data(), columns);
      loops.sum_rows(sums.data() + columns, 2 * columns, sets.samples, dbeta.data(), columns);
    });
  }

 private:
  using strips = column_strips<T>;

  /// Calls body(sample, room, for_tasks, loops) for each sample. In this body, for_tasks(f) calls
  /// f(loops, task) for the tasks of the sample's rows. A single sample uses all threads; otherwise
  /// each sample uses one thread. `room` has memory for `sums` numbers per chunk and column, `sums`
  /// numbers per thread and column of a strip, and `numbers_of_column` numbers per column of a
  /// strip.
  template <class Body>
  void for_samples(const normalized_sets& sets, const strips& cut, std::size_t sums,
                   const memory_pool& memory, const Body& body) const {
    const bool alone = sets.samples == 1;
    const std::size_t threads = alone ? team_->threads() : 1;
    const std::size_t each = sums * (cut.chunks() * sets.columns + threads * cut.width()) +
                             numbers_of_column * cut.width();
    const host_tensor<T> room(memory, {alone ? 1 : team_->threads(), each});
    with_isa(team_->level(), [&](auto loops) {
      if (alone) {
        body(
            std::size_t{0}, room.data(),
            [&](const auto& f) {
              team_->run(cut.tasks(), [&](std::size_t i, std::size_t thread) {
                f(loops, cut.task_of(i, thread));
              });
            },
            loops);
        return;
      }
      team_->run(sets.samples, [&](std::size_t sample, std::size_t thread) {
        body(
            sample, room.data() + thread * each,
            [&](const auto& f) {
              for (std::size_t i = 0; i < cut.tasks(); ++i) {
                f(loops, cut.task_of(i, 0));
              }
            },
            loops);
      });
    });
  }

  /// The memory that for_samples provides.
  struct rooms {
    rooms(T* memory, const strips& cut, std::size_t columns, std::size_t sums)
        : of_column(memory),
          found(memory + numbers_of_column * cut.width()),
          of_thread(found + sums * cut.chunks() * columns),
          width(cut.width()),
          columns_(columns),
          sums_(sums) {}
    /// Returns number i of each column. Memory for its repetitions follows.
    [[nodiscard]] T* column(std::size_t i) const { return of_column + i * width; }
    /// Returns result i of a chunk.
    [[nodiscard]] T* chunk(std::size_t chunk, std::size_t i) const {
      return found + (chunk * sums_ + i) * columns_;
    }
    /// Returns a sum of a thread's strip, initialized with 0.
    template <class Task>
    [[nodiscard]] T* strip(const Task& task, std::size_t i) const {
      T* const sum = of_thread + (task.thread * sums_ + i) * width + task.column;
      std::fill_n(sum, task.width, T{0});
      return sum;
    }

    T* of_column;
    T* found;
    T* of_thread;
    std::size_t width;

   private:
    std::size_t columns_;
    std::size_t sums_;
  };
  static constexpr std::size_t numbers_of_column = 5;

  template <class Loops, class ForTasks>
  static void normalize_columns(const Loops& loops, double epsilon, const normalized_sets& sets,
                                const strips& cut, T* memory, const ForTasks& for_tasks, const T* x,
                                const T* gamma, const T* beta, T* y, T* mean, T* variance) {
    const rooms room(memory, cut, sets.columns, 3);
    T* const rest = room.column(4);
    statistics(loops, sets, cut, room, for_tasks, x, mean, rest, variance);
    T* const means = room.column(0);
    T* const scales = room.column(1);
    T* const shifts = room.column(2);
    bool usual = true;
    if (sets.run == 1 && loops.normalizing_factors(mean, rest, variance, static_cast<T>(epsilon),
                                                   gamma, beta, scales, shifts, sets.columns)) {
      std::copy_n(mean, sets.columns, means);
    } else {
      usual = factors_of_sets(loops, epsilon, sets, x, gamma, beta, mean, rest, variance, means,
                              scales, shifts);
    }
    for (T* const each : {means, scales, shifts}) {
      cut.repeat(each);
    }
    for_tasks([&](auto by, const auto& task) {
      task.for_each([&](std::size_t at, std::size_t column, std::size_t count) {
        by.center_and_scale(x + at, means + column, scales + column, shifts + column, y + at,
                            count);
      });
    });
    for (std::size_t set = 0; !usual && set < sets.per_sample; ++set) {
      if (!std::isnan(rest[set])) {
        continue;
      }
      const set_statistics<T> of = statistics_of(sets, set, x, epsilon);
      for (std::size_t i = 0; i < sets.length(); ++i) {
        const std::size_t at = sets.element(set, i);
        const std::size_t c = sets.column(set, i);
        y[at] = of.normalized(x[at]) * gamma[c] + beta[c];
      }
    }
  }

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
        const set_statistics<T> of = statistics_of(sets, set, x, epsilon);
        mean[set] = of.mean();
        variance[set] = of.variance();
        inverse = of.inverse_deviation();
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

  static set_statistics<T> statistics_of(const normalized_sets& sets, std::size_t set, const T* x,
                                         double epsilon) {
    return {sets.length(), [&](std::size_t i) { return x[sets.element(set, i)]; }, epsilon, true};
  }

  /// Computes the mean, its rounding error and the variance of each set. It computes statistics of
  /// chunks, which stay in a cache, and combines them.
  template <class Loops, class ForTasks>
  static void statistics(const Loops& loops, const normalized_sets& sets, const strips& cut,
                         const rooms& room, const ForTasks& for_tasks, const T* x, T* mean, T* rest,
                         T* variance) {
    const std::size_t columns = sets.columns;
    T* const shift = room.column(0);
    for (std::size_t set = 0; set < sets.per_sample; ++set) {
      std::fill_n(shift + set * sets.run, sets.run, x[set * sets.run]);
    }
    cut.repeat(shift);
    for_tasks([&](auto by, const auto& task) {
      T* const means = room.strip(task, 0);
      T* const off = room.strip(task, 1);
      T* const squares = room.strip(task, 2);
      const auto count = static_cast<T>(task.rows);
      task.for_runs([&](std::size_t at, std::size_t column, std::size_t width, std::size_t step,
                        std::size_t strips_of_it) {
        by.add_shifted(x + at, step, strips_of_it, shift + column, means, width);
      });
      task.fold(by, means);
      by.end_means(shift + task.column, count, means, task.columns);
      task.repeat(means);
      task.for_runs([&](std::size_t at, std::size_t, std::size_t width, std::size_t step,
                        std::size_t strips_of_it) {
        by.add_moments(x + at, step, strips_of_it, means, off, squares, width);
      });
      task.fold(by, off);
      task.fold(by, squares);
      std::copy_n(means, task.columns, room.chunk(task.chunk, 0) + task.column);
      by.end_moments(off, squares, count, room.chunk(task.chunk, 1) + task.column,
                     room.chunk(task.chunk, 2) + task.column, task.columns);
    });
    // From here on, distances are relative to the mean of a set's first chunk.
    std::copy_n(room.chunk(0, 0), columns, shift);
    for (std::size_t set = 0; sets.run > 1 && set < sets.per_sample; ++set) {
      const T* const means = room.chunk(0, 0) + set * sets.run;
      const T apart = loops.sum_apart(means, means[0], sets.run) / static_cast<T>(sets.run);
      std::fill_n(shift + set * sets.run, sets.run, means[0] + apart);
    }
    T* const total = room.column(1);
    T* const lost = room.column(2);
    T* const distance = room.column(3);
    const auto length = static_cast<T>(sets.length());
    std::fill_n(total, columns, T{0});
    std::fill_n(lost, columns, T{0});
    for (std::size_t chunk = 0; chunk < cut.chunks(); ++chunk) {
      const auto count = static_cast<T>(cut.rows_of(chunk));
      T* const of_chunk = room.chunk(chunk, 0);
      loops.distances(of_chunk, room.chunk(chunk, 1), shift, count, of_chunk, columns);
      loops.add_compensated(of_chunk, total, lost, columns);
    }
    loops.end_compensated(total, lost, columns);
    if (sets.run == 1) {
      loops.means_of(total, shift, length, distance, mean, rest, columns);
    }
    for (std::size_t set = 0; sets.run > 1 && set < sets.per_sample; ++set) {
      const std::size_t first = set * sets.run;
      const T apart = loops.sum(total + first, sets.run) / length;
      mean[set] = shift[first] + apart;
      rest[set] = apart - (mean[set] - shift[first]);
      std::fill_n(distance + first, sets.run, apart);
    }
    std::fill_n(total, columns, T{0});
    std::fill_n(lost, columns, T{0});
    for (std::size_t chunk = 0; chunk < cut.chunks(); ++chunk) {
      const auto count = static_cast<T>(cut.rows_of(chunk));
      T* const of_chunk = room.chunk(chunk, 2);
      loops.spreads(room.chunk(chunk, 0), distance, of_chunk, count, of_chunk, columns);
      loops.add_compensated(of_chunk, total, lost, columns);
    }
    loops.end_compensated(total, lost, columns);
    if (sets.run == 1) {
      loops.quotients(total, length, variance, columns);
    }
    for (std::size_t set = 0; sets.run > 1 && set < sets.per_sample; ++set) {
      variance[set] = loops.sum(total + set * sets.run, sets.run) / length;
    }
  }

  // The reference backend's loops explain the formula.
  template <class Loops, class ForTasks>
  static void gradient_of_columns(const Loops& loops, double epsilon, const normalized_sets& sets,
                                  const strips& cut, T* memory, const ForTasks& for_tasks,
                                  const T* dy, const T* x, const T* gamma, const T* mean,
                                  const T* variance, T* dx, T* dgamma, T* dbeta) {
    const rooms room(memory, cut, sets.columns, 3);
    T* const means = room.column(0);
    T* const off = room.column(1);
    for (std::size_t set = 0; set < sets.per_sample; ++set) {
      std::fill_n(means + set * sets.run, sets.run, mean[set]);
    }
    cut.repeat(means);
    gradient_sums(loops, sets.columns, cut, room, for_tasks, dy, x, dgamma, dbeta, off);
    // dx = inverse (q - mean(q) - h mean(q h)), q = gamma dy, h = (x - mean - rest) inverse
    T* const scales = room.column(2);
    T* const constants = room.column(3);
    T* const slopes = room.column(4);
    const auto length = static_cast<T>(sets.length());
    const bool single = sets.run == 1;
    const bool usual = (single && loops.gradient_factors(
                                      mean, off, variance, static_cast<T>(epsilon), length, gamma,
                                      dbeta, dgamma, scales, constants, slopes, sets.columns)) ||
                       gradient_factors_of_sets(loops, epsilon, sets, mean, off, variance, gamma,
                                                dbeta, dgamma, scales, constants, slopes);
    for (T* const each : {scales, constants, slopes}) {
      cut.repeat(each);
    }
    for_tasks([&](auto by, const auto& task) {
      task.for_each([&](std::size_t at, std::size_t column, std::size_t count) {
        if (single) {
          by.normalized_gradient(dy + at, x + at, means + column, constants + column,
                                 slopes + column, scales + column, dx + at, count);
        } else {
          by.grouped_gradient(dy + at, x + at, means + column, constants + column, slopes + column,
                              scales + column, dx + at, count);
        }
      });
    });
    for (std::size_t set = 0; !usual && set < sets.per_sample; ++set) {
      if (!is_usual_variance(variance[set] + static_cast<T>(epsilon))) {
        gradient_of_set(sets, set, statistics_of(sets, set, x, epsilon), dy, x, gamma, dx, dgamma);
      }
    }
  }

  /// Computes the same as loops.gradient_factors for sets of any number of columns. For sets of
  /// several columns, dx = scale dy - constant - (x - mean) slope.
  template <class Loops>
  static bool gradient_factors_of_sets(const Loops& loops, double epsilon,
                                       const normalized_sets& sets, const T* mean, const T* off,
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
      const T rest = rest_of_mean(mean[set], sum_of_run(loops, off + first, sets.run) / length);
      compensated_sum<T> q_sum;
      compensated_sum<T> qh_sum;
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
                              const set_statistics<T>& of, const T* dy, const T* x, const T* gamma,
                              T* dx, T* dgamma) {
    compensated_sum<T> q_sum;
    compensated_sum<T> qh_sum;
    for (std::size_t j = 0; j < sets.run; ++j) {
      compensated_sum<T> gh_sum;
      for (std::size_t i = j; i < sets.length(); i += sets.run) {
        const std::size_t at = sets.element(set, i);
        const T h = of.normalized(x[at]);
        gh_sum.add(dy[at] * h);
        q_sum.add(gamma[sets.column(set, i)] * dy[at]);
        qh_sum.add(gamma[sets.column(set, i)] * dy[at] * h);
      }
      dgamma[sets.column(set, j)] = gh_sum.value();
    }
    const auto length = static_cast<T>(sets.length());
    const T mean_q = q_sum.value() / length;
    const T mean_qh = qh_sum.value() / length;
    for (std::size_t i = 0; i < sets.length(); ++i) {
      const std::size_t at = sets.element(set, i);
      dx[at] = of.inverse_deviation() *
               (gamma[sets.column(set, i)] * dy[at] - mean_q - of.normalized(x[at]) * mean_qh);
    }
  }

  /// Computes sum dy (x - mean), sum dy and sum (x - mean) of each column.
  template <class Loops, class ForTasks>
  static void gradient_sums(const Loops& loops, std::size_t columns, const strips& cut,
                            const rooms& room, const ForTasks& for_tasks, const T* dy, const T* x,
                            T* products, T* sums, T* off) {
    const T* const means = room.column(0);
    for_tasks([&](auto by, const auto& task) {
      T* const mine[] = {room.strip(task, 0), room.strip(task, 1), room.strip(task, 2)};
      task.for_runs([&](std::size_t at, std::size_t column, std::size_t width, std::size_t step,
                        std::size_t strips_of_it) {
        by.add_gradient_moments(dy + at, x + at, step, strips_of_it, means + column, mine[0],
                                mine[1], mine[2], width);
      });
      for (std::size_t i = 0; i < 3; ++i) {
        task.fold(by, mine[i]);
        std::copy_n(mine[i], task.columns, room.chunk(task.chunk, i) + task.column);
      }
    });
    T* const totals[] = {products, sums, off};
    T* const lost = room.column(2);
    for (std::size_t i = 0; i < 3; ++i) {
      std::fill_n(totals[i], columns, T{0});
      std::fill_n(lost, columns, T{0});
      for (std::size_t chunk = 0; chunk < cut.chunks(); ++chunk) {
        loops.add_compensated(room.chunk(chunk, i), totals[i], lost, columns);
      }
      loops.end_compensated(totals[i], lost, columns);
    }
  }

  void normalize_rows(const kernels::normalize& k, const normalized_sets& sets, const T* x,
                      const T* gamma, const T* beta, T* y, T* mean, T* variance) const {
    const std::size_t columns = sets.columns;
    const bool centered = k.kind == normalization::layer;
    const auto length = static_cast<T>(columns);
    team_->for_rows(sets.samples, columns, [&](auto loops, std::size_t first, std::size_t count) {
      for (std::size_t r = first; r < first + count; ++r) {
        const T* const from = x + r * columns;
        T* const to = y + r * columns;
        const T middle =
            centered ? from[0] + loops.sum_apart(from, from[0], columns) / length : T{0};
        T sums[2];
        loops.sum_moments(from, middle, columns, sums);
        const T off = centered ? sums[0] / length : T{0};
        const T squares = sums[1] / length;
        mean[r] = middle + off;
        variance[r] = std::max(squares - off * off, T{0});
        const T widened = variance[r] + static_cast<T>(k.epsilon);
        if (is_usual_variance(widened) && std::isfinite(mean[r])) {
          loops.normalize_row(from, middle, off, T{1} / std::sqrt(widened), gamma, beta, to,
                              columns);
          continue;
        }
        const set_statistics<T> of(
            columns, [&](std::size_t i) { return from[i]; }, k.epsilon, centered);
        mean[r] = of.mean();
        variance[r] = of.variance();
        for (std::size_t c = 0; c < columns; ++c) {
          to[c] = of.normalized(from[c]) * gamma[c] + beta[c];
        }
      }
    });
  }

  void gradient_of_rows(const kernels::normalize_gradient& k, const normalized_sets& sets,
                        const T* dy, const T* x, const T* gamma, const T* mean, const T* variance,
                        T* dx, T* dgamma, T* dbeta, const memory_pool& memory) const {
    const std::size_t rows = sets.samples;
    const std::size_t columns = sets.columns;
    const bool centered = k.kind == normalization::layer;
    const auto length = static_cast<T>(columns);
    const host_tensor<T> normalized(memory, {team_->threads(), columns});
    const host_tensor<T> sums(memory, {2, columns});
    sum_over_lanes(
        *team_, team_->level(), memory, rows, 2 * columns, sums.data(),
        [](std::size_t some) { return some; },
        [&](auto loops, std::size_t first, std::size_t count, auto& lane, std::size_t thread) {
          T* const h = normalized.data() + thread * columns;
          for (std::size_t r = first; r < first + count; ++r) {
            const T* const from = x + r * columns;
            const T* const g = dy + r * columns;
            T* const to = dx + r * columns;
            const T widened = variance[r] + static_cast<T>(k.epsilon);
            T inverse = T{1} / std::sqrt(widened);
            T* const of_gamma = lane.data();
            T* const of_beta = of_gamma + columns;
            if (is_usual_variance(widened)) {
              // If the mean is smaller than the deviation, its error is less than a rounding.
              const bool is_far = centered && std::abs(mean[r]) * inverse > 1;
              const T rest =
                  is_far ? rest_of_mean(mean[r], loops.sum_apart(from, mean[r], columns) / length)
                         : T{0};
              loops.start_row_gradient(g, from, mean[r], rest, inverse, gamma, h, of_gamma, of_beta,
                                       to, columns);
            } else {
              const set_statistics<T> of(
                  columns, [&](std::size_t i) { return from[i]; }, k.epsilon, centered);
              inverse = of.inverse_deviation();
              for (std::size_t c = 0; c < columns; ++c) {
                h[c] = of.normalized(from[c]);
              }
              loops.start_row_gradient(g, h, T{0}, T{0}, T{1}, gamma, h, of_gamma, of_beta, to,
                                       columns);
            }
            lane.added(1);
            T sums_of_q[2];
            loops.sum_and_dot(to, h, columns, sums_of_q);
            loops.end_row_gradient(h, inverse, centered ? sums_of_q[0] / length : T{0},
                                   sums_of_q[1] / length, to, columns);
          }
        });
    std::copy_n(sums.data(), columns, dgamma);
    std::copy_n(sums.data() + columns, columns, dbeta);
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops

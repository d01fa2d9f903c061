#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/normalization/column_strips.hpp"
#include "glia/backends/set_statistics.hpp"
#include "glia/kernels/normalization.hpp"

namespace glia::cpu_loops {

/// Memory for the columns of a sample: three sums per chunk and column, three sums per thread and
/// column of a strip, and five numbers per column of a strip.
template <class T>
class column_memory {
 public:
  column_memory(T* memory, const column_strips<T>& cut, std::size_t columns)
      : columns_(memory),
        chunks_(memory + column_numbers * cut.width()),
        threads_(chunks_ + sums * cut.chunks() * columns),
        width_(cut.width()),
        chunk_width_(columns) {}

  /// Returns the number of elements of this memory.
  [[nodiscard]] static std::size_t size(const column_strips<T>& cut, std::size_t columns,
                                        std::size_t threads) {
    return sums * (cut.chunks() * columns + threads * cut.width()) + column_numbers * cut.width();
  }

  /// Returns number i of each column. Memory for its repetitions follows.
  [[nodiscard]] T* column(std::size_t i) const { return columns_ + i * width_; }
  /// Returns result i of a chunk.
  [[nodiscard]] T* chunk(std::size_t chunk, std::size_t i) const {
    return chunks_ + (chunk * sums + i) * chunk_width_;
  }
  /// Returns a sum of a thread's strip, initialized with 0.
  template <class Task>
  [[nodiscard]] T* strip(const Task& task, std::size_t i) const {
    T* const sum = threads_ + (task.thread * sums + i) * width_ + task.column;
    std::fill_n(sum, task.width, T{0});
    return sum;
  }

 private:
  static constexpr std::size_t sums = 3;
  static constexpr std::size_t column_numbers = 5;

  T* columns_;
  T* chunks_;
  T* threads_;
  std::size_t width_;
  std::size_t chunk_width_;
};

/// The statistics of sets of columns.
template <class T>
struct column_statistics {
  using strips = column_strips<T>;

  static set_statistics<T> of_set(const normalized_sets& sets, std::size_t set, const T* x,
                                  double epsilon) {
    return {sets.length(), [&](std::size_t i) { return x[sets.element(set, i)]; }, epsilon, true};
  }

  /// Computes the mean, its rounding error and the variance of each set. It computes statistics of
  /// chunks, which stay in a cache, and combines them.
  template <class Loops, class ForTasks>
  static void compute(const Loops& loops, const normalized_sets& sets, const strips& cut,
                      const column_memory<T>& memory, const ForTasks& for_tasks, const T* x,
                      T* mean, T* rest, T* variance) {
    const std::size_t columns = sets.columns;
    T* const shift = memory.column(0);
    for (std::size_t set = 0; set < sets.per_sample; ++set) {
      std::fill_n(shift + set * sets.run, sets.run, x[set * sets.run]);
    }
    cut.repeat(shift);
    for_tasks([&](auto task_loops, const auto& task) {
      T* const means = memory.strip(task, 0);
      T* const offsets = memory.strip(task, 1);
      T* const squares = memory.strip(task, 2);
      const auto count = static_cast<T>(task.rows);
      task.for_runs([&](std::size_t start, std::size_t column, std::size_t width, std::size_t step,
                        std::size_t strips_of_it) {
        task_loops.add_shifted(x + start, step, strips_of_it, shift + column, means, width);
      });
      task.fold(task_loops, means);
      task_loops.end_means(shift + task.column, count, means, task.columns);
      task.repeat(means);
      task.for_runs([&](std::size_t start, std::size_t, std::size_t width, std::size_t step,
                        std::size_t strips_of_it) {
        task_loops.add_moments(x + start, step, strips_of_it, means, offsets, squares, width);
      });
      task.fold(task_loops, offsets);
      task.fold(task_loops, squares);
      std::copy_n(means, task.columns, memory.chunk(task.chunk, 0) + task.column);
      task_loops.end_moments(offsets, squares, count, memory.chunk(task.chunk, 1) + task.column,
                             memory.chunk(task.chunk, 2) + task.column, task.columns);
    });
    // From here on, distances are relative to the mean of a set's first chunk.
    std::copy_n(memory.chunk(0, 0), columns, shift);
    for (std::size_t set = 0; sets.run > 1 && set < sets.per_sample; ++set) {
      const T* const means = memory.chunk(0, 0) + set * sets.run;
      const T apart = loops.sum_apart(means, means[0], sets.run) / static_cast<T>(sets.run);
      std::fill_n(shift + set * sets.run, sets.run, means[0] + apart);
    }
    T* const total = memory.column(1);
    T* const lost = memory.column(2);
    T* const distance = memory.column(3);
    const auto length = static_cast<T>(sets.length());
    std::fill_n(total, columns, T{0});
    std::fill_n(lost, columns, T{0});
    for (std::size_t chunk = 0; chunk < cut.chunks(); ++chunk) {
      const auto count = static_cast<T>(cut.rows_of(chunk));
      T* const of_chunk = memory.chunk(chunk, 0);
      loops.distances(of_chunk, memory.chunk(chunk, 1), shift, count, of_chunk, columns);
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
      T* const of_chunk = memory.chunk(chunk, 2);
      loops.spreads(memory.chunk(chunk, 0), distance, of_chunk, count, of_chunk, columns);
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
};

}  // namespace glia::cpu_loops

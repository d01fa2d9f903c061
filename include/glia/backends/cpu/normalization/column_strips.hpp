#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/threads/workers.hpp"

namespace glia::cpu_loops {

/// Divides a matrix for operations that treat every column in the same way. Rows are divided into
/// chunks, and if there are many columns, a chunk is divided into blocks of columns. A loop
/// processes one strip: some columns of one row, or several whole rows if rows are short. If a
/// strip has several rows, values that belong to columns, such as a bias, are repeated for each of
/// these rows.
///
/// The division depends only on the extents.
template <class T>
class column_strips {
 public:
  /// A block of columns in a chunk of rows.
  struct task {
    const column_strips& strips;
    std::size_t thread, chunk;
    std::size_t first_row, rows;
    std::size_t column, columns;
    std::size_t width;  ///< Width of a strip, in elements.

    /// Calls f(start, first column, length) for every strip.
    template <class F>
    void for_each(const F& f) const {
      if (columns == strips.columns_) {
        const std::size_t end = (first_row + rows) * columns;
        for (std::size_t start = first_row * columns; start < end; start += width) {
          f(start, std::size_t{0}, std::min(width, end - start));
        }
        return;
      }
      for (std::size_t row = first_row; row < first_row + rows; ++row) {
        f(row * strips.columns_ + column, column, columns);
      }
    }
    /// Calls f(start, first column, length, distance to the next strip, number of strips), once for
    /// all strips of full length and once for a shorter last strip.
    template <class F>
    void for_runs(const F& f) const {
      const std::size_t step = columns == strips.columns_ ? width : strips.columns_;
      const std::size_t start = first_row * strips.columns_ + column;
      const std::size_t whole = columns == strips.columns_ ? rows * columns / width : rows;
      f(start, column, width, step, whole);
      if (const std::size_t rest = (rows * columns) % width;
          columns == strips.columns_ && rest > 0) {
        f(start + whole * step, column, rest, step, std::size_t{1});
      }
    }
    /// Adds up the rows of sums in a strip, by halves. The result is in the first row.
    template <class Loops>
    void fold(const Loops& loops, T* sums) const {
      for (std::size_t count = width / columns; count > 1;) {
        const std::size_t half = (count + 1) / 2;
        loops.add(sums + half * columns, sums, (count - half) * columns);
        count = half;
      }
    }
    void repeat(T* values) const { strips.repeat(values, columns, width); }
  };

  column_strips(std::size_t rows, std::size_t columns)
      : rows_(rows),
        columns_(columns),
        block_(columns <= most_columns ? columns : most_columns / 2),
        repeats_(std::max<std::size_t>(1, std::min(rows, least_width / columns))),
        chunk_(std::max(least_rows, chunk_bytes / sizeof(T) / block_)) {}

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  /// Returns the length of a strip over all columns, including repetitions.
  [[nodiscard]] std::size_t width() const { return repeats_ * columns_; }
  [[nodiscard]] std::size_t chunks() const { return (rows_ + chunk_ - 1) / chunk_; }
  [[nodiscard]] std::size_t first_row(std::size_t chunk) const { return chunk * chunk_; }
  [[nodiscard]] std::size_t rows_of(std::size_t chunk) const {
    return std::min(chunk_, rows_ - first_row(chunk));
  }
  /// Repeats values, one for each column, up to the width of a strip.
  void repeat(T* values) const { repeat(values, columns_, width()); }

  [[nodiscard]] std::size_t tasks() const { return chunks() * blocks(); }
  [[nodiscard]] task task_of(std::size_t i, std::size_t thread) const {
    const std::size_t chunk = i / blocks();
    const std::size_t column = i % blocks() * block_;
    const std::size_t columns = std::min(block_, columns_ - column);
    return {*this,          thread, chunk,   first_row(chunk),
            rows_of(chunk), column, columns, columns * repeats_};
  }

 private:
  [[nodiscard]] std::size_t blocks() const { return (columns_ + block_ - 1) / block_; }

  static void repeat(T* values, std::size_t columns, std::size_t width) {
    for (std::size_t start = columns; start < width; start += columns) {
      std::copy_n(values, columns, values + start);
    }
  }

  // Minimum number of elements in a strip. The calls would dominate the time of shorter strips.
  static constexpr std::size_t least_width = 256;
  static constexpr std::size_t most_columns = 1024;
  // Size of a chunk. Data that is read twice stays in a second-level cache.
  static constexpr std::size_t chunk_bytes = 128 << 10;
  // Minimum number of rows in a chunk. Separate sums for fewer rows are not worth their cost.
  static constexpr std::size_t least_rows = 64;

  std::size_t rows_, columns_, block_, repeats_, chunk_;
};

}  // namespace glia::cpu_loops

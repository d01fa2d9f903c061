#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/workers.hpp"

namespace glia::cpu_loops {

/// How rows of columns are cut for what is done to each column alike: into chunks of rows, and of
/// many columns into blocks. A loop runs over a strip: some of a row's columns, or several whole
/// rows where these are short, for which what belongs to the columns is repeated.
///
/// The cuts depend on the extents alone.
template <class T>
class column_strips {
 public:
  /// A block of columns of a chunk.
  struct task {
    const column_strips& all;
    std::size_t thread, chunk;
    std::size_t first_row, rows;
    std::size_t column, columns;
    std::size_t width;  ///< of a strip, in elements

    /// f(where it begins, its first column, how long it is) for all strips.
    template <class F>
    void for_each(const F& f) const {
      if (columns == all.columns_) {
        const std::size_t end = (first_row + rows) * columns;
        for (std::size_t at = first_row * columns; at < end; at += width) {
          f(at, std::size_t{0}, std::min(width, end - at));
        }
        return;
      }
      for (std::size_t row = first_row; row < first_row + rows; ++row) {
        f(row * all.columns_ + column, column, columns);
      }
    }
    /// f(where it begins, its first column, how long it is, distance to the next one, strips) for
    /// strips of one length, of which there are many, and the last one.
    template <class F>
    void for_runs(const F& f) const {
      const std::size_t step = columns == all.columns_ ? width : all.columns_;
      const std::size_t at = first_row * all.columns_ + column;
      const std::size_t whole = columns == all.columns_ ? rows * columns / width : rows;
      f(at, column, width, step, whole);
      if (const std::size_t rest = (rows * columns) % width; columns == all.columns_ && rest > 0) {
        f(at + whole * step, column, rest, step, std::size_t{1});
      }
    }
    /// Adds up what was summed of the rows of a strip, halves of it.
    template <class Loops>
    void fold(const Loops& loops, T* sums) const {
      for (std::size_t count = width / columns; count > 1;) {
        const std::size_t half = (count + 1) / 2;
        loops.add(sums + half * columns, sums, (count - half) * columns);
        count = half;
      }
    }
    void repeat(T* values) const { all.repeat(values, columns, width); }
  };

  column_strips(std::size_t rows, std::size_t columns)
      : rows_(rows),
        columns_(columns),
        block_(columns <= most_columns ? columns : most_columns / 2),
        repeats_(std::max<std::size_t>(1, std::min(rows, least_width / columns))),
        chunk_(std::max(least_rows, chunk_bytes / sizeof(T) / block_)) {}

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  /// Of all columns, repeated.
  [[nodiscard]] std::size_t width() const { return repeats_ * columns_; }
  [[nodiscard]] std::size_t chunks() const { return (rows_ + chunk_ - 1) / chunk_; }
  [[nodiscard]] std::size_t first_row(std::size_t chunk) const { return chunk * chunk_; }
  [[nodiscard]] std::size_t rows_of(std::size_t chunk) const {
    return std::min(chunk_, rows_ - first_row(chunk));
  }
  /// Fills what belongs to the columns up to the width of a strip.
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
    for (std::size_t at = columns; at < width; at += columns) {
      std::copy_n(values, columns, values + at);
    }
  }

  // Shorter strips spend their time on calls.
  static constexpr std::size_t least_width = 256;
  static constexpr std::size_t most_columns = 1024;
  // What is read twice stays in a second-level cache.
  static constexpr std::size_t chunk_bytes = 128 << 10;
  // Fewer are not worth sums of their own.
  static constexpr std::size_t least_rows = 64;

  std::size_t rows_, columns_, block_, repeats_, chunk_;
};

}  // namespace glia::cpu_loops

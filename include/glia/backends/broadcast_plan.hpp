#pragma once

#include <array>
#include <cstddef>

#include "glia/core/shape.hpp"

namespace glia {

/// The loops of an element-wise operation over two broadcast operands, reduced to the fewest: axes
/// along which both operands behave alike are merged, so that the common cases (equal shapes, a row
/// for every row, a number for every row) become one or two loops.
///
/// The innermost step of each operand is 1 or 0 (repeated).
class broadcast_plan {
 public:
  broadcast_plan(const shape& result, const shape& a, const shape& b) {
    std::array<std::size_t, shape::max_rank> extent{};
    std::array<std::size_t, shape::max_rank> step_a{};
    std::array<std::size_t, shape::max_rank> step_b{};
    std::size_t loops = 0;
    std::size_t size_a = 1;
    std::size_t size_b = 1;
    for (std::size_t back = 1; back <= result.rank(); ++back) {
      const std::size_t n = result[result.rank() - back];
      const std::size_t from_a = back <= a.rank() ? a[a.rank() - back] : 1;
      const std::size_t from_b = back <= b.rank() ? b[b.rank() - back] : 1;
      const std::size_t sa = from_a == 1 ? 0 : size_a;
      const std::size_t sb = from_b == 1 ? 0 : size_b;
      size_a *= from_a;
      size_b *= from_b;
      if (n == 1) {
        continue;
      }
      if (loops > 0 && sa == step_a[loops - 1] * extent[loops - 1] &&
          sb == step_b[loops - 1] * extent[loops - 1]) {
        extent[loops - 1] *= n;
      } else {
        extent[loops] = n;
        step_a[loops] = sa;
        step_b[loops] = sb;
        ++loops;
      }
    }
    if (loops == 0) {
      extent[0] = 1;
      loops = 1;
    }
    inner_ = extent[0];
    inner_step_a_ = step_a[0];
    inner_step_b_ = step_b[0];
    rows_ = inner_ == 0 ? 0 : result.size() / inner_;
    extent_ = extent;
    step_a_ = step_a;
    step_b_ = step_b;
    loops_ = loops;
  }

  /// How often the innermost loop runs, and its length and steps.
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t inner() const noexcept { return inner_; }
  [[nodiscard]] std::size_t inner_step_a() const noexcept { return inner_step_a_; }
  [[nodiscard]] std::size_t inner_step_b() const noexcept { return inner_step_b_; }

  /// Where row `row` of the result begins in a and in b.
  struct offsets {
    std::size_t a = 0;
    std::size_t b = 0;
  };
  [[nodiscard]] offsets row_offsets(std::size_t row) const noexcept {
    offsets result;
    for (std::size_t loop = 1; loop < loops_; ++loop) {
      const std::size_t i = row % extent_[loop];
      row /= extent_[loop];
      result.a += i * step_a_[loop];
      result.b += i * step_b_[loop];
    }
    return result;
  }

 private:
  std::array<std::size_t, shape::max_rank> extent_{};
  std::array<std::size_t, shape::max_rank> step_a_{};
  std::array<std::size_t, shape::max_rank> step_b_{};
  std::size_t loops_ = 0;
  std::size_t rows_ = 1;
  std::size_t inner_ = 1;
  std::size_t inner_step_a_ = 0;
  std::size_t inner_step_b_ = 0;
};

}  // namespace glia

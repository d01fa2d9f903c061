#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "glia/core/shape.hpp"

namespace glia {

/// The loops of an element-wise operation over broadcast operands, reduced to the fewest: axes
/// along which all operands behave alike are merged, so that the common cases (equal shapes, a row
/// for every row, a number for every row) become one or two loops.
///
/// The innermost step of each operand is 1 or 0 (repeated).
template <std::size_t Operands>
class broadcast_plan {
 public:
  /// One number for each operand.
  using steps = std::array<std::size_t, Operands>;

  template <class... Shapes>
  explicit broadcast_plan(const shape& result, const Shapes&... shapes) {
    static_assert(sizeof...(Shapes) == Operands, "a shape for each operand");
    const std::array<const shape*, Operands> operands{&shapes...};
    steps sizes{};
    sizes.fill(1);
    for (std::size_t back = 1; back <= result.rank(); ++back) {
      const std::size_t n = result[result.rank() - back];
      steps step{};
      for (std::size_t i = 0; i < Operands; ++i) {
        const shape& s = *operands[i];
        const std::size_t extent = back <= s.rank() ? s[s.rank() - back] : 1;
        step[i] = extent == 1 ? 0 : sizes[i];
        sizes[i] *= extent;
      }
      if (n == 1) {
        continue;
      }
      if (count_ > 0 && continues(loops_[count_ - 1], step)) {
        loops_[count_ - 1].extent *= n;
      } else {
        loops_[count_++] = {n, step};
      }
    }
    count_ = std::max<std::size_t>(count_, 1);
    rows_ = inner() == 0 ? 0 : result.size() / inner();
  }

  /// How often the innermost loop runs, its length, and an operand's step in it.
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t inner() const noexcept { return loops_[0].extent; }
  [[nodiscard]] std::size_t inner_step(std::size_t operand) const noexcept {
    return loops_[0].step[operand];
  }

  /// Where row `row` of the result begins in each operand.
  [[nodiscard]] steps row_offsets(std::size_t row) const noexcept {
    steps offsets{};
    for (std::size_t l = 1; l < count_; ++l) {
      const std::size_t at = row % loops_[l].extent;
      row /= loops_[l].extent;
      for (std::size_t i = 0; i < Operands; ++i) {
        offsets[i] += at * loops_[l].step[i];
      }
    }
    return offsets;
  }

 private:
  struct loop {
    std::size_t extent = 1;
    steps step{};
  };

  /// Whether steps are what an axis around `inner` has that goes on where that ends.
  static bool continues(const loop& inner, const steps& step) {
    for (std::size_t i = 0; i < Operands; ++i) {
      if (step[i] != inner.step[i] * inner.extent) {
        return false;
      }
    }
    return true;
  }

  std::array<loop, shape::max_rank> loops_{};  // innermost first
  std::size_t count_ = 0;
  std::size_t rows_ = 1;
};

template <class... Shapes>
broadcast_plan(const shape& result, const Shapes&... shapes) -> broadcast_plan<sizeof...(Shapes)>;

}  // namespace glia

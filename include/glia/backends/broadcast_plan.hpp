#pragma once

#include <array>
#include <cstddef>

#include "glia/backends/merged_loops.hpp"
#include "glia/core/shape.hpp"

namespace glia::detail {

/// The loops of an element-wise operation over broadcast operands. The common cases (equal shapes,
/// one row for all rows, one number for each row) become one or two loops.
///
/// In the innermost loop, the step of an operand is 1, or 0 if the operand is repeated.
template <std::size_t Operands>
class broadcast_plan {
 public:
  /// One step or offset for each operand, in elements.
  using steps = typename merged_loops<Operands>::steps;

  template <class... Shapes>
  explicit broadcast_plan(const shape& result, const Shapes&... shapes) {
    static_assert(sizeof...(Shapes) == Operands, "a shape for each operand");
    const std::array<const shape*, Operands> operands{&shapes...};
    steps sizes{};
    sizes.fill(1);
    for (std::size_t axis_from_end = 1; axis_from_end <= result.rank(); ++axis_from_end) {
      steps step{};
      for (std::size_t i = 0; i < Operands; ++i) {
        const shape& s = *operands[i];
        const std::size_t extent = axis_from_end <= s.rank() ? s[s.rank() - axis_from_end] : 1;
        step[i] = extent == 1 ? 0 : sizes[i];
        sizes[i] *= extent;
      }
      loops_.enclose(result[result.rank() - axis_from_end], step);
    }
    rows_ = inner() == 0 ? 0 : result.size() / inner();
  }

  /// Return how often the innermost loop runs, its length, and the step of an operand in it.
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t inner() const noexcept { return loops_.inner().extent; }
  [[nodiscard]] std::size_t inner_step(std::size_t operand) const noexcept {
    return loops_.inner().step[operand];
  }

  /// Returns the offset in each operand of the elements for row `row` of the result.
  [[nodiscard]] steps row_offsets(std::size_t row) const noexcept { return loops_.offsets(row); }

 private:
  merged_loops<Operands> loops_;
  std::size_t rows_ = 1;
};

template <class... Shapes>
broadcast_plan(const shape& result, const Shapes&... shapes) -> broadcast_plan<sizeof...(Shapes)>;

}  // namespace glia::detail

#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "glia/core/shape.hpp"

namespace glia::detail {

/// Nested loops over the elements of several tensors, with as few loops as possible. Two adjacent
/// axes are merged if, in every tensor, a step along the outer axis leads to the element after the
/// last one of the inner axis.
template <std::size_t Tensors>
class merged_loops {
 public:
  /// One step or offset for each tensor, in elements.
  using steps = std::array<std::size_t, Tensors>;

  struct loop {
    std::size_t extent = 1;
    steps step{};
  };

  /// Adds a loop around the existing ones.
  void enclose(std::size_t extent, const steps& step) {
    if (extent == 1) {
      return;
    }
    if (count_ > 0 && goes_on(loops_[count_ - 1], step)) {
      loops_[count_ - 1].extent *= extent;
    } else {
      loops_[count_++] = {extent, step};
    }
  }

  /// Returns the innermost loop. If no loop exists, its extent is 1.
  [[nodiscard]] const loop& inner() const noexcept { return loops_[0]; }

  /// Removes and returns the innermost loop in which a tensor's step is 1.
  [[nodiscard]] loop take_contiguous(std::size_t tensor) {
    std::size_t index = 0;
    while (loops_[index].step[tensor] != 1) {
      ++index;
    }
    const loop removed = loops_[index];
    for (--count_; index < count_; ++index) {
      loops_[index] = loops_[index + 1];
    }
    return removed;
  }

  /// Returns the offset of each tensor for the `run`-th run of the innermost loop.
  [[nodiscard]] steps offsets(std::size_t run) const noexcept {
    steps result{};
    for (std::size_t l = 1; l < count_; ++l) {
      const std::size_t position = run % loops_[l].extent;
      run /= loops_[l].extent;
      for (std::size_t i = 0; i < Tensors; ++i) {
        result[i] += position * loops_[l].step[i];
      }
    }
    return result;
  }

 private:
  static bool goes_on(const loop& inside, const steps& step) {
    for (std::size_t i = 0; i < Tensors; ++i) {
      if (step[i] != inside.step[i] * inside.extent) {
        return false;
      }
    }
    return true;
  }

  std::array<loop, shape::max_rank> loops_{};  // innermost loop first
  std::size_t count_ = 0;
};

}  // namespace glia::detail

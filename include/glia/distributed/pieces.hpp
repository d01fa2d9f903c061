#pragma once

#include <cstddef>
#include <vector>

#include "glia/core/pieces.hpp"

namespace glia {

namespace detail {

/// The sum over pieces first ... first + 2^level - 1 of a batch, where first is a multiple of
/// 2^level. It is a node of the tree along which the pieces are added. The tree does not depend on
/// the ranks that compute the pieces.
struct partial_sum {
  std::size_t first = 0;
  std::size_t level = 0;

  /// Returns whether this sum and the sum `right` form a sum of the next level.
  [[nodiscard]] bool joins(const partial_sum& right) const noexcept {
    return level == right.level && first % (std::size_t{2} << level) == 0 &&
           right.first == first + (std::size_t{1} << level);
  }
};

/// The order of the additions if a range of pieces is added along the tree, one piece after the
/// other. A sum waits on a stack until its neighbor in the tree is computed.
class piece_stack {
 public:
  /// The result of `add`.
  struct arrival {
    std::size_t depth;  ///< Position of the piece on the stack.
    std::size_t joins;  ///< Number of times that the top sum is then added to the sum below it.
  };

  arrival add(partial_sum sum) {
    arrival result{sums_.size(), 0};
    sums_.push_back(sum);
    while (sums_.size() > 1 && sums_[sums_.size() - 2].joins(sums_.back())) {
      sums_.pop_back();
      ++sums_.back().level;
      ++result.joins;
    }
    return result;
  }
  [[nodiscard]] const std::vector<partial_sum>& sums() const noexcept { return sums_; }

 private:
  std::vector<partial_sum> sums_;
};

}  // namespace detail

/// Returns the sums that remain after the pieces of one rank have been added. They are then added
/// to the sums of the other ranks.
[[nodiscard]] inline std::vector<detail::partial_sum> sums_of(const index_range& pieces) {
  detail::piece_stack stack;
  for (std::size_t piece = pieces.first; piece < pieces.end; ++piece) {
    (void)stack.add({piece, 0});
  }
  return stack.sums();
}

}  // namespace glia

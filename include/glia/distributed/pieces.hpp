#pragma once

#include <cstddef>
#include <vector>

namespace glia {

/// The indices first ... end - 1.
struct index_range {
  std::size_t first = 0;
  std::size_t end = 0;
  [[nodiscard]] std::size_t size() const noexcept { return end - first; }
  friend bool operator==(const index_range&, const index_range&) = default;
};

/// Returns part `i` of `count` items that are divided into `parts` parts of nearly equal size.
[[nodiscard]] constexpr index_range part_of(std::size_t count, std::size_t i,
                                            std::size_t parts) noexcept {
  return {i * count / parts, (i + 1) * count / parts};
}

/// The pieces of a batch that belong to one rank.
struct piece_share {
  index_range pieces{0, 1};
  std::size_t of = 1;

  /// Returns the samples of these pieces in a batch of `batch` samples.
  [[nodiscard]] constexpr index_range samples(std::size_t batch) const noexcept {
    return {part_of(batch, pieces.first, of).first, part_of(batch, pieces.end - 1, of).end};
  }
};

/// The sum over pieces first ... first + 2^level - 1 of a batch, where first is a multiple of
/// 2^level. It is a node of the tree along which pieces are added, on whichever ranks.
struct partial_sum {
  std::size_t first = 0;
  std::size_t level = 0;

  /// Returns whether this and the sum to its right form a sum of the next level.
  [[nodiscard]] bool joins(const partial_sum& right) const noexcept {
    return level == right.level && first % (std::size_t{2} << level) == 0 &&
           right.first == first + (std::size_t{1} << level);
  }
};

/// The order in which a range of pieces is added along the tree, one piece after the other. Sums
/// whose neighbor is not computed yet wait on a stack.
class piece_stack {
 public:
  /// The result of `add`.
  struct arrival {
    std::size_t depth;  ///< Position of the piece on the stack.
    std::size_t joins;  ///< Number of times that the topmost sum is then added to the one below.
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

/// Returns the sums that remain to be added to other ranks' sums after a range of pieces has been
/// added.
[[nodiscard]] inline std::vector<partial_sum> sums_of(const index_range& pieces) {
  piece_stack stack;
  for (std::size_t piece = pieces.first; piece < pieces.end; ++piece) {
    (void)stack.add({piece, 0});
  }
  return stack.sums();
}

}  // namespace glia

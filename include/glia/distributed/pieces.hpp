#pragma once

#include <cstddef>
#include <vector>

namespace glia {

/// Numbers first ... end - 1.
struct index_range {
  std::size_t first = 0;
  std::size_t end = 0;
  [[nodiscard]] std::size_t size() const noexcept { return end - first; }
  friend bool operator==(const index_range&, const index_range&) = default;
};

/// Which of `count` things, cut into as many parts as even as they can be, part `i` has.
[[nodiscard]] constexpr index_range part_of(std::size_t count, std::size_t i,
                                            std::size_t parts) noexcept {
  return {i * count / parts, (i + 1) * count / parts};
}

/// Those of the pieces of a batch that a rank has.
struct piece_share {
  index_range pieces{0, 1};
  std::size_t of = 1;

  /// Which samples of a batch of so many they have.
  [[nodiscard]] constexpr index_range samples(std::size_t batch) const noexcept {
    return {part_of(batch, pieces.first, of).first, part_of(batch, pieces.end - 1, of).end};
  }
};

/// The sum over pieces first ... first + 2^level - 1 of a batch, where first is a multiple of
/// 2^level: a node of the tree along which pieces are added, whoever adds them.
struct partial_sum {
  std::size_t first = 0;
  std::size_t level = 0;

  /// Whether this and the sum to its right make one of the next level.
  [[nodiscard]] bool joins(const partial_sum& right) const noexcept {
    return level == right.level && first % (std::size_t{2} << level) == 0 &&
           right.first == first + (std::size_t{1} << level);
  }
};

/// How a range of pieces is added along the tree, one piece after the other: sums that wait for
/// their neighbour lie on a stack.
class piece_stack {
 public:
  /// What `add` came to.
  struct arrival {
    std::size_t depth;  ///< where on the stack the piece lies
    std::size_t joins;  ///< how often the topmost sum is then added to the one below
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

/// What of the tree is left to add after the pieces of one range were.
[[nodiscard]] inline std::vector<partial_sum> sums_of(const index_range& pieces) {
  piece_stack stack;
  for (std::size_t piece = pieces.first; piece < pieces.end; ++piece) {
    (void)stack.add({piece, 0});
  }
  return stack.sums();
}

}  // namespace glia

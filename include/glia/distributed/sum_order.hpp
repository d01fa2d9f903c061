#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/distributed/pieces.hpp"

namespace glia::detail {

/// Computes sum[n] = a[n] + b[n]. `sum` may be `a` or `b`.
template <class T>
void add_numbers(const T* a, const T* b, std::size_t count, T* sum) {
  constexpr std::size_t block = 16;  // a constant size, for which compilers vectorize the loop
  std::size_t n = 0;
  for (; n + block <= count; n += block) {
    std::array<T, block> sums;
    for (std::size_t i = 0; i < block; ++i) {
      sums[i] = a[n + i] + b[n + i];
    }
    std::copy_n(sums.data(), block, sum + n);
  }
  for (; n < count; ++n) {
    sum[n] = a[n] + b[n];
  }
}

/// The fixed order in which the vectors of the pieces of a batch are added, along a binary tree.
/// The order does not depend on the assignment of pieces to ranks. A rank first adds its own pieces
/// that are neighbors in the tree. The remaining sums, one or a few for each rank, are then added
/// to the sums of the other ranks.
class sum_order {
 public:
  /// One sum of a rank, and its position in the order of additions.
  struct addition {
    std::size_t rank;
    std::size_t sum;
    piece_stack::arrival arrival;
  };

  /// Throws `value_error` if there are fewer pieces than ranks.
  sum_order(std::size_t pieces, std::size_t ranks) : pieces_(pieces), ranks_(ranks) {
    require<value_error>(pieces >= ranks, "distributed: a batch of ", pieces,
                         " pieces cannot be shared by ", ranks,
                         " ranks; use at least as many pieces as ranks");
    piece_stack stack;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::vector<partial_sum> sums = sums_of(pieces_of(rank));
      held_.push_back(sums.size());
      for (std::size_t i = 0; i < sums.size(); ++i) {
        additions_.push_back({rank, i, stack.add(sums[i])});
      }
      for (const piece_stack::arrival& arrival : arrivals(rank)) {
        depth_ = std::max(depth_, arrival.depth + 1);
      }
    }
    left_ = stack.sums().size();
  }

  [[nodiscard]] index_range pieces_of(std::size_t rank) const noexcept {
    return part_of(pieces_, rank, ranks_);
  }
  /// Returns the number of sums that a rank holds after it has added its pieces.
  [[nodiscard]] std::size_t held_by(std::size_t rank) const { return held_[rank]; }
  /// Returns the largest number of vectors that a rank needs at the same time.
  [[nodiscard]] std::size_t depth() const noexcept { return depth_; }
  /// Returns, for each piece of a rank, its position on the stack of sums, and how many additions
  /// are done directly after it is pushed.
  [[nodiscard]] std::vector<piece_stack::arrival> arrivals(std::size_t rank) const {
    const auto [first, end] = pieces_of(rank);
    piece_stack stack;
    std::vector<piece_stack::arrival> result;
    for (std::size_t piece = first; piece < end; ++piece) {
      result.push_back(stack.add({piece, 0}));
    }
    return result;
  }
  /// Returns the sums of all ranks, in the order in which they are added.
  [[nodiscard]] const std::vector<addition>& additions() const noexcept { return additions_; }

  /// Adds the sums of all ranks, of `count` elements each. take(addition, offset, n, out) copies
  /// the elements with the indices offset, ..., offset + n - 1 of one sum to `out`. `result` may be
  /// the memory of one of the sums.
  template <class T, class Take>
  void add(std::size_t count, const Take& take, T* result) const {
    std::vector<T> room(additions_.size() * chunk);
    const auto level = [&](std::size_t depth) { return room.data() + depth * chunk; };
    const auto join = [&](std::size_t depth, std::size_t n) {
      add_numbers(level(depth - 1), level(depth), n, level(depth - 1));
    };
    for (std::size_t offset = 0; offset < count; offset += chunk) {
      const std::size_t n = std::min(chunk, count - offset);
      for (const addition& next : additions_) {
        take(next, offset, n, level(next.arrival.depth));
        for (std::size_t i = 0; i < next.arrival.joins; ++i) {
          join(next.arrival.depth - i, n);
        }
      }
      for (std::size_t depth = left_; depth-- > 1;) {
        join(depth, n);
      }
      std::copy_n(room.data(), n, result + offset);
    }
  }

 private:
  /// The size of a chunk. It is so small that the chunks of all sums stay in the first-level cache.
  static constexpr std::size_t chunk = 1024;

  std::size_t pieces_;
  std::size_t ranks_;
  std::size_t depth_ = 0;
  std::vector<std::size_t> held_;
  std::vector<addition> additions_;
  std::size_t left_ = 0;  // sums without a neighbor at the end
};

}  // namespace glia::detail

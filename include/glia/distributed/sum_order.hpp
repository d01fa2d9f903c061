#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/distributed/pieces.hpp"

namespace glia {

/// to[n] = a[n] + b[n]; `to` may be one of the two.
template <class T>
void add_numbers(const T* a, const T* b, std::size_t count, T* to) {
  constexpr std::size_t block = 16;  // of known size: compilers make vectors of it unasked
  std::size_t n = 0;
  for (; n + block <= count; n += block) {
    std::array<T, block> sums;
    for (std::size_t i = 0; i < block; ++i) {
      sums[i] = a[n + i] + b[n + i];
    }
    std::copy_n(sums.data(), block, to + n);
  }
  for (; n < count; ++n) {
    to[n] = a[n] + b[n];
  }
}

/// The one order in which vectors of the pieces of a batch are added, whoever has which pieces:
/// along a binary tree. A rank adds those of its pieces as far as they are neighbours in it; what
/// it then holds, one sum or a few, is added to the others' sums.
class sum_order {
 public:
  /// A sum that a rank holds, and how it is added to those before it.
  struct addition {
    std::size_t rank;
    std::size_t sum;
    piece_stack::arrival where;
  };

  /// Throws `value_error` for fewer pieces than ranks.
  sum_order(std::size_t pieces, std::size_t ranks) : pieces_(pieces), ranks_(ranks) {
    require<value_error>(pieces >= ranks, "distributed: a batch of ", pieces,
                         " pieces cannot be shared by ", ranks,
                         " ranks; ask for as many pieces as there are ranks, or more");
    piece_stack all;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::vector<partial_sum> sums = sums_of(pieces_of(rank));
      held_.push_back(sums.size());
      for (std::size_t i = 0; i < sums.size(); ++i) {
        additions_.push_back({rank, i, all.add(sums[i])});
      }
      for (const piece_stack::arrival& one : arrivals(rank)) {
        depth_ = std::max(depth_, one.depth + 1);
      }
    }
    left_ = all.sums().size();
  }

  [[nodiscard]] index_range pieces_of(std::size_t rank) const noexcept {
    return part_of(pieces_, rank, ranks_);
  }
  /// How many sums a rank holds once it has its pieces.
  [[nodiscard]] std::size_t held_by(std::size_t rank) const { return held_[rank]; }
  /// How many vectors any rank needs for its pieces at most.
  [[nodiscard]] std::size_t depth() const noexcept { return depth_; }
  /// In which of them each of a rank's pieces lies, and how it is added to the one before.
  [[nodiscard]] std::vector<piece_stack::arrival> arrivals(std::size_t rank) const {
    const auto [first, end] = pieces_of(rank);
    piece_stack own;
    std::vector<piece_stack::arrival> result;
    for (std::size_t piece = first; piece < end; ++piece) {
      result.push_back(own.add({piece, 0}));
    }
    return result;
  }
  /// Of the sums of all ranks, one after the other.
  [[nodiscard]] const std::vector<addition>& additions() const noexcept { return additions_; }

  /// Adds `count` numbers of the sums of all ranks: take(addition, at, n, into) copies numbers
  /// at ... at + n - 1 of one. `to` may be where one of them lies.
  template <class T, class Take>
  void add(std::size_t count, const Take& take, T* to) const {
    std::vector<T> room(additions_.size() * chunk);
    const auto level = [&](std::size_t depth) { return room.data() + depth * chunk; };
    const auto join = [&](std::size_t depth, std::size_t n) {
      add_numbers(level(depth - 1), level(depth), n, level(depth - 1));
    };
    for (std::size_t at = 0; at < count; at += chunk) {
      const std::size_t n = std::min(chunk, count - at);
      for (const addition& next : additions_) {
        take(next, at, n, level(next.where.depth));
        for (std::size_t i = 0; i < next.where.joins; ++i) {
          join(next.where.depth - i, n);
        }
      }
      for (std::size_t depth = left_; depth-- > 1;) {
        join(depth, n);
      }
      std::copy_n(room.data(), n, to + at);
    }
  }

 private:
  /// Numbers at a time, so that they stay in the first cache.
  static constexpr std::size_t chunk = 1024;

  std::size_t pieces_;
  std::size_t ranks_;
  std::size_t depth_ = 0;
  std::vector<std::size_t> held_;
  std::vector<addition> additions_;
  std::size_t left_ = 0;  // sums that have no neighbour in the end
};

}  // namespace glia

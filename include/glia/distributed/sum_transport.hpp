#pragma once

#include <cstddef>
#include <vector>

#include "glia/distributed/pieces.hpp"
#include "glia/distributed/sum_order.hpp"

namespace glia {

/// A vector that ranks sum: of how many numbers, of which the first ones are sent rounded, in which
/// buckets, in which order.
struct sum_plan {
  std::size_t size;
  std::size_t rounded;
  std::vector<index_range> buckets;
  sum_order order;
};

/// Slices of buckets begin at multiples of so many numbers.
inline constexpr std::size_t slice_alignment = 16;

/// The part of a bucket that one rank adds up.
[[nodiscard]] inline index_range slice_of(const index_range& bucket, std::size_t rank,
                                          std::size_t ranks) {
  const auto cut = [&](std::size_t part) {
    const std::size_t at = bucket.size() * part / ranks / slice_alignment * slice_alignment;
    return bucket.first + (part == ranks ? bucket.size() : at);
  };
  return {cut(rank), cut(rank + 1)};
}

/// What a sum has sent so far.
struct sum_traffic {
  std::size_t bytes = 0;
  std::size_t messages = 0;
};

/// How the vectors of ranks come together, bucket by bucket: each rank adds up its slice of each,
/// and all get all slices.
template <class T>
class sum_transport {
 public:
  sum_transport() = default;
  sum_transport(const sum_transport&) = delete;
  sum_transport& operator=(const sum_transport&) = delete;
  virtual ~sum_transport() = default;

  /// This rank's vectors, zeros at first, with a line of the cache before and behind them.
  [[nodiscard]] virtual T* vector(std::size_t i) const noexcept = 0;
  /// The sum, once all buckets are done.
  [[nodiscard]] virtual T* sum() const noexcept = 0;

  /// Begins the next sum; the one before is done.
  virtual void begin() = 0;
  /// This rank's numbers of a bucket are there. Buckets start in their order, on all ranks.
  virtual void start(std::size_t bucket) = 0;
  /// Takes a bucket that has started as far as it comes; false where nothing moved.
  virtual bool move_on(std::size_t bucket) = 0;
  [[nodiscard]] virtual bool is_done(std::size_t bucket) const = 0;
  /// Whether buckets move on only while this rank looks after them.
  [[nodiscard]] virtual bool needs_looking_after() const noexcept = 0;
  [[nodiscard]] virtual sum_traffic sent() const noexcept = 0;
};

/// Bytes of a vector of so many numbers, in whole lines of the cache.
template <class T>
[[nodiscard]] constexpr std::size_t line_bytes(std::size_t count) noexcept {
  constexpr std::size_t line = 64;
  return (count * sizeof(T) + line - 1) / line * line;
}

}  // namespace glia

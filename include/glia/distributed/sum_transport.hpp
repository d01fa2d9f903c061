#pragma once

#include <cstddef>
#include <vector>

#include "glia/distributed/pieces.hpp"
#include "glia/distributed/sum_order.hpp"

namespace glia::detail {

/// A plan to sum vectors of the ranks: the size of a vector, the number of its leading values that
/// are sent as bfloat16, its buckets, and the order of additions.
struct sum_plan {
  std::size_t size;
  std::size_t rounded;
  std::vector<index_range> buckets;
  sum_order order;
};

/// Slices of buckets begin at multiples of this number of values.
inline constexpr std::size_t slice_alignment = 16;

/// Returns the part of a bucket that one rank adds up.
[[nodiscard]] inline index_range slice_of(const index_range& bucket, std::size_t rank,
                                          std::size_t ranks) {
  const auto cut = [&](std::size_t part) {
    const std::size_t offset = bucket.size() * part / ranks / slice_alignment * slice_alignment;
    return bucket.first + (part == ranks ? bucket.size() : offset);
  };
  return {cut(rank), cut(rank + 1)};
}

/// The number of messages and bytes that a sum has sent so far.
struct sum_traffic {
  std::size_t bytes = 0;
  std::size_t messages = 0;
};

/// Adds the vectors of the ranks, bucket by bucket. Each rank adds up its slice of a bucket, and
/// all ranks get all slices.
template <class T>
class sum_transport {
 public:
  sum_transport() = default;
  sum_transport(const sum_transport&) = delete;
  sum_transport& operator=(const sum_transport&) = delete;
  virtual ~sum_transport() = default;

  /// Returns this rank's vector `i`, initially zeros, with a cache line of unused memory on both
  /// sides.
  [[nodiscard]] virtual T* vector(std::size_t i) const noexcept = 0;
  /// Returns the sum, which is valid after all buckets are done.
  [[nodiscard]] virtual T* sum() const noexcept = 0;

  /// Begins the next sum, after the previous one is done.
  virtual void begin() = 0;
  /// Reports that this rank has computed its elements of a bucket. All ranks start the buckets in
  /// their order.
  virtual void start(std::size_t bucket) = 0;
  /// Advances a started bucket as far as possible; returns false if nothing changed.
  virtual bool move_on(std::size_t bucket) = 0;
  [[nodiscard]] virtual bool is_done(std::size_t bucket) const = 0;
  /// Returns whether buckets advance only while this rank calls `move_on`.
  [[nodiscard]] virtual bool needs_looking_after() const noexcept = 0;
  [[nodiscard]] virtual sum_traffic sent() const noexcept = 0;
};

/// Returns the bytes of a vector of `count` elements, rounded up to whole cache lines.
template <class T>
[[nodiscard]] constexpr std::size_t line_bytes(std::size_t count) noexcept {
  constexpr std::size_t line = 64;
  return (count * sizeof(T) + line - 1) / line * line;
}

}  // namespace glia::detail

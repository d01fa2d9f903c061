#pragma once

#include <cstddef>

namespace glia {

/// A range of indices: first, ..., end - 1.
struct index_range {
  std::size_t first = 0;
  std::size_t end = 0;
  [[nodiscard]] std::size_t size() const noexcept { return end - first; }
  friend bool operator==(const index_range&, const index_range&) = default;
};

/// Divides `count` items into `parts` parts of nearly equal size, and returns the range of part
/// `i`.
[[nodiscard]] constexpr index_range part_of(std::size_t count, std::size_t i,
                                            std::size_t parts) noexcept {
  return {i * count / parts, (i + 1) * count / parts};
}

/// The pieces of a batch that belong to one of several processes.
struct piece_share {
  index_range pieces{0, 1};
  std::size_t of = 1;  ///< number of pieces of the batch

  /// Returns the samples of these pieces in a batch of `batch` samples.
  [[nodiscard]] constexpr index_range samples(std::size_t batch) const noexcept {
    return {part_of(batch, pieces.first, of).first, part_of(batch, pieces.end - 1, of).end};
  }
};

}  // namespace glia

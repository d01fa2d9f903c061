#pragma once

#include <algorithm>
#include <cstddef>

namespace glia::cpu_loops {

/// Tiles of patches that are multiplied together, of at most `Largest` patches. Each tile has
/// enough sums to hide the latency of additions, if the number of patches allows it, and a size for
/// which a loop is compiled: `smallest` to `Largest` or `piece` (see multiply_patches).
///
/// 25 patches in tiles of up to 12 are 7 + 7 + 11, because 8 or 9 patches are two loops.
template <std::size_t Largest>
class patch_tiles {
 public:
  static constexpr std::size_t smallest = Largest - 2;
  /// The largest tile below `smallest`. Seven is half of an image row of 14.
  static constexpr std::size_t piece = std::min<std::size_t>(Largest - 2, 7);

  explicit patch_tiles(std::size_t patches)
      : patches_(patches), count_((patches + Largest - 1) / Largest) {
    for (std::size_t pieces = 0; pieces <= count_ && pieces * piece <= patches; ++pieces) {
      const std::size_t rest = patches - pieces * piece;
      const std::size_t tiles = count_ - pieces;
      if (tiles * smallest <= rest && rest <= tiles * Largest) {
        pieces_ = pieces;
        break;
      }
    }
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  /// Returns the first patch of a tile. That of tile `count()` is the number of patches.
  [[nodiscard]] std::size_t start(std::size_t tile) const {
    return tile <= pieces_ ? tile * piece
                           : pieces_ * piece + (tile - pieces_) * (patches_ - pieces_ * piece) /
                                                   (count_ - pieces_);
  }
  [[nodiscard]] std::size_t size(std::size_t tile) const { return start(tile + 1) - start(tile); }

 private:
  std::size_t patches_;
  std::size_t count_;
  std::size_t pieces_ = 0;  // tiles of size `piece`, which come first
};

}  // namespace glia::cpu_loops

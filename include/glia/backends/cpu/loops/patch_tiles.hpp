#pragma once

#include <algorithm>
#include <cstddef>

namespace glia::cpu_loops {

/// Cuts patches into tiles of at most `Largest` patches, which are multiplied together. The loop
/// for one patch takes as long as the loop for four, because its sums wait for each other. Few
/// sizes have a loop (see multiply_patches), so 8 or 9 patches take two loops. Tiles have sizes
/// with a loop where possible: with `Largest` = 12, 25 patches are 7 + 7 + 11, and 16 patches are 4
/// + 12.
///
/// product_tiles does this for matrix products, which have other loops.
template <std::size_t Largest>
class patch_tiles {
 public:
  /// There are loops for `min_full` to `Largest` patches, for `short_size` and for `half_size`.
  static constexpr std::size_t min_full = Largest - 2;
  static constexpr std::size_t short_size = std::min<std::size_t>(min_full, 7);
  static constexpr std::size_t half_size = (short_size + 1) / 2;
  static_assert(Largest > 2);

  explicit patch_tiles(std::size_t patches) : count_((patches + Largest - 1) / Largest) {
    std::size_t rest = patches;
    std::size_t full_tiles = count_;
    // Tiles of short_size are preferred, so they are tried last.
    for (const std::size_t size : {half_size, short_size}) {
      for (std::size_t tiles = 0; tiles <= count_ && tiles * size <= patches; ++tiles) {
        const std::size_t needed = (count_ - tiles) * min_full;
        const std::size_t room = (count_ - tiles) * Largest;
        if (needed <= patches - tiles * size && patches - tiles * size <= room) {
          short_size_ = size;
          short_tiles_ = tiles;
          rest = patches - tiles * size;
          full_tiles = count_ - tiles;
          break;
        }
      }
    }
    quotient_ = rest / std::max<std::size_t>(full_tiles, 1);
    remainder_ = rest - quotient_ * full_tiles;
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  /// Returns the index of the first patch of a tile. `start(count())` is the number of patches.
  [[nodiscard]] std::size_t start(std::size_t tile) const {
    const std::size_t full = tile - std::min(tile, short_tiles_);
    return (tile - full) * short_size_ + full * quotient_ + std::min(full, remainder_);
  }
  /// Returns the number of patches of a tile with an index below `count()`.
  [[nodiscard]] std::size_t size(std::size_t tile) const {
    return tile < short_tiles_ ? short_size_
                               : quotient_ + (tile - short_tiles_ < remainder_ ? 1 : 0);
  }

 private:
  std::size_t count_;
  // Short tiles come first. The other tiles have `quotient_` patches, and the first `remainder_` of
  // them one more.
  std::size_t short_tiles_ = 0;
  std::size_t short_size_ = 0;
  std::size_t quotient_ = 0;
  std::size_t remainder_ = 0;
};

}  // namespace glia::cpu_loops

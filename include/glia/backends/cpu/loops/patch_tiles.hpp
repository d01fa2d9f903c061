#pragma once

#include <algorithm>
#include <cstddef>

namespace glia::cpu_loops {

/// Cuts patches into tiles of at most `Largest` patches, which are multiplied together. Few sizes
/// have a loop (see multiply_patches), and the loop for one patch takes as long as the loop for
/// four, because its sums wait for each other. So tiles have sizes with a loop where possible. With
/// `Largest` = 12, 16 patches are 4 + 12, and 25 patches are 7 + 7 + 11.
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
    if (!begin_with(short_size, patches) && !begin_with(half_size, patches)) {
      divide(patches, count_);
    }
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
  /// Cuts the patches into as few tiles of this size as possible, which come first, and full tiles.
  /// Returns false if there is no such number of tiles.
  bool begin_with(std::size_t size, std::size_t patches) {
    for (std::size_t tiles = 0; tiles <= count_ && tiles * size <= patches; ++tiles) {
      const std::size_t rest = patches - tiles * size;
      const std::size_t full_tiles = count_ - tiles;
      if (full_tiles * min_full <= rest && rest <= full_tiles * Largest) {
        short_size_ = size;
        short_tiles_ = tiles;
        divide(rest, full_tiles);
        return true;
      }
    }
    return false;
  }
  void divide(std::size_t patches, std::size_t tiles) {
    quotient_ = tiles > 0 ? patches / tiles : 0;
    remainder_ = patches - quotient_ * tiles;
  }

  std::size_t count_;
  // Short tiles come first. The other tiles have `quotient_` patches, and the first `remainder_` of
  // them one more.
  std::size_t short_tiles_ = 0;
  std::size_t short_size_ = 0;
  std::size_t quotient_ = 0;
  std::size_t remainder_ = 0;
};

}  // namespace glia::cpu_loops

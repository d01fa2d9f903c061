#pragma once

#include <algorithm>
#include <cstddef>

namespace glia::cpu_loops {

/// A matrix (depth, extent) cut into panels of some columns each. Packed, a panel is a row of
/// biases and then its columns' rows, one after the other; the last is filled up with zeros.
class panels {
 public:
  panels(std::size_t extent, std::size_t width) : extent_(extent), width_(width) {}

  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] std::size_t count() const { return (extent_ + width_ - 1) / width_; }
  /// Those of all panels, the filling included.
  [[nodiscard]] std::size_t columns() const { return count() * width_; }

  /// Packs without biases; `to` has room for count() * (1 + depth) * width() elements.
  template <class T>
  void pack(const T* matrix, std::size_t depth, T* to) const {
    for (std::size_t first = 0; first < extent_; first += width_) {
      const std::size_t used = std::min(width_, extent_ - first);
      to = std::fill_n(to, width_, T{0});
      for (std::size_t k = 0; k < depth; ++k) {
        to = std::copy_n(matrix + k * extent_ + first, used, to);
        to = std::fill_n(to, width_ - used, T{0});
      }
    }
  }

 private:
  std::size_t extent_;
  std::size_t width_;
};

}  // namespace glia::cpu_loops

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/convolution/winograd_tile.hpp"
#include "glia/backends/cpu/isa/with_isa.hpp"
#include "glia/backends/cpu/loops/pool_window.hpp"
#include "glia/backends/cpu/products/packing.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/core/memory_pool.hpp"
#include "glia/kernels/packing.hpp"
#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

/// Computes a convolution with a 2 x 2 kernel, followed by a 2 x 2 max pooling. Nine products,
/// instead of sixteen, give the four outputs of a window. This is Winograd's F(2 x 2, 2 x 2), whose
/// transforms only add and subtract. Source: Lavin and Gray, "Fast algorithms for convolutional
/// neural networks", CVPR 2016.
template <class T>
class winograd_pooling {
 public:
  /// Returns whether the channels fill whole registers and are enough to outweigh the transforms.
  template <class Loops>
  [[nodiscard]] static bool applies(const kernels::window_sizes& s, const window2d& pool) {
    constexpr std::size_t per_register = Loops::register_bytes / sizeof(T);
    return s.groups == 1 && kernels::pack_transformed::fits(s.window, pool) &&
           s.c % per_register == 0 && s.o % per_register == 0 && s.c >= 16 && s.o >= 16;
  }

  /// `packed` is the result of `pack_transformed` for w, or null.
  template <class Loops>
  winograd_pooling(const Loops& loops, const workers& team, const T* w, const T* packed,
                   const kernels::window_sizes& s, const kernels::window_sizes& pool,
                   const memory_pool& memory)
      : s_(s),
        pool_(pool),
        panels_((s.o + Loops::template panel_width<T> - 1) / Loops::template panel_width<T>),
        panel_width_(Loops::template panel_width<T>),
        zeros_(memory, {s.c}),
        packed_(packed) {
    std::fill_n(zeros_.data(), s.c, T{0});
    if (packed == nullptr) {
      packed_weights_ = detail::host_tensor<T>(memory, {products, panels_, 1 + s.c, panel_width_});
      pack_transformed(loops, team, w, s.weights(), packed_weights_.data());
      packed_ = packed_weights_.data();
    }
  }

  /// Number of windows that are processed together. The windows of all images are numbered
  /// consecutively.
  static constexpr std::size_t windows_per_block = 12;
  [[nodiscard]] std::size_t windows() const { return s_.n * pool_.oh * pool_.ow; }
  [[nodiscard]] std::size_t scratch_size() const {
    return products * windows_per_block * (s_.c + columns());
  }

  /// Computes windows first ... first + count - 1 of y and `position`, both (N, H, W, O).
  /// `position` may be null. Returns false if a number is not finite, because differences of pixels
  /// spread it to its neighbors.
  template <class Loops>
  [[nodiscard]] bool run(const Loops& loops, const T* x, const T* bias, const clamp_range<T>& clamp,
                         std::size_t first, std::size_t count, T* y, std::uint8_t* position,
                         T* scratch) const {
    T* const tiles = scratch;
    T* const sums = scratch + products * windows_per_block * s_.c;
    const std::size_t tile_step = windows_per_block * s_.c;
    const std::size_t sum_step = windows_per_block * columns();
    std::size_t column = first % pool_.ow;
    std::size_t row = first / pool_.ow % pool_.oh;
    const T* image = x + first / pool_.ow / pool_.oh * s_.h * s_.w * s_.c;
    for (std::size_t i = 0; i < count; ++i) {
      const T* pixel[products];
      find_tile<3>(image, s_, row * pool_.window.stride_height, column * pool_.window.stride_width,
                   zeros_.data(), pixel);
      loops.template transform_tile<3>(pixel, s_.c, tiles + i * s_.c, tile_step);
      if (++column == pool_.ow) {
        column = 0;
        if (++row == pool_.oh) {
          row = 0;
          image += s_.h * s_.w * s_.c;
        }
      }
    }
    for (std::size_t product = 0; product < products; ++product) {
      loops.multiply_tiles(tiles + product * tile_step, count, s_.c,
                           packed_ + product * packed_size(), panels_, sums + product * sum_step);
    }
    constexpr std::size_t per_register = Loops::register_bytes / sizeof(T);
    T zeros[per_register] = {};
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t offset = (first + i) * s_.o;
      loops.pool_tile(sums + i * columns(), sum_step, bias, s_.o, clamp, y + offset,
                      position == nullptr ? nullptr : position + offset, zeros);
    }
    return std::all_of(zeros, zeros + per_register, [](T zero) { return zero == 0; });
  }

 private:
  static constexpr std::size_t products = 9;

  /// Returns the number of outputs, including the padding of the last panel.
  [[nodiscard]] std::size_t columns() const { return panels_ * panel_width_; }
  [[nodiscard]] std::size_t packed_size() const { return (1 + s_.c) * columns(); }

  kernels::window_sizes s_;
  kernels::window_sizes pool_;
  std::size_t panels_;  // panels of outputs; the last may be padded
  std::size_t panel_width_;
  detail::host_tensor<T> zeros_;
  const T* packed_;
  detail::host_tensor<T> packed_weights_;  // packed weights, if the caller passes unpacked weights
};

}  // namespace glia::cpu_loops

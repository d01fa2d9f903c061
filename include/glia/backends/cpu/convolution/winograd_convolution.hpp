#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "glia/backends/cpu/convolution/winograd_tile.hpp"
#include "glia/backends/cpu/isa/with_isa.hpp"
#include "glia/backends/cpu/loops/clamp_range.hpp"
#include "glia/backends/cpu/products/packing.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/core/memory_pool.hpp"
#include "glia/kernels/packing.hpp"
#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

/// Computes a convolution with a 3 x 3 kernel. Sixteen products, instead of 36, give 2 x 2 outputs.
/// This is Winograd's F(2 x 2, 3 x 3), whose transforms only add, subtract and halve. See
/// `glia::transforms` for the convolutions for which it pays. Source: Lavin and Gray, "Fast
/// algorithms for convolutional neural networks", CVPR 2016.
///
/// The bits of an output do not depend on the other images of the batch.
template <class T>
class winograd_convolution {
 public:
  winograd_convolution(const workers& team, const kernels::window_sizes& s)
      : team_(&team), s_(s), tiles_(tiles_of(s)) {
    constexpr std::size_t tile_rows = 12, max_block = 96;
    const std::size_t cached = tile_bytes / (products * s.c * sizeof(T)) / tile_rows * tile_rows;
    const std::size_t share = (tiles_.count + team.threads() - 1) / team.threads();
    block_ = std::min(std::clamp(cached, tile_rows, max_block), share);
  }

  /// Computes y = x * w + bias, clamped. `packed` is the result of `pack_transformed` for w, or
  /// null. Returns false if a number is not finite, because differences of pixels spread it to its
  /// neighbors; y must then be computed in another way.
  [[nodiscard]] bool compute(const memory_pool& memory, const T* x, const T* w, const T* packed,
                             const T* bias, const clamp_range<T>& clamp, T* y) const {
    return with_isa(team_->level(), [&](auto loops) {
      constexpr std::size_t width = decltype(loops)::template panel_width<T>;
      const std::size_t panels = (s_.o + width - 1) / width;
      detail::host_tensor<T> packed_here;
      if (packed == nullptr) {
        packed_here = detail::host_tensor<T>(memory, {products, panels, 1 + s_.c, width});
        pack_transformed(loops, *team_, w, s_.weights(), packed_here.data());
        packed = packed_here.data();
      }
      const detail::host_tensor<T> zeros(memory, {s_.c});
      std::fill_n(zeros.data(), s_.c, T{0});
      const std::size_t scratch_size = products * (tile_step() + sum_step(width));
      const detail::host_tensor<T> scratch(memory, {team_->threads(), scratch_size});
      std::atomic<bool> finite{true};
      team_->run((tiles_.count + block_ - 1) / block_, [&](std::size_t task, std::size_t thread) {
        T* const tiles = scratch.data() + thread * scratch_size;
        const std::size_t first = task * block_;
        const std::size_t count = std::min(block_, tiles_.count - first);
        transform(loops, x, zeros.data(), first, count, tiles);
        if (!multiply(loops, packed, bias, clamp, first, count, tiles, y)) {
          finite.store(false, std::memory_order_relaxed);
        }
      });
      return finite.load(std::memory_order_relaxed);
    });
  }

 private:
  static constexpr std::size_t side = 4;  // of a tile, in pixels
  static constexpr std::size_t products = side * side;
  // Transformed tiles of a block stay in a second-level cache.
  static constexpr std::size_t tile_bytes = 192 << 10;
  // Between matrices, so that their rows are not in the same sets of a cache.
  static constexpr std::size_t gap = 64 / sizeof(T);

  [[nodiscard]] std::size_t tile_step() const { return block_ * s_.c + gap; }
  [[nodiscard]] std::size_t sum_step(std::size_t width) const { return block_ * width + gap; }

  template <class Loops>
  void transform(const Loops& loops, const T* x, const T* zeros, std::size_t first,
                 std::size_t count, T* tiles) const {
    for (std::size_t i = 0; i < count; ++i) {
      const winograd_tile tile = tiles_.tile(first + i);
      const T* pixel[products];
      find_tile<side>(x + tile.image * s_.h * s_.w * s_.c, s_, tile.row, tile.column, zeros, pixel);
      loops.template transform_tile<side>(pixel, s_.c, tiles + i * s_.c, tile_step());
    }
  }

  /// Multiplies the transformed tiles, panel by panel, and stores the outputs.
  template <class Loops>
  [[nodiscard]] bool multiply(const Loops& loops, const T* packed, const T* bias,
                              const clamp_range<T>& clamp, std::size_t first, std::size_t count,
                              T* tiles, T* y) const {
    constexpr std::size_t width = Loops::template panel_width<T>;
    constexpr std::size_t per_register = Loops::register_bytes / sizeof(T);
    T* const sums = tiles + products * tile_step();
    T zeros[per_register] = {};
    const std::size_t panel_size = (1 + s_.c) * width;
    const std::size_t packed_size = (s_.o + width - 1) / width * panel_size;
    for (std::size_t output = 0; output < s_.o; output += width, packed += panel_size) {
      for (std::size_t product = 0; product < products; ++product) {
        loops.multiply_tiles(tiles + product * tile_step(), count, s_.c,
                             packed + product * packed_size, 1, sums + product * sum_step(width));
      }
      for (std::size_t i = 0; i < count; ++i) {
        const winograd_tile tile = tiles_.tile(first + i);
        T* target[4];
        for (std::size_t j = 0; j < 4; ++j) {
          target[j] = tile.output(j, s_, y);
        }
        loops.store_tile(sums + i * width, sum_step(width), bias == nullptr ? bias : bias + output,
                         std::min(width, s_.o - output), clamp, target, output, zeros);
      }
    }
    return std::all_of(zeros, zeros + per_register, [](T zero) { return zero == 0; });
  }

  const workers* team_;
  kernels::window_sizes s_;
  winograd_tiles tiles_;
  // Number of tiles that are processed together. It does not change the bits.
  std::size_t block_ = 0;
};

}  // namespace glia::cpu_loops

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "glia/backends/cpu/convolution/winograd_tile.hpp"
#include "glia/backends/cpu/isa/with_isa.hpp"
#include "glia/backends/cpu/products/dense_product.hpp"
#include "glia/backends/cpu/products/matrix.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/core/memory_pool.hpp"
#include "glia/kernels/products.hpp"
#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

/// Computes the gradient of the kernel of a `winograd_convolution`: with the same tiles, the
/// gradient of each matrix of transformed weights is a product (C, tiles) (tiles, O).
///
/// The order of each sum depends only on the shapes.
template <class T>
class winograd_kernel_gradient {
 public:
  /// Returns whether the tiles are enough to outweigh the transforms of the weights. `transforms`
  /// must apply.
  [[nodiscard]] static bool applies(const kernels::window_sizes& s) {
    constexpr std::size_t min_tiles = 32;
    return tiles_of(s).count >= min_tiles;
  }

  winograd_kernel_gradient(const workers& team, const kernels::window_sizes& s)
      : team_(&team), s_(s), tiles_(tiles_of(s)) {
    const std::size_t max_chunk =
        std::max(min_chunk, chunk_bytes / (products * (s.c + s.o) * sizeof(T)) /
                                transformed_at_a_time * transformed_at_a_time);
    const std::size_t chunks = (tiles_.count + max_chunk - 1) / max_chunk;
    chunk_ = (tiles_.count + chunks - 1) / chunks;
  }

  /// Computes dw from x and dy. Returns false if a number is not finite; dw must then be computed
  /// in another way.
  [[nodiscard]] bool compute(const memory_pool& memory, const T* x, const T* dy, T* dw) const {
    const std::size_t size = products * s_.c * s_.o;
    const bool single = chunk_ == tiles_.count;
    const detail::host_tensor<T> inputs(memory, {products, chunk_, s_.c});
    const detail::host_tensor<T> outputs(memory, {products, chunk_, s_.o});
    const detail::host_tensor<T> total(memory, {size});
    const detail::host_tensor<T> lost(memory, {single ? 0 : size});
    return with_isa(team_->level(), [&](auto loops) {
      using dense = dense_product<T, decltype(loops)>;
      const std::size_t part_size = s_.c * columns_at_a_time;
      const std::size_t scratch_size = part_size + dense::room_for(columns_at_a_time);
      const detail::host_tensor<T> scratch(memory, {team_->threads(), scratch_size});
      const detail::host_tensor<T> zeros(memory, {std::max(s_.c, s_.o)});
      std::fill_n(zeros.data(), zeros.size(), T{0});
      if (!single) {
        std::fill_n(total.data(), size, T{0});
        std::fill_n(lost.data(), size, T{0});
      }
      const std::size_t blocks = (s_.o + columns_at_a_time - 1) / columns_at_a_time;
      for (std::size_t first = 0; first < tiles_.count; first += chunk_) {
        const std::size_t count = std::min(chunk_, tiles_.count - first);
        transform(loops, x, dy, zeros.data(), first, count, inputs.data(), outputs.data());
        team_->run(products * blocks, [&](std::size_t task, std::size_t thread) {
          const std::size_t product = task / blocks;
          const std::size_t column = task % blocks * columns_at_a_time;
          const std::size_t columns = std::min(columns_at_a_time, s_.o - column);
          T* const part = scratch.data() + thread * scratch_size;
          const std::size_t offset = product * s_.c * s_.o + column;
          dense::multiply_deep_here(loops, {inputs.data() + product * chunk_ * s_.c, s_.c, true},
                                    {outputs.data() + product * chunk_ * s_.o + column, s_.o},
                                    single ? total.data() + offset : part,
                                    single ? s_.o : columns_at_a_time, {s_.c, columns, count},
                                    part + part_size, false);
          for (std::size_t c = 0; !single && c < s_.c; ++c) {
            loops.add_compensated(part + c * columns_at_a_time, total.data() + offset + c * s_.o,
                                  lost.data() + offset + c * s_.o, columns);
          }
        });
      }
      return restore(loops, total.data(), single ? nullptr : lost.data(), dw);
    });
  }

 private:
  static constexpr std::size_t side = 4;  // of a tile, in pixels
  static constexpr std::size_t products = side * side;
  // Transformed tiles of a chunk stay in a third-level cache.
  static constexpr std::size_t chunk_bytes = 4 << 20;
  static constexpr std::size_t min_chunk = 256;
  static constexpr std::size_t transformed_at_a_time = 16;
  static constexpr std::size_t columns_at_a_time = 64;

  template <class Loops>
  void transform(const Loops& loops, const T* x, const T* dy, const T* zeros, std::size_t first,
                 std::size_t count, T* inputs, T* outputs) const {
    const std::size_t blocks = (count + transformed_at_a_time - 1) / transformed_at_a_time;
    team_->run(blocks, [&](std::size_t block, std::size_t) {
      const std::size_t end = std::min(count, (block + 1) * transformed_at_a_time);
      for (std::size_t i = block * transformed_at_a_time; i < end; ++i) {
        const winograd_tile tile = tiles_.tile(first + i);
        const T* pixel[products];
        find_tile<side>(x + tile.image * s_.h * s_.w * s_.c, s_, tile.row, tile.column, zeros,
                        pixel);
        loops.template transform_tile<side>(pixel, s_.c, inputs + i * s_.c, chunk_ * s_.c);
        const T* gradient[4];
        for (std::size_t j = 0; j < 4; ++j) {
          const T* const target = tile.output(j, s_, dy);
          gradient[j] = target == nullptr ? zeros : target;
        }
        loops.transform_output_gradient(gradient, s_.o, outputs + i * s_.o, chunk_ * s_.o);
      }
    });
  }

  template <class Loops>
  [[nodiscard]] bool restore(const Loops& loops, T* total, const T* lost, T* dw) const {
    constexpr std::size_t per_register = Loops::register_bytes / sizeof(T);
    std::atomic<bool> finite{true};
    const std::size_t size = s_.c * s_.o;
    team_->run(s_.c, [&](std::size_t c, std::size_t) {
      T zeros[per_register] = {};
      for (std::size_t product = 0; lost != nullptr && product < products; ++product) {
        const std::size_t offset = product * size + c * s_.o;
        loops.end_compensated(total + offset, lost + offset, s_.o);
      }
      loops.restore_kernel_gradient(total + c * s_.o, size, s_.o, dw + c * s_.o, size, zeros);
      if (!std::all_of(zeros, zeros + per_register, [](T zero) { return zero == 0; })) {
        finite.store(false, std::memory_order_relaxed);
      }
    });
    return finite.load(std::memory_order_relaxed);
  }

  const workers* team_;
  kernels::window_sizes s_;
  winograd_tiles tiles_;
  std::size_t chunk_ = 0;  // number of tiles that are transformed together
};

}  // namespace glia::cpu_loops

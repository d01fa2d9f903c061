#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/blas.hpp"
#include "glia/backends/cpu/clamp_range.hpp"
#include "glia/backends/cpu/dense_product.hpp"
#include "glia/backends/cpu/density.hpp"
#include "glia/backends/cpu/depthwise_convolution.hpp"
#include "glia/backends/cpu/epilogue.hpp"
#include "glia/backends/cpu/gradient_lanes.hpp"
#include "glia/backends/cpu/patch_convolution.hpp"
#include "glia/backends/cpu/sparse_convolution.hpp"
#include "glia/backends/cpu/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/convolution.hpp"

namespace glia::cpu_loops {

/// Convolutions, bands of rows or whole images spread over the threads. Loops of 1x1 without
/// stride or padding are plain matrix products for BLAS; all others multiply the patches where they
/// lie, gradients from the nonzeros alone where there are few.
template <class T>
class convolution {
 public:
  using tensor = host_tensor<T>;

  explicit convolution(const workers& team) : team_(&team) {}

  void compute(const kernels::conv2d& k, const memory_pool& memory, const tensor& x,
               const tensor& w, const tensor& bias, const tensor& y) const {
    conv2d(x.data(), w.data(), bias.data(), k.map, y.data(),
           conv2d_rule(x.shape(), w.shape(), k.window, k.groups), memory);
  }
  void compute(const kernels::conv2d_input_gradient& k, const memory_pool& memory, const tensor& dy,
               const tensor& w, const tensor& dx) const {
    input_gradient(dy.data(), w.data(), dx.data(), k.sizes(dy.shape(), w.shape()), memory);
  }
  void compute(const kernels::conv2d_kernel_gradient& k, const memory_pool& memory, const tensor& x,
               const tensor& dy, const tensor& dw) const {
    kernel_gradient(x.data(), dy.data(), dw.data(), k.sizes(x.shape(), dy.shape()), memory);
  }

  void conv2d(const T* x, const T* w, const T* bias, const unary_map& map, T* y,
              const window_sizes& s, const memory_pool& memory) const {
    if (pointwise(s)) {
      const epilogue<T> all{bias, map};
      for_pixel_blocks(s, [&](auto loops, std::size_t first, std::size_t count) {
        multiply_here(loops, {x + first * s.c, s.c}, {w, s.o}, y + first * s.o, s.o,
                      {count, s.o, s.c});
        all.apply(loops, y + first * s.o, s.o, count, 0, s.o);
      });
      return;
    }
    const patch_convolution<T> c(s, memory);
    const clamp_range<T> range(map);
    const epilogue<T> last{nullptr, clamps(map) ? identity_map : map};
    const depthwise_convolution<T> d(c);
    const bool depthwise = depthwise_convolution<T>::applies(s);
    with_isa(team_->level(), [&](auto loops) {
      const host_tensor<T> packed = depthwise ? host_tensor<T>{} : c.pack(loops, w, bias, memory);
      const std::size_t rows =
          rows_per_block(s, depthwise ? d.rows_per_band(loops) : c.rows_per_band());
      const std::size_t bands = (s.oh + rows - 1) / rows;
      const std::size_t room = depthwise ? d.scratch_size(loops, rows) : c.band_size(rows);
      const host_tensor<T> scratch(memory, {team_->threads(), room});
      team_->run(s.n * bands, [&](std::size_t task, std::size_t thread) {
        const std::size_t first = task % bands * rows;
        const std::size_t count = std::min(rows, s.oh - first);
        const T* const image = x + task / bands * s.h * s.w * s.c;
        T* const mine = scratch.data() + thread * room;
        T* const to = y + (task / bands * s.oh + first) * s.ow * s.o;
        const row_band band = c.image().band(first, count);
        if (depthwise) {
          d.forward(loops, image, band, w, bias, to, range, mine);
        } else {
          c.forward(loops, c.image().read(image, band, mine), band, packed.data(), to, range);
        }
        last.apply(loops, to, s.ow * s.o, count, 0, s.ow * s.o);
      });
    });
  }

  void input_gradient(const T* dy, const T* w, T* dx, const window_sizes& s,
                      const memory_pool& memory) const {
    if (pointwise(s)) {
      for_pixel_blocks(s, [&](auto loops, std::size_t first, std::size_t count) {
        multiply_here(loops, {dy + first * s.o, s.o}, {w, s.o, true}, dx + first * s.c, s.c,
                      {count, s.c, s.o});
      });
      return;
    }
    const patch_convolution<T> c(s, memory);
    const sparse_convolution<T> sparse(c);
    const bool depthwise = depthwise_convolution<T>::applies(s);
    const bool listed = !depthwise && few_nonzeros(c, dy) && all_finite(*team_, w, c.depth() * s.o);
    with_isa(listed ? sparse.fitting(team_->level()) : team_->level(), [&](auto loops) {
      host_tensor<T> weights;
      if (listed) {
        weights = host_tensor<T>(memory, {s.o, c.depth()});
        loops.transpose_matrix(w, s.o, weights.data(), c.depth(), c.depth(), s.o);
      } else if (!depthwise) {
        weights = c.pack_transposed(loops, w, memory);
      }
      const std::size_t rows = c.rows_per_band();
      const host_tensor<T> scratch(memory, {team_->threads(), c.band_size(rows)});
      const typename sparse_convolution<T>::scratch room(s, listed ? rows : 0, team_->threads(),
                                                         memory);
      team_->run(s.n, [&](std::size_t image, std::size_t thread) {
        T* const padded = scratch.data() + thread * c.band_size(rows);
        T* const to = dx + image * s.h * s.w * s.c;
        std::size_t covered = 0;
        for (std::size_t first = 0; first < s.oh; first += rows) {
          const row_band band = c.image().band(first, std::min(rows, s.oh - first));
          const T* from = dy + (image * s.oh + first) * s.ow * s.o;
          std::fill_n(padded, c.band_size(band.rows), T{0});
          if (depthwise) {
            depthwise_convolution<T>(c).add_input_gradient(loops, from, band, w, padded);
          } else if (listed) {
            const gradient_lists<T> lists = room.of_thread(thread);
            sparse.list(loops, from, band, lists);
            sparse.add_input_gradient(loops, lists, band, weights.data(), padded);
          } else {
            c.add_input_gradient(loops, from, band, weights, padded);
          }
          covered = c.image().add(loops, padded, band, covered, to);
        }
        c.image().clear(to, covered, s.h);
      });
    });
  }

  void kernel_gradient(const T* x, const T* dy, T* dw, const window_sizes& s,
                       const memory_pool& memory) const {
    if (pointwise(s)) {
      sum_over_lanes(*team_, team_->level(), memory, s.n, s.c * s.o, dw,
                     [&](auto loops, std::size_t first, std::size_t images, T* sum, std::size_t) {
                       const std::size_t pixels = s.h * s.w;
                       multiply_here(loops, {x + first * pixels * s.c, s.c, true},
                                     {dy + first * pixels * s.o, s.o}, sum, s.o,
                                     {s.c, s.o, images * pixels});
                     });
      return;
    }
    const patch_convolution<T> c(s, memory);
    const sparse_convolution<T> sparse(c);
    const bool depthwise = depthwise_convolution<T>::applies(s);
    const bool listed =
        !depthwise && few_nonzeros(c, dy) && all_finite(*team_, x, s.input().size());
    const isa level = listed ? sparse.fitting(team_->level()) : team_->level();
    const std::size_t size = c.depth() * s.o;
    const std::size_t rows = c.rows_per_band();
    const std::size_t extra = with_isa(level, [&](auto loops) {
      return c.template kernel_gradient_scratch<decltype(loops)>(rows);
    });
    const std::size_t each = c.band_size(rows) + extra;
    const host_tensor<T> scratch(memory, {team_->threads(), each});
    const typename sparse_convolution<T>::scratch room(s, listed ? rows : 0, team_->threads(),
                                                       memory);
    const host_tensor<T> transposed(memory, {listed ? size : 0});
    sum_over_lanes(
        *team_, level, memory, s.n, size, listed ? transposed.data() : dw,
        [&](auto loops, std::size_t image, std::size_t images, T* sum, std::size_t thread) {
          T* const padded = scratch.data() + thread * each;
          std::fill_n(sum, size, T{0});
          for (; images > 0; ++image, --images) {
            for (std::size_t first = 0; first < s.oh; first += rows) {
              const row_band band = c.image().band(first, std::min(rows, s.oh - first));
              const T* from = c.image().read(x + image * s.h * s.w * s.c, band, padded);
              const T* gradient = dy + (image * s.oh + first) * s.ow * s.o;
              if (depthwise) {
                depthwise_convolution<T>(c).add_kernel_gradient(loops, from, band, gradient, sum);
              } else if (listed) {
                const gradient_lists<T> lists = room.of_thread(thread);
                sparse.list(loops, gradient, band, lists);
                sparse.add_kernel_gradient(loops, from, lists, sum);
              } else {
                c.add_kernel_gradient(loops, from, band, gradient, sum, padded + c.band_size(rows));
              }
            }
          }
        });
    if (listed) {
      with_isa(team_->level(), [&](auto loops) {
        loops.transpose_matrix(transposed.data(), c.depth(), dw, s.o, s.o, c.depth());
      });
    }
  }

 private:
  // With fewer images than this, rows are shared out among the threads as well.
  static constexpr std::size_t few_images = 8;

  static bool pointwise(const window_sizes& s) {
    return s.window == window2d{.height = 1, .width = 1} && s.groups == 1;
  }

  /// One of several products that threads take on side by side.
  template <class Loops>
  void multiply_here(const Loops& loops, const matrix<T>& a, const matrix<T>& b, T* c,
                     std::size_t c_row, const matmul_sizes& sizes) const {
    if (team_->blas_fits()) {
      gemm<T>(sizes.m, sizes.n, sizes.k, a, b, T{0}, c, c_row);
    } else {
      dense_product<T, Loops>::multiply_here(loops, a, b, c, c_row, sizes);
    }
  }

  static std::size_t rows_per_block(const window_sizes& s, std::size_t most) {
    return s.n >= few_images ? most : std::min(most, (s.oh + 3) / 4);
  }

  /// body(loops, first, count) for blocks of the pixels of all images.
  template <class Body>
  void for_pixel_blocks(const window_sizes& s, const Body& body) const {
    const single_threaded_blas one_thread_each;
    const std::size_t pixels = s.n * s.h * s.w;
    const std::size_t block = pixels_per_block(pixels);
    with_isa(team_->level(), [&](auto loops) {
      team_->run((pixels + block - 1) / block, [&](std::size_t task, std::size_t) {
        body(loops, task * block, std::min(block, pixels - task * block));
      });
    });
  }

  /// Every block packs the weights, so it is not to be small; few pixels are to reach several
  /// threads nevertheless.
  static std::size_t pixels_per_block(std::size_t pixels) {
    constexpr std::size_t least = 96, most = 512, few_blocks = 8, alignment = 8;
    const std::size_t blocks = std::max(
        {(pixels + most - 1) / most, std::min(pixels / least, few_blocks), std::size_t{1}});
    const std::size_t block = (pixels + blocks - 1) / blocks;
    return (block + alignment - 1) / alignment * alignment;
  }

  [[nodiscard]] bool few_nonzeros(const patch_convolution<T>& c, const T* dy) const {
    return sparse_convolution<T>::possible(c) &&
           density(team_->level(), dy, c.sizes().output().size()) <
               sparse_convolution<T>::worthwhile_density;
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops

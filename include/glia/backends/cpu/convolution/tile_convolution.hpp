#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "glia/backends/cpu/convolution/patch_convolution.hpp"
#include "glia/backends/cpu/convolution/rounded_pixels.hpp"
#include "glia/backends/cpu/convolution/tile_kernel_gradient.hpp"
#include "glia/backends/cpu/products/epilogue.hpp"
#include "glia/backends/cpu/products/product_tiles.hpp"
#include "glia/backends/cpu/products/rounded_loops.hpp"
#include "glia/backends/cpu/products/rounded_product.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

/// Convolutions in one group with factors rounded to bfloat16, as matrix products in tiles; see
/// rounded_product.hpp. Patches are copied, because the rows of a tile have equal distances.
template <class Loops>
class tile_convolution {
 public:
  tile_convolution(const Loops& loops, const workers& team, const memory_pool& memory,
                   const kernels::window_sizes& s)
      : loops_(loops), team_(&team), memory_(&memory), s_(s) {}

  /// Computes y = map(x * w + bias). Each thread computes bands of at most `most_rows` rows, or
  /// several small images.
  void forward(const float* x, const float* w, const float* bias, const unary_map& map, float* y,
               std::size_t most_rows) const {
    const kernels::window_sizes& s = s_;
    const std::size_t taps = s.window.height * s.window.width;
    const std::size_t depth = taps * even_number(s.c);
    const std::size_t depth_words = product::whole_words(depth);
    const std::size_t panel_step = depth_words * product::width;
    const detail::host_tensor<float> panels = pack_weights(w, depth, panel_step);
    kernels::window_sizes in_words = s;
    in_words.c = product::words(even_number(s.c));
    const patch_convolution<float> c(in_words, *memory_);
    const std::size_t rows = std::min(c.rows_per_band(), most_rows);
    const std::size_t bands = (s.oh + rows - 1) / rows;
    const std::size_t images =
        bands > 1 ? 1 : std::max<std::size_t>(std::min(block / (s.oh * s.ow), s.n), 1);
    const std::size_t band_size = c.band_size(rows);
    const std::size_t size = images * band_size + product::left_size(depth, block);
    const detail::host_tensor<float> scratch(*memory_, {team_->threads(), size});
    const epilogue<float> last{bias, map};
    team_->run((s.n + images - 1) / images * bands, [&](std::size_t task, std::size_t thread) {
      const std::size_t image = task / bands * images;
      const std::size_t first = task % bands * rows;
      const row_band band = c.image().band(first, std::min(rows, s.oh - first));
      float* const words = scratch.data() + thread * size;
      float* const copies = words + images * band_size;
      const patch_grid grid = c.image().grid(band);
      const std::size_t of_image = grid.count();
      const std::size_t pixels = std::min(images, s.n - image) * of_image;
      for (std::size_t i = 0; i * of_image < pixels; ++i) {
        round_band(loops_, s, x + (image + i) * s.h * s.w * s.c, c, band, words + i * band_size);
      }
      float* const target = y + (image * s.oh + first) * s.ow * s.o;
      for (std::size_t pixel = 0; pixel < pixels; pixel += block) {
        const std::size_t count = std::min(block, pixels - pixel);
        std::array<const float*, block> patches;
        for (std::size_t p = 0; p < count; ++p) {
          const std::size_t position = (pixel + p) % of_image;
          patches[p] = words + (pixel + p) / of_image * band_size +
                       grid.offset(position / s.ow, position % s.ow);
        }
        float* const block_target = target + pixel * s.o;
        product::multiply_block(
            loops_,
            [&](std::size_t begin, std::size_t factors_of_part, std::size_t length) {
              copy_patches(c, patches.data(), count, product::words(begin),
                           product::words(factors_of_part), length, copies);
              return typename product::left_rows{copies, length, 1};
            },
            depth, depth_words, panels.data(), panel_step, block_target, s.o, count, s.o);
        last.apply(loops_, block_target, s.o, count, 0, s.o);
      }
    });
  }

  /// Computes dx from dy and w. For blocks of pixels of dy and each pixel of the window, adds the
  /// product of dy (pixels, O) and the transposed weights (O, C) to the patches.
  void input_gradient(const float* dy, const float* w, float* dx) const {
    const kernels::window_sizes& s = s_;
    const patch_convolution<float> c(s, *memory_, {.whole_rows = false});
    const std::size_t columns = c.run_length();
    const std::size_t panel_step = product::words(s.o) * product::width;
    const std::size_t run_panels = product::right_size(s.o, columns);
    const detail::host_tensor<float> panels(*memory_, {c.runs().size(), run_panels});
    team_->run(c.runs().size(), [&](std::size_t run, std::size_t) {
      product::pack(loops_, {w + run * columns * s.o, s.o, true}, s.o, columns,
                    panels.data() + run * run_panels, panel_step);
    });
    const std::size_t rows = c.rows_per_band();
    const std::size_t left_size = product::left_size(s.o, block);
    const std::size_t size = c.band_size(rows) + left_size + block * columns;
    const detail::host_tensor<float> scratch(*memory_, {team_->threads(), size});
    team_->run(s.n, [&](std::size_t image, std::size_t thread) {
      float* const padded = scratch.data() + thread * size;
      float* const left = padded + c.band_size(rows);
      float* const products = left + left_size;
      float* const target = dx + image * s.h * s.w * s.c;
      std::size_t covered = 0;
      for (std::size_t first = 0; first < s.oh; first += rows) {
        const row_band band = c.image().band(first, std::min(rows, s.oh - first));
        const patch_grid grid = c.image().grid(band);
        const float* const source = dy + (image * s.oh + first) * s.ow * s.o;
        std::fill_n(padded, c.band_size(band.rows), 0.0F);
        for (std::size_t pixel = 0; pixel < grid.count(); pixel += block) {
          const std::size_t count = std::min(block, grid.count() - pixel);
          std::array<float*, block> patches;
          for (std::size_t p = 0; p < count; ++p) {
            patches[p] = padded + grid.offset((pixel + p) / s.ow, (pixel + p) % s.ow);
          }
          for (std::size_t run = 0; run < c.runs().size(); ++run) {
            product::multiply_packed(loops_, {source + pixel * s.o, s.o},
                                     panels.data() + run * run_panels, panel_step, products,
                                     columns, {count, columns, s.o}, left);
            for (std::size_t p = 0; p < count; ++p) {
              loops_.add(products + p * columns, patches[p] + c.runs()[run], columns);
            }
          }
        }
        covered = c.image().add(loops_, padded, band, covered, target);
      }
      c.image().clear(target, covered, s.h);
    });
  }

  /// Computes dw from x and dy.
  void kernel_gradient(const float* x, const float* dy, float* dw) const {
    tile_kernel_gradient<Loops>(loops_, *team_, *memory_, s_).compute(x, dy, dw);
  }

  /// Implements `rounded_loops::multiply_patches`.
  static void multiply_patches(const Loops& loops, const patch_products<float>& products,
                               const float* words, std::size_t patches, float* const* out,
                               const unary_map& map) {
    [[maybe_unused]] const typename Loops::tile_state state{};
    alignas(64) float sums[block * product::width];
    const float* panel = products.panels;
    for (std::size_t first = 0; first < products.outputs; first += product::width) {
      // A part of the panel stays in a first-level cache.
      constexpr std::size_t part = product::words(product::part);
      for (std::size_t k = 0; k < products.depth; k += part) {
        multiply_tiles(loops, typename product::left_rows{words + k, products.depth, 1},
                       std::min(part, products.depth - k), panel + (1 + k) * product::width,
                       product::width, sums, product::width, {0, patches, 0, product::width},
                       k > 0);
      }
      const std::size_t count = std::min(product::width, products.outputs - first);
      for (std::size_t p = 0; p < patches; ++p) {
        float* const target = out[p] + first / product::width * products.out_step;
        std::copy_n(sums + p * product::width, count, target);
        loops.bias_unary(map, panel, target, count);
      }
      panel += (1 + products.panel_depth) * product::width;
    }
  }

 private:
  using product = rounded_product<Loops>;

  /// Number of patches that are multiplied together.
  static constexpr std::size_t block = rounded_loops<float>::max_patches;

  /// Packs w (height, width, C, O) into panels, with zeros for an odd channel.
  [[nodiscard]] detail::host_tensor<float> pack_weights(const float* w, std::size_t depth,
                                                        std::size_t panel_step) const {
    const kernels::window_sizes& s = s_;
    const bool odd = s.c != even_number(s.c);
    detail::host_tensor<float> filled;
    if (odd) {
      filled = detail::host_tensor<float>(*memory_, {depth, s.o});
      std::fill_n(filled.data(), filled.size(), 0.0F);
      for (std::size_t tap = 0; tap < s.window.height * s.window.width; ++tap) {
        std::copy_n(w + tap * s.c * s.o, s.c * s.o, filled.data() + tap * even_number(s.c) * s.o);
      }
    }
    const matrix<float> weights{odd ? filled.data() : w, s.o};
    const std::size_t count = (s.o + product::width - 1) / product::width;
    detail::host_tensor<float> panels(*memory_, {count, panel_step});
    team_->run(count, [&](std::size_t panel, std::size_t) {
      const std::size_t first = panel * product::width;
      product::pack_whole_panel(loops_, weights.columns_from(first), depth,
                                std::min(product::width, s.o - first),
                                panels.data() + panel * panel_step);
    });
    return panels;
  }

  /// Copies the words first ... first + depth - 1 of some patches, one patch after the other. Zeros
  /// fill each copy up to `step` words.
  static void copy_patches(const patch_convolution<float>& c, const float* const* patch,
                           std::size_t count, std::size_t first, std::size_t depth,
                           std::size_t step, float* target) {
    std::size_t length = 0;
    for (std::size_t position = 0; position < depth; position += length) {
      const std::size_t run = (first + position) / c.run_length();
      const std::size_t offset = (first + position) % c.run_length();
      length = std::min(c.run_length() - offset, depth - position);
      for (std::size_t p = 0; p < count; ++p) {
        std::copy_n(patch[p] + c.runs()[run] + offset, length, target + p * step + position);
      }
    }
    for (std::size_t p = 0; p < count && depth < step; ++p) {
      std::fill(target + p * step + depth, target + (p + 1) * step, 0.0F);
    }
  }

  Loops loops_;
  const workers* team_;
  const memory_pool* memory_;
  kernels::window_sizes s_;
};

}  // namespace glia::cpu_loops

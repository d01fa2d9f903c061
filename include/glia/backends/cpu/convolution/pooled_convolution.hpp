#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/convolution/convolution.hpp"
#include "glia/backends/cpu/convolution/patch_convolution.hpp"
#include "glia/backends/cpu/convolution/sparse_convolution.hpp"
#include "glia/backends/cpu/convolution/winograd_pooling.hpp"
#include "glia/backends/cpu/loops/clamp_range.hpp"
#include "glia/backends/cpu/loops/pool_window.hpp"
#include "glia/backends/cpu/products/density.hpp"
#include "glia/backends/cpu/threads/gradient_lanes.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/packed_weights.hpp"
#include "glia/kernels/pooled_convolution.hpp"

namespace glia::cpu_loops {

/// Computes a convolution, a clamping activation and a max pooling with windows that do not
/// overlap, in one pass. Values that the pooling drops never leave the first-level cache. For the
/// backward pass, each output keeps one byte: the position of the maximum in its window, or `cut`
/// if the clamp blocks the gradient. The gradients are computed only from elements that carry a
/// gradient.
template <class T>
class pooled_convolution {
 public:
  using tensor = tensor_view<T>;

  explicit pooled_convolution(const workers& team) : team_(&team) {}

  void compute(const kernels::conv2d_max_pool2d& k, const memory_pool& memory, const tensor& x,
               const tensor& w, const tensor& bias, const tensor& y, const tensor& position) const {
    const window_sizes s = conv2d_rule(x.shape(), w.shape(), k.how.window, k.how.groups);
    forward(x.data(), {.plain = w.data(), .bias = bias.data()}, k.map, y.data(), position.bytes(),
            s, pool_rule(s.output(), k.how.pool), memory);
  }
  void compute(const kernels::packed_conv2d_max_pool2d& k, const memory_pool& memory,
               const tensor& x, const tensor& w, const tensor& bias, const tensor& packed,
               const tensor& y) const {
    const window_sizes s = conv2d_rule(x.shape(), w.shape(), k.how.window, k.how.groups);
    const bool transformed = k.is_transformed(packed.shape());
    forward(x.data(),
            {.plain = w.data(),
             .bias = bias.data(),
             .panels = transformed ? nullptr : packed.data(),
             .transformed = transformed ? packed.data() : nullptr},
            k.map, y.data(), nullptr, s, pool_rule(s.output(), k.how.pool), memory);
  }
  void compute(const kernels::conv2d_max_pool2d_gradient& k, const memory_pool& memory,
               const tensor& dy, const tensor& x, const tensor& w, const tensor& position,
               const tensor& dx, const tensor& dw, const tensor& dbias) const {
    const window_sizes s = conv2d_rule(x.shape(), w.shape(), k.how.window, k.how.groups);
    gradient(dy.data(), x.data(), w.data(), position.bytes(), dx.data(), dw.data(), dbias.data(), s,
             pool_rule(s.output(), k.how.pool), memory);
  }

 private:
  /// The weights, the bias and an optional packed form: `panels` from `pack_panels`, which includes
  /// the bias, or `transformed` from `pack_transformed`. A form that is not given is null.
  struct given_weights {
    const T* plain;
    const T* bias;
    const T* panels = nullptr;
    const T* transformed = nullptr;
  };

  /// Computes y and `position`; `position` may be null.
  void forward(const T* x, const given_weights& w, const unary_map& map, T* y,
               std::uint8_t* position, const window_sizes& s, const window_sizes& pool,
               const memory_pool& memory) const {
    const patch_convolution<T> c(s, memory);
    const clamp_range<T> clamp(map);
    with_isa(team_->level(), [&](auto loops) {
      if (winograd_pooling<T>::template applies<decltype(loops)>(s, pool.window) &&
          run_winograd(loops, winograd_pooling<T>(loops, w.plain, w.transformed, s, pool, memory),
                       x, w.bias, clamp, y, position, memory)) {
        return;
      }
      const host_tensor<T> made =
          w.panels == nullptr ? c.pack(loops, w.plain, w.bias, memory) : host_tensor<T>{};
      const T* const panels = w.panels == nullptr ? made.data() : w.panels;
      const pooled_rows cut_into(s, pool, first_level_bytes);
      // Longer sums are faster with six patches per tile than with the four patches of a window.
      const bool in_registers =
          pool.window.height == 2 && pool.window.width == 2 && c.depth() <= max_direct_depth;
      const std::size_t padded = c.band_size(cut_into.convolved);
      const std::size_t each = padded + (in_registers ? 0 : cut_into.convolved * s.ow * s.o);
      const host_tensor<T> scratch(memory, {team_->threads(), each});
      const std::size_t windows = in_registers ? cut_into.pooled * pool.ow : 0;
      const host_tensor<pooled_window> windows_of(memory, {team_->threads(), windows});
      team_->run(s.n * cut_into.bands, [&](std::size_t task, std::size_t thread) {
        T* const room = scratch.data() + thread * each;
        const std::size_t image = task / cut_into.bands;
        const std::size_t row = task % cut_into.bands * cut_into.pooled;
        const std::size_t rows = std::min(cut_into.pooled, pool.oh - row);
        const row_band band = cut_into.band(c, row, rows);
        const T* from = c.image().read(x + image * s.h * s.w * s.c, band, room);
        const std::size_t to = (image * pool.oh + row) * pool.ow * s.o;
        std::uint8_t* const winners = position == nullptr ? nullptr : position + to;
        if (in_registers) {
          pool_in_registers(loops, c, from, panels, clamp, pool, rows,
                            windows_of.data() + thread * windows, y + to, winners);
        } else {
          c.forward(loops, from, band, panels, room + padded, store_sums{});
          for_windows(pool, rows, [&](std::size_t at, std::size_t out, const pool_window& window) {
            loops.template max_of_window<true>(room + padded + at, window, s.o, y + to + out,
                                               winners == nullptr ? nullptr : winners + out, clamp);
          });
        }
      });
    });
  }

  /// Computes the gradients dw (height, width, C / groups, O), db (O) and dx. dx may be null.
  void gradient(const T* dy, const T* x, const T* w, const std::uint8_t* position, T* dx, T* dw,
                T* db, const window_sizes& s, const window_sizes& pool,
                const memory_pool& memory) const {
    const patch_convolution<T> c(s, memory);
    // The code below skips products with zeros. It therefore checks images and gradients as they
    // enter the cache. If a value is not finite, everything is computed again without skipping.
    if (!all_finite(*team_, w, c.depth() * s.o)) {
      gradient_of_both(dy, x, w, position, dx, dw, db, s, pool, memory);
      return;
    }
    std::atomic<bool> finite{true};
    const sparse_convolution<T> sparse(c);
    const bool listed = sparse_convolution<T>::possible(c);
    const isa level = listed ? sparse.fitting(team_->level()) : team_->level();
    // Without an input gradient, a few products per output do not need a spread copy of the
    // gradient.
    const bool direct = !listed && dx == nullptr && s.groups == 1 && c.depth() <= max_direct_depth;
    const std::size_t size = c.depth() * s.o;
    const pooled_rows cut_into(s, pool, listed ? second_level_bytes : first_level_bytes);
    const std::size_t padded = c.band_size(cut_into.convolved);
    const std::size_t spread = listed || direct ? 0 : cut_into.convolved * s.ow * s.o;
    const std::size_t extra = with_isa(level, [&](auto loops) {
      return listed || direct
                 ? std::size_t{0}
                 : c.template kernel_gradient_scratch<decltype(loops)>(cut_into.convolved);
    });
    const std::size_t each = 2 * padded + spread + extra;
    const host_tensor<T> scratch(memory, {team_->threads(), each});
    const typename sparse_convolution<T>::scratch lists_of(s, listed ? cut_into.convolved : 0,
                                                           team_->threads(), memory);
    const std::size_t windows = direct ? cut_into.pooled * pool.ow : 0;
    const host_tensor<pooled_window> windows_of(memory, {team_->threads(), windows});
    const host_tensor<T> weights = input_weights(c, listed, dx == nullptr ? nullptr : w, memory);
    const host_tensor<T> sums(memory, {size + s.o});

    sum_over_lanes(
        *team_, level, memory, s.n, size + s.o, sums.data(),
        [&](std::size_t images) {
          return images *
                 c.kernel_gradient_parts(cut_into.bands * cut_into.convolved, cut_into.convolved);
        },
        [&](auto loops, std::size_t image, std::size_t images, auto& lane, std::size_t thread) {
          T* const read = scratch.data() + thread * each;
          T* const written = read + padded;
          T* const gradient = written + padded;
          const gradient_lists<T> lists = lists_of.of_thread(thread);
          for (; images > 0; ++image, --images) {
            const std::size_t at_x = image * s.h * s.w * s.c;
            const std::size_t pooled = pool.oh * pool.ow * s.o;
            if (!loops.all_finite(x + at_x, s.h * s.w * s.c) ||
                !loops.all_finite(dy + image * pooled, pooled)) {
              finite.store(false, std::memory_order_relaxed);
              return;
            }
            std::size_t covered = 0;
            for (std::size_t row = 0; row < pool.oh; row += cut_into.pooled) {
              const std::size_t rows = std::min(cut_into.pooled, pool.oh - row);
              const std::size_t at_y = (image * pool.oh + row) * pool.ow * s.o;
              const row_band band = cut_into.band(c, row, rows);
              const T* from = c.image().read(x + at_x, band, read);
              for_chains(rows * pool.ow, [&](std::size_t first, std::size_t count) {
                const std::size_t at = at_y + first * s.o;
                loops.add_kept(dy + at, position + at, clamp_range<T>::cut, count, s.o,
                               lane.data() + size);
              });
              if (listed) {
                sparse.list_pooled(loops, dy + at_y, position + at_y, pool, rows, lists);
                sparse.add_kernel_gradient(loops, from, lists, lane.data());
                lane.added(c.image().grid(band).parts());
              } else if (direct) {
                add_directly(loops, c, from, dy + at_y, position + at_y, pool, rows, lane.data(),
                             windows_of.data() + thread * windows);
                lane.added(c.image().grid(band).parts());
              } else {
                spread_band(loops, dy + at_y, position + at_y, pool, rows, band, gradient);
                c.add_kernel_gradient(loops, from, band, gradient, lane, gradient + spread);
              }
              if (dx == nullptr) {
                continue;
              }
              std::fill_n(written, c.band_size(band.rows), T{0});
              if (listed) {
                sparse.add_input_gradient(loops, lists, band, weights.data(), written);
              } else {
                c.add_input_gradient(loops, gradient, band, weights, written);
              }
              covered = c.image().add(loops, written, band, covered, dx + at_x);
            }
            if (dx != nullptr) {
              c.image().clear(dx + at_x, covered, s.h);
            }
          }
        });
    if (!finite.load(std::memory_order_relaxed)) {
      gradient_of_both(dy, x, w, position, dx, dw, db, s, pool, memory);
      return;
    }
    with_isa(team_->level(), [&](auto loops) {
      if (listed) {
        loops.transpose_matrix(sums.data(), c.depth(), dw, s.o, s.o, c.depth());
      } else {
        std::copy_n(sums.data(), size, dw);
      }
      std::copy_n(sums.data() + size, s.o, db);
    });
  }

  static constexpr std::size_t max_direct_depth = 32;
  static constexpr std::size_t first_level_bytes = 24 << 10;
  static constexpr std::size_t second_level_bytes = 128 << 10;

  /// How an image is cut into bands of pooled rows, and the convolution rows of a band.
  struct pooled_rows {
    pooled_rows(const window_sizes& s, const window_sizes& pool, std::size_t bytes)
        : window(pool.window),
          pooled(std::clamp<std::size_t>(bytes / (window.stride_height * s.ow * s.o * sizeof(T)), 1,
                                         pool.oh)),
          bands((pool.oh + pooled - 1) / pooled),
          convolved(rows(pooled)) {}

    [[nodiscard]] std::size_t rows(std::size_t of_pooled) const {
      return (of_pooled - 1) * window.stride_height + window.height;
    }
    [[nodiscard]] row_band band(const patch_convolution<T>& c, std::size_t first,
                                std::size_t of_pooled) const {
      return c.image().band(first * window.stride_height, rows(of_pooled));
    }

    window2d window;
    std::size_t pooled;     // rows per band
    std::size_t bands;      // per image
    std::size_t convolved;  // rows of the convolution in a full band
  };

  /// Calls visit(offset in the band's convolution, offset in its pooled rows, window).
  template <class Visit>
  static void for_windows(const window_sizes& pool, std::size_t rows, const Visit& visit) {
    const window2d& k = pool.window;
    const pool_window window{k.height, k.width, pool.w * pool.c, pool.c, 0, k.width};
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < pool.ow; ++column) {
        visit((row * k.stride_height * pool.w + column * k.stride_width) * pool.c,
              (row * pool.ow + column) * pool.c, window);
      }
    }
  }

  /// Offsets of the patches of one window, relative to its first patch.
  struct window_patches {
    window_patches(const patch_grid& grid, const window2d& k) : count(k.height * k.width) {
      for (std::size_t p = 0; p < count; ++p) {
        offset[p] = static_cast<std::uint32_t>(p / k.width * grid.row_step +
                                               p % k.width * grid.column_step);
      }
    }
    std::array<std::uint32_t, 256> offset;  // the first `count` are used
    std::size_t count;
  };

  static pooled_window_grid window_grid(const patch_convolution<T>& c, const window_sizes& pool,
                                        std::size_t rows) {
    const window2d& k = c.sizes().window;
    const std::size_t row_size = c.image().row_size();
    const std::size_t seen_columns =
        (pool.window.width - 1) * k.stride_width + (k.width - 1) * k.dilation_width + 1;
    return {.rows = rows,
            .columns = pool.ow,
            .row_step = pool.window.stride_height * k.stride_height * row_size,
            .column_step = pool.window.stride_width * k.stride_width * c.sizes().c,
            .seen_rows = c.image().band(0, pool.window.height).input_rows,
            .seen_columns = seen_columns * c.sizes().c,
            .seen_row_step = row_size,
            .channels = pool.c};
  }

  template <class Loops>
  [[nodiscard]] bool run_winograd(const Loops& loops, const winograd_pooling<T>& w, const T* x,
                                  const T* bias, const clamp_range<T>& clamp, T* y,
                                  std::uint8_t* position, const memory_pool& memory) const {
    const host_tensor<T> scratch(memory, {team_->threads(), w.scratch_size()});
    constexpr std::size_t block = winograd_pooling<T>::windows_per_block;
    std::atomic<bool> finite{true};
    team_->run((w.windows() + block - 1) / block, [&](std::size_t task, std::size_t thread) {
      if (!w.run(loops, x, bias, clamp, task * block, std::min(block, w.windows() - task * block),
                 y, position, scratch.data() + thread * w.scratch_size())) {
        finite.store(false, std::memory_order_relaxed);
      }
    });
    return finite.load(std::memory_order_relaxed);
  }

  /// Handles 2 x 2 windows. No output of the convolution is ever stored. All windows that read only
  /// zeros, for example the black background of drawings, have the same outputs.
  template <class Loops>
  static void pool_in_registers(const Loops& loops, const patch_convolution<T>& c, const T* x,
                                const T* packed, const clamp_range<T>& clamp,
                                const window_sizes& pool, std::size_t rows, pooled_window* windows,
                                T* y, std::uint8_t* position) {
    const pooled_window_grid grid = window_grid(c, pool, rows);
    const window_patches patches(c.image().grid(c.image().band(0, 1)), pool.window);
    const std::size_t listed = loops.list_windows(x, grid, windows);
    const std::size_t blank = grid.count() - listed;
    c.template for_panels<Loops>([&](std::size_t panel, std::size_t group, std::size_t output,
                                     std::size_t outputs) {
      loops.multiply_and_pool(
          x + group * c.sizes().group_inputs(), windows, listed + std::min<std::size_t>(blank, 1),
          patches.offset.data(), c.offsets(), c.depth(), c.template panel<Loops>(packed, panel),
          outputs, clamp, y + output, position == nullptr ? nullptr : position + output);
    });
    if (blank > 1) {
      loops.repeat_output(y, windows + listed, blank, pool.c);
      if (position != nullptr) {
        loops.repeat_output(position, windows + listed, blank, pool.c);
      }
    }
  }

  /// Adds to dw the contributions of all windows that read a nonzero element.
  template <class Loops>
  static void add_directly(const Loops& loops, const patch_convolution<T>& c, const T* x,
                           const T* dy, const std::uint8_t* position, const window_sizes& pool,
                           std::size_t rows, T* dw, pooled_window* windows) {
    const window_patches patches(c.image().grid(c.image().band(0, 1)), pool.window);
    const std::size_t listed = loops.list_windows(x, window_grid(c, pool, rows), windows);
    constexpr std::size_t block = 6;
    for (std::size_t k = 0; k < c.depth(); k += block) {
      for_chains(listed, [&](std::size_t first, std::size_t count) {
        loops.add_pooled_kernel_gradient(
            x, windows + first, count, patches.offset.data(), patches.count, c.offsets() + k,
            std::min(block, c.depth() - k), dy, position, pool.c, dw + k * pool.c);
      });
    }
  }

  /// Calls body(first, count) for parts of 0 ... n - 1 that have at most product_chain elements.
  template <class Body>
  static void for_chains(std::size_t n, const Body& body) {
    for (std::size_t first = 0; first < n; first += product_chain) {
      body(first, std::min(product_chain, n - first));
    }
  }

  /// Computes the same gradients, with the gradient of the pooling spread over the outputs of the
  /// convolution.
  void gradient_of_both(const T* dy, const T* x, const T* w, const std::uint8_t* position, T* dx,
                        T* dw, T* db, const window_sizes& s, const window_sizes& pool,
                        const memory_pool& memory) const {
    const std::size_t rows = s.oh * s.ow;
    const host_tensor<T> spread(memory, s.output());
    std::fill_n(spread.data(), spread.size(), T{0});
    with_isa(team_->level(), [&](auto loops) {
      for (std::size_t image = 0; image < s.n; ++image) {
        const std::size_t pooled = image * pool.oh * pool.ow * s.o;
        T* const to = spread.data() + image * rows * s.o;
        for_windows(pool, pool.oh, [&](std::size_t at, std::size_t out, const pool_window& window) {
          loops.template spread_max<false>(dy + pooled + out, position + pooled + out, window, s.o,
                                           to + at);
        });
      }
      loops.sum_rows(spread.data(), s.o, s.n * rows, db, s.o);
    });
    const convolution<T> apart(*team_);
    apart.kernel_gradient(x, spread.data(), dw, s, memory);
    if (dx != nullptr) {
      apart.input_gradient(spread.data(), w, dx, s, memory);
    }
  }

  template <class Loops>
  static void spread_band(const Loops& loops, const T* dy, const std::uint8_t* position,
                          const window_sizes& pool, std::size_t rows, const row_band& band,
                          T* gradient) {
    const window2d& k = pool.window;
    if (k.stride_height != k.height || k.stride_width != k.width || pool.ow * k.width != pool.w) {
      std::fill_n(gradient, band.rows * pool.w * pool.c, T{0});
    }
    for_windows(pool, rows, [&](std::size_t at, std::size_t output, const pool_window& window) {
      loops.template spread_max<false>(dy + output, position + output, window, pool.c,
                                       gradient + at);
    });
  }

  /// Returns the weights for the input gradient, or an empty tensor if w is null.
  [[nodiscard]] host_tensor<T> input_weights(const patch_convolution<T>& c, bool listed, const T* w,
                                             const memory_pool& memory) const {
    return with_isa(team_->level(), [&](auto loops) {
      if (w == nullptr || !listed) {
        return w == nullptr ? host_tensor<T>{} : c.pack_transposed(loops, w, memory);
      }
      const std::size_t outputs = c.sizes().o;
      host_tensor<T> weights(memory, {outputs, c.depth()});
      loops.transpose_matrix(w, outputs, weights.data(), c.depth(), c.depth(), outputs);
      return weights;
    });
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops

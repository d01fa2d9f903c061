#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "glia/backends/cpu/convolution/convolution.hpp"
#include "glia/backends/cpu/convolution/patch_convolution.hpp"
#include "glia/backends/cpu/convolution/pooled_gradient.hpp"
#include "glia/backends/cpu/convolution/pooled_rows.hpp"
#include "glia/backends/cpu/convolution/winograd_pooling.hpp"
#include "glia/backends/cpu/loops/clamp_range.hpp"
#include "glia/backends/cpu/loops/pool_window.hpp"
#include "glia/backends/cpu/products/density.hpp"
#include "glia/backends/cpu/products/rounded_loops.hpp"
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
  using tensor = detail::tensor_view<T>;

  explicit pooled_convolution(const workers& team) : team_(&team) {}

  void compute(const kernels::conv2d_max_pool2d& k, const memory_pool& memory, const tensor& x,
               const tensor& w, const tensor& bias, const tensor& y, const tensor& position) const {
    const kernels::window_sizes s =
        kernels::conv2d_rule(x.shape(), w.shape(), k.geometry.window, k.geometry.groups);
    forward(x.data(), {.plain = w.data(), .bias = bias.data()}, k.map, y.data(), position.bytes(),
            s, kernels::pool_rule(s.output(), k.geometry.pool), memory);
  }
  void compute(const kernels::packed_conv2d_max_pool2d& k, const memory_pool& memory,
               const tensor& x, const tensor& w, const tensor& bias, const tensor& packed,
               const tensor& y) const {
    const kernels::window_sizes s =
        kernels::conv2d_rule(x.shape(), w.shape(), k.geometry.window, k.geometry.groups);
    const bool transformed = k.is_transformed(packed.shape());
    forward(x.data(),
            {.plain = w.data(),
             .bias = bias.data(),
             .panels = transformed ? nullptr : packed.data(),
             .transformed = transformed ? packed.data() : nullptr},
            k.map, y.data(), nullptr, s, kernels::pool_rule(s.output(), k.geometry.pool), memory);
  }
  void compute(const kernels::conv2d_max_pool2d_gradient& k, const memory_pool& memory,
               const tensor& dy, const tensor& x, const tensor& w, const tensor& position,
               const tensor& dx, const tensor& dw, const tensor& dbias) const {
    const kernels::window_sizes s =
        kernels::conv2d_rule(x.shape(), w.shape(), k.geometry.window, k.geometry.groups);
    gradient({dy.data(), x.data(), w.data(), position.bytes(), dx.data(), dw.data(), dbias.data()},
             s, kernels::pool_rule(s.output(), k.geometry.pool), memory);
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
               std::uint8_t* position, const kernels::window_sizes& s,
               const kernels::window_sizes& pool, const memory_pool& memory) const {
    const patch_convolution<T> c(s, memory);
    const clamp_range<T> clamp(map);
    // Longer sums are faster with six patches per tile than with the four patches of a window.
    const bool in_registers =
        pool.window.height == 2 && pool.window.width == 2 && c.depth() <= max_direct_depth;
    with_isa(team_->level(), [&](auto loops) {
      if (winograd_pooling<T>::template applies<decltype(loops)>(s, pool.window)) {
        const winograd_pooling<T> winograd(loops, *team_, w.plain, w.transformed, s, pool, memory);
        if (run_winograd(loops, winograd, x, w.bias, clamp, y, position, memory)) {
          return;
        }
        if (s.n > 1 && all_finite(*team_, w.plain, s.weights().size())) {
          forward_apart(x, w, map, y, position, s, pool, memory);
          return;
        }
      }
      if (team_->rounded<T>() != nullptr && !in_registers && worth_rounding(s)) {
        pool_rounded(loops, x, w, clamp, y, position, s, pool, memory);
        return;
      }
      const detail::host_tensor<T> packed =
          w.panels == nullptr ? c.pack(loops, w.plain, w.bias, memory) : detail::host_tensor<T>{};
      const T* const panels = w.panels == nullptr ? packed.data() : w.panels;
      const pooled_rows<T> bands(s, pool, first_level_bytes);
      const std::size_t padded = c.band_size(bands.convolved);
      const std::size_t scratch_size = padded + (in_registers ? 0 : bands.convolved * s.ow * s.o);
      const detail::host_tensor<T> scratch(memory, {team_->threads(), scratch_size});
      const std::size_t windows = in_registers ? bands.pooled * pool.ow : 0;
      const detail::host_tensor<pooled_window> windows_of(memory, {team_->threads(), windows});
      team_->run(s.n * bands.bands, [&](std::size_t task, std::size_t thread) {
        T* const memory_of_thread = scratch.data() + thread * scratch_size;
        const std::size_t image = task / bands.bands;
        const std::size_t row = task % bands.bands * bands.pooled;
        const std::size_t rows = std::min(bands.pooled, pool.oh - row);
        const row_band band = bands.band(c, row, rows);
        const T* source = c.image().read(x + image * s.h * s.w * s.c, band, memory_of_thread);
        const std::size_t target = (image * pool.oh + row) * pool.ow * s.o;
        std::uint8_t* const winners = position == nullptr ? nullptr : position + target;
        if (in_registers) {
          pool_in_registers(loops, c, source, panels, clamp, pool, rows,
                            windows_of.data() + thread * windows, y + target, winners);
        } else {
          c.forward(loops, source, band, panels, memory_of_thread + padded, store_sums{});
          for_windows(pool, rows,
                      [&](std::size_t offset, std::size_t out, const pool_window& window) {
                        loops.template max_of_window<true>(
                            memory_of_thread + padded + offset, window, s.o, y + target + out,
                            winners == nullptr ? nullptr : winners + out, clamp);
                      });
        }
      });
    });
  }

  /// Computes y and `position` image by image, because one has a number that is not finite: the
  /// others keep their bits.
  void forward_apart(const T* x, const given_weights& w, const unary_map& map, T* y,
                     std::uint8_t* position, kernels::window_sizes s, kernels::window_sizes pool,
                     const memory_pool& memory) const {
    const std::size_t images = std::exchange(s.n, 1);
    pool.n = 1;
    for (std::size_t i = 0; i < images; ++i) {
      const std::size_t target = i * pool.oh * pool.ow * s.o;
      forward(x + i * s.h * s.w * s.c, w, map, y + target,
              position == nullptr ? nullptr : position + target, s, pool, memory);
    }
  }

  /// Computes the convolution of rounded factors and then the pooling.
  template <class Loops>
  void pool_rounded(const Loops& loops, const T* x, const given_weights& w,
                    const clamp_range<T>& clamp, T* y, std::uint8_t* position,
                    const kernels::window_sizes& s, const kernels::window_sizes& pool,
                    const memory_pool& memory) const {
    const detail::host_tensor<T> convolved(memory, s.output());
    team_->rounded<T>()->convolve(*team_, memory, s, x, w.plain, w.bias, kernels::identity_map,
                                  convolved.data(), s.oh);
    team_->run(s.n, [&](std::size_t image, std::size_t) {
      const T* const source = convolved.data() + image * s.oh * s.ow * s.o;
      const std::size_t target = image * pool.oh * pool.ow * s.o;
      for_windows(pool, pool.oh,
                  [&](std::size_t offset, std::size_t out, const pool_window& window) {
                    loops.template max_of_window<true>(
                        source + offset, window, s.o, y + target + out,
                        position == nullptr ? nullptr : position + target + out, clamp);
                  });
    });
  }

  /// Computes the gradients dw (height, width, C / groups, O), db (O) and dx. dx may be null.
  void gradient(const pooled_gradient_tensors<T>& tensors, const kernels::window_sizes& s,
                const kernels::window_sizes& pool, const memory_pool& memory) const {
    // pooled_gradient skips products with zeros. It therefore checks images and gradients as they
    // enter the cache. If a value is not finite, everything is computed again without skipping.
    if (!all_finite(*team_, tensors.w, s.weights().size()) ||
        !pooled_gradient<T>(*team_, tensors, s, pool, memory).run()) {
      gradient_of_both(tensors, s, pool, memory);
    }
  }

  template <class Loops>
  [[nodiscard]] bool run_winograd(const Loops& loops, const winograd_pooling<T>& w, const T* x,
                                  const T* bias, const clamp_range<T>& clamp, T* y,
                                  std::uint8_t* position, const memory_pool& memory) const {
    const detail::host_tensor<T> scratch(memory, {team_->threads(), w.scratch_size()});
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
                                const kernels::window_sizes& pool, std::size_t rows,
                                pooled_window* windows, T* y, std::uint8_t* position) {
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

  /// Computes the same gradients, with the gradient of the pooling spread over the outputs of the
  /// convolution.
  void gradient_of_both(const pooled_gradient_tensors<T>& tensors, const kernels::window_sizes& s,
                        const kernels::window_sizes& pool, const memory_pool& memory) const {
    const std::size_t rows = s.oh * s.ow;
    const detail::host_tensor<T> spread(memory, s.output());
    std::fill_n(spread.data(), spread.size(), T{0});
    with_isa(team_->level(), [&](auto loops) {
      for (std::size_t image = 0; image < s.n; ++image) {
        const std::size_t pooled = image * pool.oh * pool.ow * s.o;
        T* const target = spread.data() + image * rows * s.o;
        for_windows(pool, pool.oh,
                    [&](std::size_t offset, std::size_t out, const pool_window& window) {
                      loops.template spread_max<false>(tensors.dy + pooled + out,
                                                       tensors.position + pooled + out, window, s.o,
                                                       target + offset);
                    });
      }
      loops.sum_rows(spread.data(), s.o, s.n * rows, tensors.db, s.o);
    });
    const convolution<T> apart(*team_);
    apart.kernel_gradient(tensors.x, spread.data(), tensors.dw, s, memory);
    if (tensors.dx != nullptr) {
      apart.input_gradient(spread.data(), tensors.w, tensors.dx, s, memory);
    }
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/convolution/padded_image.hpp"
#include "glia/backends/cpu/convolution/patch_convolution.hpp"
#include "glia/backends/cpu/convolution/pooled_rows.hpp"
#include "glia/backends/cpu/convolution/sparse_convolution.hpp"
#include "glia/backends/cpu/loops/clamp_range.hpp"
#include "glia/backends/cpu/loops/pool_window.hpp"
#include "glia/backends/cpu/threads/gradient_lanes.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/backends/long_sum.hpp"
#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

/// The operands and results of the gradients of a convolution with pooling. dx may be null.
template <class T>
struct pooled_gradient_tensors {
  const T* dy;
  const T* x;
  const T* w;
  const std::uint8_t* position;
  T* dx;
  T* dw;
  T* db;
};

/// Writes the gradients of the convolution's outputs: dy at the positions of maxima, else 0.
template <class T, class Loops>
void spread_band(const Loops& loops, const T* dy, const std::uint8_t* position,
                 const kernels::window_sizes& pool, std::size_t rows, const row_band& band,
                 T* gradient) {
  const window2d& k = pool.window;
  if (k.stride_height != k.height || k.stride_width != k.width || pool.ow * k.width != pool.w) {
    std::fill_n(gradient, band.rows * pool.w * pool.c, T{0});
  }
  for_windows(pool, rows, [&](std::size_t offset, std::size_t output, const pool_window& window) {
    loops.template spread_max<false>(dy + output, position + output, window, pool.c,
                                     gradient + offset);
  });
}

/// Computes the gradients of a convolution with pooling, only from elements that carry a gradient.
template <class T>
class pooled_gradient {
 public:
  pooled_gradient(const workers& team, const pooled_gradient_tensors<T>& tensors,
                  const kernels::window_sizes& s, const kernels::window_sizes& pool,
                  const memory_pool& memory)
      : team_(&team),
        memory_(&memory),
        tensors_(tensors),
        pool_(pool),
        c_(s, memory),
        sparse_(c_),
        method_(method_for(c_, tensors.dx != nullptr)),
        level_(method_ == method::lists ? sparse_.fitting(team.level()) : team.level()),
        bands_(s, pool, method_ == method::lists ? second_level_bytes : first_level_bytes),
        padded_(c_.band_size(bands_.convolved)),
        spread_(method_ == method::spread ? bands_.convolved * s.ow * s.o : 0),
        scratch_size_(2 * padded_ + spread_ + kernel_scratch()),
        scratch_(memory, {team.threads(), scratch_size_}),
        lists_(s, method_ == method::lists ? bands_.convolved : 0, team.threads(), memory),
        windows_size_(method_ == method::windows ? bands_.pooled * pool.ow : 0),
        windows_(memory, {team.threads(), windows_size_}),
        weights_(input_weights()) {}

  /// Computes the gradients. Returns false, and no gradients, if a value of x or dy is not finite:
  /// products with zeros are skipped, and these products would not be zero.
  [[nodiscard]] bool run() const {
    const kernels::window_sizes& s = c_.sizes();
    const std::size_t size = c_.depth() * s.o;
    const detail::host_tensor<T> sums(*memory_, {size + s.o});
    std::atomic<bool> finite{true};
    sum_over_lanes(
        *team_, level_, *memory_, s.n, size + s.o, sums.data(),
        [&](std::size_t images) {
          return images *
                 c_.kernel_gradient_parts(bands_.bands * bands_.convolved, bands_.convolved);
        },
        [&](auto loops, std::size_t image, std::size_t images, auto& lane, std::size_t thread) {
          for (; images > 0; ++image, --images) {
            if (!add_image(loops, image, lane, thread)) {
              finite.store(false, std::memory_order_relaxed);
              return;
            }
          }
        });
    if (!finite.load(std::memory_order_relaxed)) {
      return false;
    }
    with_isa(team_->level(), [&](auto loops) {
      if (method_ == method::lists) {
        loops.transpose_matrix(sums.data(), c_.depth(), tensors_.dw, s.o, s.o, c_.depth());
      } else {
        std::copy_n(sums.data(), size, tensors_.dw);
      }
      std::copy_n(sums.data() + size, s.o, tensors_.db);
    });
    return true;
  }

 private:
  /// The ways to compute the gradient of the kernel: from lists of the nonzero gradients, from the
  /// windows that read a nonzero element, or from a spread copy of the gradient.
  enum class method : std::uint8_t { lists, windows, spread };

  /// The operands of a band of pooled rows, and the memory of its thread.
  struct band_task {
    std::size_t rows;
    row_band band;
    const T* source;  // the input rows of the band
    const T* dy;
    const std::uint8_t* position;
    gradient_lists<T> lists;
    pooled_window* windows;
    T* spread;
  };

  [[nodiscard]] static method method_for(const patch_convolution<T>& c, bool needs_dx) {
    if (sparse_convolution<T>::possible(c)) {
      return method::lists;
    }
    // Without an input gradient, a few products per output do not need a spread copy of the
    // gradient.
    return !needs_dx && c.sizes().groups == 1 && c.depth() <= max_direct_depth ? method::windows
                                                                               : method::spread;
  }

  [[nodiscard]] std::size_t kernel_scratch() const {
    return with_isa(level_, [&](auto loops) {
      return method_ == method::spread
                 ? c_.template kernel_gradient_scratch<decltype(loops)>(bands_.convolved)
                 : std::size_t{0};
    });
  }

  /// Returns the weights for the input gradient, or an empty tensor if there is no input gradient.
  [[nodiscard]] detail::host_tensor<T> input_weights() const {
    const T* const w = tensors_.dx == nullptr ? nullptr : tensors_.w;
    return with_isa(team_->level(), [&](auto loops) {
      if (w == nullptr || method_ != method::lists) {
        return w == nullptr ? detail::host_tensor<T>{} : c_.pack_transposed(loops, w, *memory_);
      }
      const std::size_t outputs = c_.sizes().o;
      detail::host_tensor<T> weights(*memory_, {outputs, c_.depth()});
      loops.transpose_matrix(w, outputs, weights.data(), c_.depth(), c_.depth(), outputs);
      return weights;
    });
  }

  /// Adds the gradients of one image. Returns false if they are not finite.
  template <class Loops, class Sums>
  [[nodiscard]] bool add_image(const Loops& loops, std::size_t image, Sums& lane,
                               std::size_t thread) const {
    const kernels::window_sizes& s = c_.sizes();
    const std::size_t inputs = s.h * s.w * s.c;
    const std::size_t outputs = pool_.oh * pool_.ow * s.o;
    const T* const x = tensors_.x + image * inputs;
    const T* const dy = tensors_.dy + image * outputs;
    if (!loops.all_finite(x, inputs) || !loops.all_finite(dy, outputs)) {
      return false;
    }
    T* const dx = tensors_.dx == nullptr ? nullptr : tensors_.dx + image * inputs;
    T* const padded = scratch_.data() + thread * scratch_size_;
    std::size_t covered = 0;
    for (std::size_t row = 0; row < pool_.oh; row += bands_.pooled) {
      const std::size_t rows = std::min(bands_.pooled, pool_.oh - row);
      const std::size_t offset = row * pool_.ow * s.o;
      const row_band band = bands_.band(c_, row, rows);
      const band_task task{rows,
                           band,
                           c_.image().read(x, band, padded),
                           dy + offset,
                           tensors_.position + image * outputs + offset,
                           lists_.of_thread(thread),
                           windows_.data() + thread * windows_size_,
                           padded + 2 * padded_};
      add_bias_gradient(loops, task, lane.data() + c_.depth() * s.o);
      add_kernel_gradient(loops, task, lane);
      if (dx != nullptr) {
        T* const written = padded + padded_;
        write_input_gradient(loops, task, written);
        covered = c_.image().add(loops, written, band, covered, dx);
      }
    }
    if (dx != nullptr) {
      c_.image().clear(dx, covered, s.h);
    }
    return true;
  }

  template <class Loops>
  void add_bias_gradient(const Loops& loops, const band_task& task, T* db) const {
    const std::size_t channels = pool_.c;
    for_chains(task.rows * pool_.ow, [&](std::size_t first, std::size_t count) {
      loops.add_kept(task.dy + first * channels, task.position + first * channels,
                     clamp_range<T>::cut, count, channels, db);
    });
  }

  template <class Loops, class Sums>
  void add_kernel_gradient(const Loops& loops, const band_task& task, Sums& lane) const {
    switch (method_) {
      case method::lists:
        sparse_.list_pooled(loops, task.dy, task.position, pool_, task.rows, task.lists);
        sparse_.add_kernel_gradient(loops, task.source, task.lists, lane.data());
        return lane.added(c_.image().grid(task.band).parts());
      case method::windows:
        add_windows(loops, task, lane.data());
        return lane.added(c_.image().grid(task.band).parts());
      case method::spread:
        spread_band(loops, task.dy, task.position, pool_, task.rows, task.band, task.spread);
        c_.add_kernel_gradient(loops, task.source, task.band, task.spread, lane,
                               task.spread + spread_);
    }
  }

  /// Writes the gradient of the band's input rows, with padding.
  template <class Loops>
  void write_input_gradient(const Loops& loops, const band_task& task, T* written) const {
    std::fill_n(written, c_.band_size(task.band.rows), T{0});
    if (method_ == method::lists) {
      sparse_.add_input_gradient(loops, task.lists, task.band, weights_.data(), written);
    } else {
      c_.add_input_gradient(loops, task.spread, task.band, weights_, written);
    }
  }

  /// Adds to dw the contributions of all windows that read a nonzero element.
  template <class Loops>
  void add_windows(const Loops& loops, const band_task& task, T* dw) const {
    const window_patches patches(c_.image().grid(c_.image().band(0, 1)), pool_.window);
    const std::size_t listed =
        loops.list_windows(task.source, window_grid(c_, pool_, task.rows), task.windows);
    constexpr std::size_t block = 6;
    for (std::size_t k = 0; k < c_.depth(); k += block) {
      for_chains(listed, [&](std::size_t first, std::size_t count) {
        loops.add_pooled_kernel_gradient(task.source, task.windows + first, count,
                                         patches.offset.data(), patches.count, c_.offsets() + k,
                                         std::min(block, c_.depth() - k), task.dy, task.position,
                                         pool_.c, dw + k * pool_.c);
      });
    }
  }

  /// Calls body(first, count) for parts of 0 ... n - 1 that have at most product_chain elements.
  template <class Body>
  static void for_chains(std::size_t n, const Body& body) {
    for (std::size_t first = 0; first < n; first += detail::product_chain) {
      body(first, std::min(detail::product_chain, n - first));
    }
  }

  const workers* team_;
  const memory_pool* memory_;
  pooled_gradient_tensors<T> tensors_;
  kernels::window_sizes pool_;
  patch_convolution<T> c_;
  sparse_convolution<T> sparse_;
  method method_;
  isa level_;
  pooled_rows<T> bands_;
  std::size_t padded_;        // elements of the padded input rows of a band
  std::size_t spread_;        // elements of a spread gradient
  std::size_t scratch_size_;  // elements for each thread
  detail::host_tensor<T> scratch_;
  typename sparse_convolution<T>::scratch lists_;
  std::size_t windows_size_;  // windows for each thread
  detail::host_tensor<pooled_window> windows_;
  detail::host_tensor<T> weights_;
};

}  // namespace glia::cpu_loops

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/convolution/depthwise_convolution.hpp"
#include "glia/backends/cpu/convolution/patch_convolution.hpp"
#include "glia/backends/cpu/convolution/pointwise_convolution.hpp"
#include "glia/backends/cpu/convolution/sparse_convolution.hpp"
#include "glia/backends/cpu/convolution/winograd_convolution.hpp"
#include "glia/backends/cpu/convolution/winograd_kernel_gradient.hpp"
#include "glia/backends/cpu/loops/clamp_range.hpp"
#include "glia/backends/cpu/products/density.hpp"
#include "glia/backends/cpu/products/epilogue.hpp"
#include "glia/backends/cpu/products/products.hpp"
#include "glia/backends/cpu/products/rounded_loops.hpp"
#include "glia/backends/cpu/threads/gradient_lanes.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/convolution.hpp"
#include "glia/kernels/packed_weights.hpp"

namespace glia::cpu_loops {

/// Convolutions. Bands of rows or whole images are distributed over the threads. Windows of one
/// pixel become plain matrix products, and many 3 x 3 windows use Winograd's transforms. Other
/// windows multiply the patches without copying them, except for gradients of large kernels.
/// Gradients with few nonzero elements use only these elements.
template <class T>
class convolution {
 public:
  using tensor = detail::tensor_view<T>;
  using pointwise = pointwise_convolution<T>;

  explicit convolution(const workers& team) : team_(&team) {}

  void compute(const kernels::conv2d& k, const memory_pool& memory, const tensor& x,
               const tensor& w, const tensor& bias, const tensor& y) const {
    conv2d(x.data(), w.data(), bias.data(), k.map, y.data(),
           kernels::conv2d_rule(x.shape(), w.shape(), k.window, k.groups), memory);
  }
  void compute(const kernels::packed_conv2d& k, const memory_pool& memory, const tensor& x,
               const tensor& w, const tensor& bias, const tensor& packed, const tensor& y) const {
    conv2d(x.data(), w.data(), bias.data(), k.map, y.data(),
           kernels::conv2d_rule(x.shape(), w.shape(), k.window, 1), memory, packed.data());
  }
  void compute(const kernels::conv2d_input_gradient& k, const memory_pool& memory, const tensor& dy,
               const tensor& w, const tensor& dx) const {
    input_gradient(dy.data(), w.data(), dx.data(), k.sizes(dy.shape(), w.shape()), memory);
  }
  void compute(const kernels::conv2d_kernel_gradient& k, const memory_pool& memory, const tensor& x,
               const tensor& dy, const tensor& dw) const {
    kernel_gradient(x.data(), dy.data(), dw.data(), k.sizes(x.shape(), dy.shape()), memory);
  }

  /// `transformed` is the result of `pack_transformed` for w, or null.
  void conv2d(const T* x, const T* w, const T* bias, const unary_map& map, T* y,
              const kernels::window_sizes& s, const memory_pool& memory,
              const T* transformed = nullptr) const {
    if (pointwise::applies(s)) {
      pointwise(*team_, s).multiply(memory, x, {w, s.o}, y, {bias, map});
      return;
    }
    if (rounds(s)) {
      team_->rounded<T>()->convolve(*team_, memory, s, x, w, bias, map, y, rows_per_block(s, s.oh));
      return;
    }
    const clamp_range<T> range(map);
    const epilogue<T> last{nullptr, kernels::clamps(map) ? kernels::identity_map : map};
    if (transforms(s)) {
      if (s.n == 1 && team_->threads() == 1) {
        reserve(s, memory);
      }
      if (winograd_convolution<T>(*team_, s).compute(memory, x, w, transformed, bias, range, y)) {
        apply(last, s, y);
        return;
      }
      if (s.n > 1 && all_finite(*team_, w, s.weights().size())) {
        // Images without such numbers keep their bits.
        kernels::window_sizes image = s;
        image.n = 1;
        for (std::size_t i = 0; i < s.n; ++i) {
          conv2d(x + i * s.h * s.w * s.c, w, bias, map, y + i * s.oh * s.ow * s.o, image, memory,
                 transformed);
        }
        return;
      }
    }
    const patch_convolution<T> c(s, memory);
    const depthwise_convolution<T> d(c);
    const bool depthwise = depthwise_convolution<T>::applies(s);
    with_isa(team_->level(), [&](auto loops) {
      const detail::host_tensor<T> packed =
          depthwise ? detail::host_tensor<T>{} : c.pack(loops, w, bias, memory);
      const std::size_t rows =
          rows_per_block(s, depthwise ? d.rows_per_band(loops) : c.rows_per_band());
      const std::size_t bands = (s.oh + rows - 1) / rows;
      const std::size_t scratch_size = depthwise ? d.scratch_size(loops, rows) : c.band_size(rows);
      const detail::host_tensor<T> scratch(memory, {team_->threads(), scratch_size});
      team_->run(s.n * bands, [&](std::size_t task, std::size_t thread) {
        const std::size_t first = task % bands * rows;
        const std::size_t count = std::min(rows, s.oh - first);
        const T* const image = x + task / bands * s.h * s.w * s.c;
        T* const memory_of_thread = scratch.data() + thread * scratch_size;
        T* const target = y + (task / bands * s.oh + first) * s.ow * s.o;
        const row_band band = c.image().band(first, count);
        if (depthwise) {
          d.forward(loops, image, band, w, bias, target, range, memory_of_thread);
        } else {
          c.forward(loops, c.image().read(image, band, memory_of_thread), band, packed.data(),
                    target, range);
        }
        last.apply(loops, target, s.ow * s.o, count, 0, s.ow * s.o);
      });
    });
  }

  void input_gradient(const T* dy, const T* w, T* dx, const kernels::window_sizes& s,
                      const memory_pool& memory) const {
    if (pointwise::applies(s)) {
      pointwise(*team_, s).multiply(memory, dy, {w, s.o, true}, dx, {});
      return;
    }
    const patch_convolution<T> c(s, memory);
    const sparse_convolution<T> sparse(c);
    const bool depthwise = depthwise_convolution<T>::applies(s);
    const bool rounded = rounds(s);
    const bool is_sparse = !depthwise && !rounded && few_nonzeros(c, dy);
    const T scale = rounded ? rounded_loops<T>::finite_scale : T{1};
    const bool finite =
        (is_sparse || is_faster_reversed(c)) && all_finite(*team_, w, c.depth() * s.o, scale);
    const bool listed = is_sparse && finite;
    // The convolution with the reversed window also multiplies weights by the zeros around an
    // image. For weights that are not finite, these products would not be zero.
    if (finite && !is_sparse) {
      const detail::host_tensor<T> reversed = reversed_weights(w, s, memory);
      conv2d(dy, reversed.data(), nullptr, kernels::identity_map, dx, reversed_sizes(s), memory);
      return;
    }
    if (rounded) {
      team_->rounded<T>()->input_gradient(*team_, memory, s, dy, w, dx);
      return;
    }
    with_isa(listed ? sparse.fitting(team_->level()) : team_->level(), [&](auto loops) {
      detail::host_tensor<T> weights;
      if (listed) {
        weights = detail::host_tensor<T>(memory, {s.o, c.depth()});
        loops.transpose_matrix(w, s.o, weights.data(), c.depth(), c.depth(), s.o);
      } else if (!depthwise) {
        weights = c.pack_transposed(loops, w, memory);
      }
      const std::size_t rows = c.rows_per_band();
      const detail::host_tensor<T> scratch(memory, {team_->threads(), c.band_size(rows)});
      const typename sparse_convolution<T>::scratch list_memory(s, listed ? rows : 0,
                                                                team_->threads(), memory);
      team_->run(s.n, [&](std::size_t image, std::size_t thread) {
        T* const padded = scratch.data() + thread * c.band_size(rows);
        T* const target = dx + image * s.h * s.w * s.c;
        std::size_t covered = 0;
        for (std::size_t first = 0; first < s.oh; first += rows) {
          const row_band band = c.image().band(first, std::min(rows, s.oh - first));
          const T* source = dy + (image * s.oh + first) * s.ow * s.o;
          std::fill_n(padded, c.band_size(band.rows), T{0});
          if (depthwise) {
            depthwise_convolution<T>(c).add_input_gradient(loops, source, band, w, padded);
          } else if (listed) {
            const gradient_lists<T> lists = list_memory.of_thread(thread);
            sparse.list(loops, source, band, lists);
            sparse.add_input_gradient(loops, lists, band, weights.data(), padded);
          } else {
            c.add_input_gradient(loops, source, band, weights, padded);
          }
          covered = c.image().add(loops, padded, band, covered, target);
        }
        c.image().clear(target, covered, s.h);
      });
    });
  }

  void kernel_gradient(const T* x, const T* dy, T* dw, const kernels::window_sizes& s,
                       const memory_pool& memory) const {
    if (pointwise::applies(s)) {
      pointwise(*team_, s).kernel_gradient(memory, x, dy, dw);
      return;
    }
    const patch_convolution<T> c(s, memory);
    const sparse_convolution<T> sparse(c);
    const bool depthwise = depthwise_convolution<T>::applies(s);
    const bool listed =
        !depthwise && !rounds(s) && few_nonzeros(c, dy) && all_finite(*team_, x, s.input().size());
    if (!listed && !rounds(s) && transforms(s) && winograd_kernel_gradient<T>::applies(s) &&
        winograd_kernel_gradient<T>(*team_, s).compute(memory, x, dy, dw)) {
      return;
    }
    if (!listed && worth_gathering(s)) {
      multiply_gathered(c, x, dy, dw, memory);
      return;
    }
    if (rounds(s)) {
      team_->rounded<T>()->kernel_gradient(*team_, memory, s, x, dy, dw);
      return;
    }
    const isa level = listed ? sparse.fitting(team_->level()) : team_->level();
    const std::size_t size = c.depth() * s.o;
    const std::size_t rows = c.rows_per_band();
    const std::size_t extra = with_isa(level, [&](auto loops) {
      return c.template kernel_gradient_scratch<decltype(loops)>(rows);
    });
    const std::size_t scratch_size = c.band_size(rows) + extra;
    const detail::host_tensor<T> scratch(memory, {team_->threads(), scratch_size});
    const typename sparse_convolution<T>::scratch list_memory(s, listed ? rows : 0,
                                                              team_->threads(), memory);
    const detail::host_tensor<T> transposed(memory, {listed ? size : 0});
    sum_over_lanes(
        *team_, level, memory, s.n, size, listed ? transposed.data() : dw,
        [&](std::size_t images) {
          const std::size_t parts = images * c.kernel_gradient_parts(s.oh, rows);
          const std::size_t whole =
              images * depthwise_convolution<T>::additions_of({s.oh, s.ow, 0, 0});
          return depthwise ? whole + parts : parts;
        },
        [&](auto loops, std::size_t image, std::size_t images, auto& sums, std::size_t thread) {
          T* const padded = scratch.data() + thread * scratch_size;
          for (; images > 0; ++image, --images) {
            for (std::size_t first = 0; first < s.oh; first += rows) {
              const row_band band = c.image().band(first, std::min(rows, s.oh - first));
              const T* source = c.image().read(x + image * s.h * s.w * s.c, band, padded);
              const T* gradient = dy + (image * s.oh + first) * s.ow * s.o;
              if (depthwise) {
                depthwise_convolution<T>(c).add_kernel_gradient(loops, source, band, gradient,
                                                                sums);
              } else if (listed) {
                const gradient_lists<T> lists = list_memory.of_thread(thread);
                sparse.list(loops, gradient, band, lists);
                sparse.add_kernel_gradient(loops, source, lists, sums.data());
                sums.added(c.image().grid(band).parts());
              } else {
                c.add_kernel_gradient(loops, source, band, gradient, sums,
                                      padded + c.band_size(rows));
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
  // With fewer images, rows are distributed over the threads as well.
  static constexpr std::size_t few_images = 8;

  /// Makes sure that `memory` has free blocks for a convolution without transforms. For real time,
  /// memory must not depend on the numbers.
  void reserve(const kernels::window_sizes& s, const memory_pool& memory) const {
    const patch_convolution<T> c(s, memory);
    with_isa(team_->level(), [&](auto loops) {
      const detail::host_tensor<T> packed = c.packed_memory(loops, memory);
      const detail::host_tensor<T> scratch(
          memory, {std::size_t{1}, c.band_size(rows_per_block(s, c.rows_per_band()))});
    });
  }

  /// Applies the last step to all outputs.
  void apply(const epilogue<T>& last, const kernels::window_sizes& s, T* y) const {
    const std::size_t length = s.ow * s.o;
    if (!last.empty()) {
      team_->for_rows(s.n * s.oh, length, [&](auto loops, std::size_t row, std::size_t rows) {
        last.apply(loops, y + row * length, length, rows, 0, length);
      });
    }
  }

  [[nodiscard]] bool rounds(const kernels::window_sizes& s) const {
    return team_->rounded<T>() != nullptr && worth_rounding(s);
  }
  /// Returns whether the gradient of the kernel is a product of a copy of all patches. Otherwise,
  /// each image adds to the gradient, which takes too long if it is large and an image has only a
  /// few patches.
  static bool worth_gathering(const kernels::window_sizes& s) {
    constexpr std::size_t large = 1 << 20;
    const bool single = s.window.height * s.window.width == 1;
    return s.groups == 1 && s.weights().size() * sizeof(T) >= large &&
           s.oh * s.ow <= (single ? 256 : 100);
  }
  /// Computes the gradient of the kernel as the product of all patches and dy. Many patches are
  /// copied and multiplied in chunks, whose products are added.
  void multiply_gathered(const patch_convolution<T>& c, const T* x, const T* dy, T* dw,
                         const memory_pool& memory) const {
    constexpr std::size_t chunk_bytes = 64 << 20;
    const kernels::window_sizes& s = c.sizes();
    const std::size_t pixels = s.oh * s.ow;
    const std::size_t of_image = pixels * c.depth() * sizeof(T);
    const std::size_t chunks = std::min((s.n * of_image + chunk_bytes - 1) / chunk_bytes, s.n);
    const std::size_t max_images = (s.n + chunks - 1) / chunks;
    const detail::host_tensor<T> patches(memory, {max_images * pixels, c.depth()});
    const products<T> product(*team_);
    const auto multiply_chunk = [&](std::size_t chunk, T* target) {
      const std::size_t first = chunk * s.n / chunks;
      const std::size_t images = (chunk + 1) * s.n / chunks - first;
      gather(c, x + first * s.h * s.w * s.c, images, patches.data(), memory);
      product.multiply(patches.data(), dy + first * pixels * s.o, target,
                       {c.depth(), s.o, images * pixels}, transpose::first, {}, memory);
    };
    if (chunks == 1) {
      multiply_chunk(0, dw);
    } else {
      product.add_parts(chunks, c.depth() * s.o, dw, memory, multiply_chunk);
    }
  }
  /// Copies all patches of some images, one after the other.
  void gather(const patch_convolution<T>& c, const T* x, std::size_t images, T* patches,
              const memory_pool& memory) const {
    const kernels::window_sizes& s = c.sizes();
    const detail::host_tensor<T> scratch(memory, {team_->threads(), c.band_size(1)});
    team_->run(images * s.oh, [&](std::size_t task, std::size_t thread) {
      const row_band band = c.image().band(task % s.oh, 1);
      const T* const image = c.image().read(x + task / s.oh * s.h * s.w * s.c, band,
                                            scratch.data() + thread * c.band_size(1));
      T* target = patches + task * s.ow * c.depth();
      for (std::size_t column = 0; column < s.ow; ++column) {
        for (const std::uint32_t run : c.runs()) {
          target = std::copy_n(image + column * s.window.stride_width * s.c + run, c.run_length(),
                               target);
        }
      }
    });
  }

  static std::size_t rows_per_block(const kernels::window_sizes& s, std::size_t max_rows) {
    return s.n >= few_images ? max_rows : std::min(max_rows, (s.oh + 3) / 4);
  }

  [[nodiscard]] bool few_nonzeros(const patch_convolution<T>& c, const T* dy) const {
    return sparse_convolution<T>::possible(c) &&
           density(team_->level(), dy, c.sizes().output().size()) <
               sparse_convolution<T>::worthwhile_density;
  }

  /// Returns whether the gradient of the input is itself a convolution, with the same window,
  /// reversed, and is computed faster in this way.
  static bool is_faster_reversed(const patch_convolution<T>& c) {
    const kernels::window_sizes& s = c.sizes();
    const window2d& k = s.window;
    const std::size_t height = (k.height - 1) * k.dilation_height;
    const std::size_t width = (k.width - 1) * k.dilation_width;
    // Products are computed for whole registers.
    const auto padded = [](std::size_t count) { return (count + 15) / 16 * 16; };
    const std::size_t products = k.height * k.width * padded(s.group_inputs());
    const std::size_t added_products = c.runs().size() * padded(c.run_length());
    return k.stride_height == 1 && k.stride_width == 1 &&
           std::max(k.pad_top, k.pad_bottom) <= height &&
           std::max(k.pad_left, k.pad_right) <= width &&
           (depthwise_convolution<T>::applies(s) || 5 * products <= 6 * added_products);
  }
  /// Returns the sizes of the convolution that computes the gradient of the input.
  static kernels::window_sizes reversed_sizes(kernels::window_sizes s) {
    std::swap(s.h, s.oh);
    std::swap(s.w, s.ow);
    std::swap(s.c, s.o);
    window2d& k = s.window;
    const std::size_t height = (k.height - 1) * k.dilation_height;
    const std::size_t width = (k.width - 1) * k.dilation_width;
    k.pad_top = height - k.pad_top;
    k.pad_bottom = height - k.pad_bottom;
    k.pad_left = width - k.pad_left;
    k.pad_right = width - k.pad_right;
    return s;
  }
  /// Returns the weights (height, width, O / groups, C) of this convolution.
  [[nodiscard]] detail::host_tensor<T> reversed_weights(const T* w, const kernels::window_sizes& s,
                                                        const memory_pool& memory) const {
    detail::host_tensor<T> reversed(memory, reversed_sizes(s).weights());
    const std::size_t taps = s.window.height * s.window.width;
    const std::size_t inputs = s.group_inputs();
    const std::size_t outputs = s.group_outputs();
    with_isa(team_->level(), [&](auto loops) {
      team_->run(taps, [&](std::size_t tap, std::size_t) {
        const T* const source = w + tap * inputs * s.o;
        T* const target = reversed.data() + (taps - 1 - tap) * outputs * s.c;
        if (depthwise_convolution<T>::applies(s)) {
          std::copy_n(source, s.c, target);
          return;
        }
        for (std::size_t group = 0; group < s.groups; ++group) {
          loops.transpose_matrix(source + group * outputs, s.o, target + group * inputs, s.c,
                                 inputs, outputs);
        }
      });
    });
    return reversed;
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops

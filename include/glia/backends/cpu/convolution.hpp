#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/blas.hpp"
#include "glia/backends/cpu/epilogue.hpp"
#include "glia/backends/cpu/image_columns.hpp"
#include "glia/backends/cpu/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/backends/shape_rules.hpp"

namespace glia::cpu_loops {

/// Convolutions as matrix products over blocks of images, the blocks spread over the threads.
/// 1x1 kernels multiply the images as they are, depthwise kernels run directly over the channels,
/// all others gather columns first.
template <class T>
class convolution {
 public:
  explicit convolution(const workers& team) : team_(&team) {}

  void conv2d(const T* x, const T* w, const T* bias, const unary_map& map, T* y,
              const window_sizes& s, const memory_pool& memory) const {
    for_image_blocks(
        s, memory, [&](auto kernels, std::size_t image, std::size_t images, T* scratch) {
          T* to = y + image * output_step(s);
          if (depthwise(s)) {
            std::fill_n(to, images * output_step(s), T{0});
            for_each_depthwise_product(s, image, images,
                                       [&](std::size_t at_x, std::size_t at_w, std::size_t at_y) {
                                         kernels.add_product(w + at_w, x + at_x, y + at_y, s.c);
                                       });
          } else {
            for (std::size_t g = 0; g < s.groups; ++g) {
              const columns from(x, s, image, images, g, scratch);
              gemm<T>(images * s.oh * s.ow, s.group_outputs(), depth(s), from.view(),
                      {w + g * s.group_outputs(), s.o}, T{0}, to + g * s.group_outputs(), s.o);
            }
          }
          epilogue<T>{bias, map}.apply(kernels, to, s.o, images * s.oh * s.ow, 0, s.o);
        });
  }

  void conv2d_input_gradient(const T* dy, const T* w, T* dx, const window_sizes& s,
                             const memory_pool& memory) const {
    for_image_blocks(
        s, memory, [&](auto kernels, std::size_t image, std::size_t images, T* scratch) {
          std::fill_n(dx + image * input_step(s), images * input_step(s), T{0});
          if (depthwise(s)) {
            for_each_depthwise_product(s, image, images,
                                       [&](std::size_t at_x, std::size_t at_w, std::size_t at_y) {
                                         kernels.add_product(w + at_w, dy + at_y, dx + at_x, s.c);
                                       });
            return;
          }
          const std::size_t rows = images * s.oh * s.ow;
          for (std::size_t g = 0; g < s.groups; ++g) {
            const matrix<T> from{dy + image * output_step(s) + g * s.group_outputs(), s.o};
            const matrix<T> kernel{w + g * s.group_outputs(), s.o, true};
            if (pointwise(s)) {
              gemm<T>(rows, depth(s), s.group_outputs(), from, kernel, T{0},
                      dx + image * input_step(s) + g * s.group_inputs(), s.c);
            } else {
              gemm<T>(rows, depth(s), s.group_outputs(), from, kernel, T{0}, scratch, depth(s));
              scatter_columns(scratch, s, images, g, dx + image * input_step(s));
            }
          }
        });
  }

  void conv2d_kernel_gradient(const T* x, const T* dy, T* dw, const window_sizes& s,
                              const memory_pool& memory) const {
    const std::size_t size = s.window.height * s.window.width * s.group_inputs() * s.o;
    const std::size_t lanes = std::min(s.n, gradient_lanes);
    // Each lane sums its own images, then the lanes are added in order: the threads do not show.
    const host_tensor<T> partial(memory, {lanes, size});
    const host_tensor<T> scratch = scratch_for(s, memory);
    const single_threaded_blas one_thread_each;
    team_->for_blocks_by_thread(
        lanes, 1, [&](auto kernels, std::size_t lane, std::size_t, std::size_t thread) {
          T* sum = partial.data() + lane * size;
          std::fill_n(sum, size, T{0});
          const std::size_t end = (lane + 1) * s.n / lanes;
          for (std::size_t image = lane * s.n / lanes; image < end;) {
            const std::size_t images = std::min(end - image, images_per_block(s));
            add_kernel_gradient(kernels, x, dy, sum, s, image, images,
                                scratch.data() + thread * scratch_size(s));
            image += images;
          }
        });
    with_isa(team_->level(), [&](auto kernels) {
      std::copy_n(partial.data(), size, dw);
      for (std::size_t lane = 1; lane < lanes; ++lane) {
        kernels.add(partial.data() + lane * size, dw, size);
      }
    });
  }

 private:
  static constexpr std::size_t gradient_lanes = 8;
  // Enough rows for an efficient product, few enough for the columns to stay in the cache.
  static constexpr std::size_t rows_per_block = 512;

  static bool pointwise(const window_sizes& s) {
    return s.window == window2d{.height = 1, .width = 1};
  }
  static bool depthwise(const window_sizes& s) {
    return s.group_inputs() == 1 && s.group_outputs() == 1 && s.groups > 1;
  }
  static std::size_t depth(const window_sizes& s) {
    return s.window.height * s.window.width * s.group_inputs();
  }
  static std::size_t input_step(const window_sizes& s) { return s.h * s.w * s.c; }
  static std::size_t output_step(const window_sizes& s) { return s.oh * s.ow * s.o; }
  static std::size_t images_per_block(const window_sizes& s) {
    return std::max<std::size_t>(1, rows_per_block / (s.oh * s.ow));
  }

  /// The left factor of a block's product: the images themselves or their gathered columns.
  class columns {
   public:
    columns(const T* x, const window_sizes& s, std::size_t image, std::size_t images,
            std::size_t group, T* scratch)
        : view_{x + image * input_step(s) + group * s.group_inputs(), s.c} {
      if (!pointwise(s)) {
        gather_columns(x + image * input_step(s), s, images, group, scratch);
        view_ = {scratch, depth(s)};
      }
    }
    [[nodiscard]] matrix<T> view() const { return view_; }

   private:
    matrix<T> view_;
  };

  template <class Kernels>
  static void add_kernel_gradient(const Kernels& kernels, const T* x, const T* dy, T* sum,
                                  const window_sizes& s, std::size_t image, std::size_t images,
                                  T* scratch) {
    if (depthwise(s)) {
      for_each_depthwise_product(s, image, images,
                                 [&](std::size_t at_x, std::size_t at_w, std::size_t at_y) {
                                   kernels.add_product(x + at_x, dy + at_y, sum + at_w, s.c);
                                 });
      return;
    }
    for (std::size_t g = 0; g < s.groups; ++g) {
      const columns from(x, s, image, images, g, scratch);
      matrix<T> a = from.view();
      a.transposed = true;
      gemm<T>(depth(s), s.group_outputs(), images * s.oh * s.ow, a,
              {dy + image * output_step(s) + g * s.group_outputs(), s.o}, T{1},
              sum + g * s.group_outputs(), s.o);
    }
  }

  // Room for the columns of one block, for each thread; taken before the threads start, so that
  // what the memory pool is asked for does not depend on how they overlap.
  static std::size_t scratch_size(const window_sizes& s) {
    return pointwise(s) || depthwise(s) ? 0 : images_per_block(s) * s.oh * s.ow * depth(s);
  }
  [[nodiscard]] host_tensor<T> scratch_for(const window_sizes& s, const memory_pool& memory) const {
    return {memory, {team_->threads(), scratch_size(s)}};
  }

  /// body(kernels, image, images, scratch) for blocks of images.
  template <class Body>
  void for_image_blocks(const window_sizes& s, const memory_pool& memory, const Body& body) const {
    const host_tensor<T> scratch = scratch_for(s, memory);
    const single_threaded_blas one_thread_each;
    team_->for_blocks_by_thread(
        s.n, images_per_block(s),
        [&](auto kernels, std::size_t image, std::size_t images, std::size_t thread) {
          body(kernels, image, images, scratch.data() + thread * scratch_size(s));
        });
  }

  /// visit(x offset, w offset, y offset) of runs of C channels that are multiplied with each other.
  template <class Visit>
  static void for_each_depthwise_product(const window_sizes& s, std::size_t image,
                                         std::size_t images, const Visit& visit) {
    const std::size_t positions = s.window.height * s.window.width;
    std::size_t count = 0;
    for_each_window_pixel(s, images, [&](std::size_t pixel, bool inside) {
      if (inside) {
        visit(image * input_step(s) + pixel * s.c, count % positions * s.c,
              image * output_step(s) + count / positions * s.c);
      }
      ++count;
    });
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops

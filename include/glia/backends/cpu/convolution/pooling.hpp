#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/loops/pool_window.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/pooling.hpp"

namespace glia::cpu_loops {

/// The steps of a window along one axis whose positions are inside the image, in 0 ... extent - 1.
struct inside_steps {
  inside_steps(std::size_t output, std::size_t stride, std::size_t dilation, std::size_t padding,
               std::size_t window, std::size_t extent) {
    const std::size_t start = output * stride;
    first = start < padding ? (padding - start + dilation - 1) / dilation : 0;
    const std::size_t end = extent + padding - start;  // the end of the image, counted from `start`
    const std::size_t last = std::min(window, (end + dilation - 1) / dilation);
    count = last > first ? last - first : 0;
    position = start + first * dilation - padding;
  }
  std::size_t first;  ///< First step.
  std::size_t count;
  std::size_t position;  ///< Position of the first step in the image.
};

/// Returns the window of output (oy, ox). `offset` receives the offset of its first pixel in the
/// image.
[[nodiscard]] inline pool_window window_at(const kernels::window_sizes& s, std::size_t oy,
                                           std::size_t ox, std::size_t& offset) {
  const window2d& k = s.window;
  const inside_steps y(oy, k.stride_height, k.dilation_height, k.pad_top, k.height, s.h);
  const inside_steps x(ox, k.stride_width, k.dilation_width, k.pad_left, k.width, s.w);
  offset = (y.position * s.w + x.position) * s.c;
  return {y.count,
          x.count,
          k.dilation_height * s.w * s.c,
          k.dilation_width * s.c,
          y.first * k.width + x.first,
          k.width};
}

/// Computes poolings and their gradients. Threads share the images, and the innermost loop runs
/// over the channels.
template <class T>
class pooling {
 public:
  using tensor = detail::tensor_view<T>;

  explicit pooling(const workers& team) : team_(&team) {}

  void compute(const kernels::max_pool2d& k, const memory_pool&, const tensor& x, const tensor& y,
               const tensor& position) const {
    const kernels::window_sizes s = kernels::pool_rule(x.shape(), k.window);
    for_each_window(s, [&](auto loops, std::size_t at_x, std::size_t at_y, const pool_window& w) {
      loops.template max_of_window<false>(x.data() + at_x, w, s.c, y.data() + at_y,
                                          position.integers() + at_y, clamp_range<T>());
    });
  }

  void compute(const kernels::max_pool2d_gradient& k, const memory_pool&, const tensor& dy,
               const tensor& position, const tensor& dx) const {
    const kernels::window_sizes s = k.sizes(dy.shape());
    clear(dx);
    for_each_window(s, [&](auto loops, std::size_t at_x, std::size_t at_y, const pool_window& w) {
      loops.template spread_max<true>(dy.data() + at_y, position.integers() + at_y, w, s.c,
                                      dx.data() + at_x);
    });
  }

  void compute(const kernels::avg_pool2d& k, const memory_pool&, const tensor& x,
               const tensor& y) const {
    const kernels::window_sizes s = kernels::pool_rule(x.shape(), k.window);
    for_each_window(s, [&](auto loops, std::size_t at_x, std::size_t at_y, const pool_window& w) {
      loops.scaled_sum_of_window(x.data() + at_x, w, s.c, mean_scale(w), y.data() + at_y);
    });
  }

  void compute(const kernels::avg_pool2d_gradient& k, const memory_pool&, const tensor& dy,
               const tensor& dx) const {
    const kernels::window_sizes s = k.sizes(dy.shape());
    clear(dx);
    for_each_window(s, [&](auto loops, std::size_t at_x, std::size_t at_y, const pool_window& w) {
      loops.spread_scaled(dy.data() + at_y, w, s.c, mean_scale(w), dx.data() + at_x);
    });
  }

 private:
  static T mean_scale(const pool_window& w) {
    return T{1} / static_cast<T>(std::max<std::size_t>(w.count(), 1));
  }

  /// Calls visit(loops, offset of the first pixel of the window, offset of the output, window). One
  /// thread visits all windows of an image in order, so overlapping windows may add to the same
  /// input.
  template <class Visit>
  void for_each_window(const kernels::window_sizes& s, const Visit& visit) const {
    team_->for_rows(s.n, s.oh * s.ow * s.c * s.window.height * s.window.width,
                    [&](auto loops, std::size_t image, std::size_t images) {
                      for (; images > 0; ++image, --images) {
                        std::size_t at_y = image * s.oh * s.ow * s.c;
                        for (std::size_t oy = 0; oy < s.oh; ++oy) {
                          for (std::size_t ox = 0; ox < s.ow; ++ox, at_y += s.c) {
                            std::size_t offset = 0;
                            const pool_window window = window_at(s, oy, ox, offset);
                            visit(loops, image * s.h * s.w * s.c + offset, at_y, window);
                          }
                        }
                      }
                    });
  }

  void clear(const tensor& x) const {
    team_->for_blocks(x.size(), workers::elements_per_block,
                      [&](auto, std::size_t first, std::size_t count) {
                        std::fill_n(x.data() + first, count, T{0});
                      });
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops

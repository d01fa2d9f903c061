#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/workers.hpp"
#include "glia/backends/shape_rules.hpp"

namespace glia::cpu_loops {

/// Pooling, image by image over the threads, innermost loop over the channels.
template <class T>
class pooling {
 public:
  explicit pooling(const workers& team) : team_(&team) {}

  void max_pool2d(const T* x, T* y, std::int32_t* position, const window_sizes& s) const {
    for_each_window(s, [&](std::size_t at_y, const auto& for_each_input) {
      bool first = true;
      for_each_input([&](std::size_t at_x, std::int32_t at_window) {
        for (std::size_t c = 0; c < s.c; ++c) {
          const T value = x[at_x + c];
          const bool wins = first || value > y[at_y + c];
          y[at_y + c] = wins ? value : y[at_y + c];
          position[at_y + c] = wins ? at_window : position[at_y + c];
        }
        first = false;
      });
    });
  }

  void max_pool2d_gradient(const T* dy, const std::int32_t* position, T* dx,
                           const window_sizes& s) const {
    clear_images(dx, s);
    for_each_window(s, [&](std::size_t at_y, const auto& for_each_input) {
      for_each_input([&](std::size_t at_x, std::int32_t at_window) {
        for (std::size_t c = 0; c < s.c; ++c) {
          dx[at_x + c] += position[at_y + c] == at_window ? dy[at_y + c] : T{0};
        }
      });
    });
  }

  void avg_pool2d(const T* x, T* y, const window_sizes& s) const {
    for_each_window(s, [&](std::size_t at_y, const auto& for_each_input) {
      std::fill_n(y + at_y, s.c, T{0});
      T count = 0;
      for_each_input([&](std::size_t at_x, std::int32_t) {
        for (std::size_t c = 0; c < s.c; ++c) {
          y[at_y + c] += x[at_x + c];
        }
        count += 1;
      });
      for (std::size_t c = 0; c < s.c && count > 0; ++c) {
        y[at_y + c] /= count;
      }
    });
  }

  void avg_pool2d_gradient(const T* dy, T* dx, const window_sizes& s) const {
    clear_images(dx, s);
    for_each_window(s, [&](std::size_t at_y, const auto& for_each_input) {
      T count = 0;
      for_each_input([&](std::size_t, std::int32_t) { count += 1; });
      for_each_input([&](std::size_t at_x, std::int32_t) {
        for (std::size_t c = 0; c < s.c; ++c) {
          dx[at_x + c] += dy[at_y + c] / count;
        }
      });
    });
  }

 private:
  /// visit(offset of the output pixel, loop over the input pixels of its window); an image's
  /// windows are visited in order by one thread, so overlapping windows may add to the same input.
  template <class Visit>
  void for_each_window(const window_sizes& s, const Visit& visit) const {
    const window2d& k = s.window;
    team_->for_rows(
        s.n, s.oh * s.ow * s.c * k.height * k.width,
        [&](auto, std::size_t image, std::size_t images) {
          for (std::size_t pixel = image * s.oh * s.ow; pixel < (image + images) * s.oh * s.ow;
               ++pixel) {
            const std::size_t ox = pixel % s.ow;
            const std::size_t oy = pixel / s.ow % s.oh;
            const std::size_t n = pixel / s.ow / s.oh;
            visit(pixel * s.c, [&](const auto& visit_input) {
              for (std::size_t ky = 0; ky < k.height; ++ky) {
                const std::size_t iy = oy * k.stride_height + ky * k.dilation_height - k.pad_top;
                for (std::size_t kx = 0; kx < k.width; ++kx) {
                  const std::size_t ix = ox * k.stride_width + kx * k.dilation_width - k.pad_left;
                  if (iy < s.h && ix < s.w) {
                    visit_input(((n * s.h + iy) * s.w + ix) * s.c,
                                static_cast<std::int32_t>(ky * k.width + kx));
                  }
                }
              }
            });
          }
        });
  }

  void clear_images(T* dx, const window_sizes& s) const {
    team_->for_blocks(
        s.input().size(), workers::elements_per_block,
        [&](auto, std::size_t first, std::size_t count) { std::fill_n(dx + first, count, T{0}); });
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops

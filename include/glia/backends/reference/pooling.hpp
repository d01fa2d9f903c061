#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "glia/backends/shape_rules.hpp"

namespace glia::reference_loops {

template <class T>
struct pooling {
  void max_pool2d(const T* x, T* y, std::int32_t* position, const window_sizes& s) const {
    for_each_output(s, [&](std::size_t at_y, const auto& for_each_input) {
      bool first = true;
      for_each_input([&](std::size_t at_x, std::int32_t at_window) {
        if (first || x[at_x] > y[at_y] || std::isnan(x[at_x])) {
          first = false;
          y[at_y] = x[at_x];
          position[at_y] = at_window;
        }
      });
    });
  }

  void max_pool2d_gradient(const T* dy, const std::int32_t* position, T* dx,
                           const window_sizes& s) const {
    std::fill_n(dx, s.input().size(), T{0});
    for_each_output(s, [&](std::size_t at_y, const auto& for_each_input) {
      for_each_input([&](std::size_t at_x, std::int32_t at_window) {
        if (at_window == position[at_y]) {
          dx[at_x] += dy[at_y];
        }
      });
    });
  }

  void avg_pool2d(const T* x, T* y, const window_sizes& s) const {
    for_each_output(s, [&](std::size_t at_y, const auto& for_each_input) {
      T sum = 0;
      T count = 0;
      for_each_input([&](std::size_t at_x, std::int32_t) {
        sum += x[at_x];
        count += 1;
      });
      y[at_y] = count > 0 ? sum / count : T{0};
    });
  }

  void avg_pool2d_gradient(const T* dy, T* dx, const window_sizes& s) const {
    std::fill_n(dx, s.input().size(), T{0});
    for_each_output(s, [&](std::size_t at_y, const auto& for_each_input) {
      T count = 0;
      for_each_input([&](std::size_t, std::int32_t) { count += 1; });
      for_each_input([&](std::size_t at_x, std::int32_t) { dx[at_x] += dy[at_y] / count; });
    });
  }

 private:
  template <class Visit>
  static void for_each_output(const window_sizes& s, const Visit& visit) {
    const window2d& k = s.window;
    for (std::size_t at_y = 0; at_y < s.output().size(); ++at_y) {
      const std::size_t c = at_y % s.c;
      const std::size_t ox = at_y / s.c % s.ow;
      const std::size_t oy = at_y / s.c / s.ow % s.oh;
      const std::size_t n = at_y / s.c / s.ow / s.oh;
      visit(at_y, [&](const auto& visit_input) {
        for (std::size_t ky = 0; ky < k.height; ++ky) {
          for (std::size_t kx = 0; kx < k.width; ++kx) {
            const std::size_t iy = oy * k.stride_height + ky * k.dilation_height - k.pad_top;
            const std::size_t ix = ox * k.stride_width + kx * k.dilation_width - k.pad_left;
            if (iy < s.h && ix < s.w) {
              visit_input(((n * s.h + iy) * s.w + ix) * s.c + c,
                          static_cast<std::int32_t>(ky * k.width + kx));
            }
          }
        }
      });
    }
  }
};

}  // namespace glia::reference_loops

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "glia/backends/host_tensor.hpp"
#include "glia/backends/long_sum.hpp"
#include "glia/backends/reference/compensated_sums.hpp"
#include "glia/kernels/pooling.hpp"

namespace glia::reference_loops {

template <class T>
struct pooling {
  using tensor = detail::tensor_view<T>;

  void compute(const kernels::max_pool2d& k, const memory_pool&, const tensor& x, const tensor& y,
               const tensor& position) const {
    for_each_output(kernels::pool_rule(x.shape(), k.window),
                    [&](std::size_t at_y, const auto& for_each_input) {
                      bool first = true;
                      T& largest = y.data()[at_y];
                      for_each_input([&](std::size_t at_x, std::int32_t at_window) {
                        if (first || x.data()[at_x] > largest || std::isnan(x.data()[at_x])) {
                          first = false;
                          largest = x.data()[at_x];
                          position.integers()[at_y] = at_window;
                        }
                      });
                    });
  }

  void compute(const kernels::max_pool2d_gradient& k, const memory_pool& memory, const tensor& dy,
               const tensor& position, const tensor& dx) const {
    const compensated_sums<T> sums(memory, dx);
    for_each_output(k.sizes(dy.shape()), [&](std::size_t at_y, const auto& for_each_input) {
      for_each_input([&](std::size_t at_x, std::int32_t at_window) {
        if (at_window == position.integers()[at_y]) {
          sums.add(at_x, dy.data()[at_y]);
        }
      });
    });
    sums.end();
  }

  void compute(const kernels::avg_pool2d& k, const memory_pool&, const tensor& x,
               const tensor& y) const {
    for_each_output(kernels::pool_rule(x.shape(), k.window),
                    [&](std::size_t at_y, const auto& for_each_input) {
                      detail::compensated_sum<T> sum;
                      std::size_t count = 0;
                      for_each_input([&](std::size_t at_x, std::int32_t) {
                        sum.add(x.data()[at_x]);
                        ++count;
                      });
                      y.data()[at_y] = count > 0 ? sum.value() / static_cast<T>(count) : T{0};
                    });
  }

  void compute(const kernels::avg_pool2d_gradient& k, const memory_pool& memory, const tensor& dy,
               const tensor& dx) const {
    const compensated_sums<T> sums(memory, dx);
    for_each_output(k.sizes(dy.shape()), [&](std::size_t at_y, const auto& for_each_input) {
      std::size_t count = 0;
      for_each_input([&](std::size_t, std::int32_t) { ++count; });
      for_each_input([&](std::size_t at_x, std::int32_t) {
        sums.add(at_x, dy.data()[at_y] / static_cast<T>(count));
      });
    });
    sums.end();
  }

 private:
  template <class Visit>
  static void for_each_output(const kernels::window_sizes& s, const Visit& visit) {
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

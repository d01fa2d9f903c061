#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include "glia/backends/kernel_arguments.hpp"
#include "glia/backends/reference/elementwise.hpp"
#include "glia/backends/shape_rules.hpp"
#include "glia/core/memory_pool.hpp"

namespace glia::reference_loops {

template <class T>
struct products {
  void matmul(const T* a, const T* b, T* c, const matmul_sizes& s, transpose which,
              const memory_pool&) const {
    for (std::size_t i = 0; i < s.m; ++i) {
      for (std::size_t j = 0; j < s.n; ++j) {
        T sum = 0;
        for (std::size_t p = 0; p < s.k; ++p) {
          sum += a[which == transpose::first ? p * s.m + i : i * s.k + p] *
                 b[which == transpose::second ? j * s.k + p : p * s.n + j];
        }
        c[i * s.n + j] = sum;
      }
    }
  }

  void dense(const T* x, const T* w, const T* bias, const unary_map& map, T* y,
             const matmul_sizes& s, const memory_pool& memory) const {
    matmul(x, w, y, s, transpose::none, memory);
    add_bias_and_apply(bias, map, y, s.m, s.n);
  }

  // The three convolution kernels visit the same triples (output, window position, input channel);
  // they differ in which of the three tensors they write.
  void conv2d(const T* x, const T* w, const T* bias, const unary_map& map, T* y,
              const window_sizes& s, const memory_pool&) const {
    std::fill_n(y, s.output().size(), T{0});
    for_each_product(s, [&](std::size_t at_x, std::size_t at_w, std::size_t at_y) {
      y[at_y] += (at_x == padding ? T{0} : x[at_x]) * w[at_w];
    });
    add_bias_and_apply(bias, map, y, s.n * s.oh * s.ow, s.o);
  }

  void conv2d_input_gradient(const T* dy, const T* w, T* dx, const window_sizes& s,
                             const memory_pool&) const {
    std::fill_n(dx, s.input().size(), T{0});
    for_each_product(s, [&](std::size_t at_x, std::size_t at_w, std::size_t at_y) {
      if (at_x != padding) {
        dx[at_x] += dy[at_y] * w[at_w];
      }
    });
  }

  void conv2d_kernel_gradient(const T* x, const T* dy, T* dw, const window_sizes& s,
                              const memory_pool&) const {
    std::fill_n(dw, s.window.height * s.window.width * s.group_inputs() * s.o, T{0});
    for_each_product(s, [&](std::size_t at_x, std::size_t at_w, std::size_t at_y) {
      dw[at_w] += (at_x == padding ? T{0} : x[at_x]) * dy[at_y];
    });
  }

 private:
  static void add_bias_and_apply(const T* bias, const unary_map& map, T* y, std::size_t rows,
                                 std::size_t columns) {
    for (std::size_t i = 0; i < rows * columns; ++i) {
      y[i] = apply(map, bias == nullptr ? y[i] : y[i] + bias[i % columns]);
    }
  }

  // Stands for the index of a zero around the image, which is multiplied as any other element.
  static constexpr std::size_t padding = std::numeric_limits<std::size_t>::max();

  template <class Visit>
  static void for_each_product(const window_sizes& s, const Visit& visit) {
    const window2d& k = s.window;
    for (std::size_t n = 0; n < s.n; ++n) {
      for (std::size_t oy = 0; oy < s.oh; ++oy) {
        for (std::size_t ox = 0; ox < s.ow; ++ox) {
          for (std::size_t ky = 0; ky < k.height; ++ky) {
            for (std::size_t kx = 0; kx < k.width; ++kx) {
              // Unsigned wrap-around makes positions in the padding above and left compare large.
              const std::size_t iy = oy * k.stride_height + ky * k.dilation_height - k.pad_top;
              const std::size_t ix = ox * k.stride_width + kx * k.dilation_width - k.pad_left;
              const bool inside = iy < s.h && ix < s.w;
              for (std::size_t o = 0; o < s.o; ++o) {
                const std::size_t first = o / s.group_outputs() * s.group_inputs();
                for (std::size_t i = 0; i < s.group_inputs(); ++i) {
                  visit(inside ? ((n * s.h + iy) * s.w + ix) * s.c + first + i : padding,
                        ((ky * k.width + kx) * s.group_inputs() + i) * s.o + o,
                        ((n * s.oh + oy) * s.ow + ox) * s.o + o);
                }
              }
            }
          }
        }
      }
    }
  }
};

}  // namespace glia::reference_loops

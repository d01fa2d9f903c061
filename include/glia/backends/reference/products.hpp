#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include "glia/backends/host_tensor.hpp"
#include "glia/backends/long_sum.hpp"
#include "glia/backends/reference/compensated_sums.hpp"
#include "glia/backends/reference/elementwise.hpp"
#include "glia/kernels/convolution.hpp"
#include "glia/kernels/products.hpp"

namespace glia::reference_loops {

template <class T>
struct products {
  using tensor = detail::tensor_view<T>;

  void compute(const kernels::matmul& k, const memory_pool&, const tensor& a, const tensor& b,
               const tensor& c) const {
    multiply(a.data(), b.data(), c.data(),
             kernels::matmul_rule(a.shape(), b.shape(), k.transposed_factor), k.transposed_factor);
  }

  void compute(const kernels::batched_matmul& k, const memory_pool&, const tensor& a,
               const tensor& b, const tensor& c) const {
    const kernels::matmul_sizes s =
        kernels::batched_matmul_rule(a.shape(), b.shape(), k.transposed_factor);
    const std::size_t batch = c.size() / std::max<std::size_t>(s.m * s.n, 1);
    for (std::size_t i = 0; i < batch; ++i) {
      multiply(a.data() + i * s.m * s.k, b.data() + i * s.k * s.n, c.data() + i * s.m * s.n, s,
               k.transposed_factor);
    }
  }

  void compute(const kernels::dense& k, const memory_pool& memory, const tensor& x, const tensor& w,
               const tensor& bias, const tensor& y) const {
    compute(kernels::matmul{}, memory, x, w, y);
    add_bias_and_apply(bias, k.map, y);
  }

  // The three convolution kernels visit the same triples (output, window position, input channel).
  // They differ in the tensor that they write.
  void compute(const kernels::conv2d& k, const memory_pool& memory, const tensor& x,
               const tensor& w, const tensor& bias, const tensor& y) const {
    const compensated_sums<T> sums(memory, y);
    for_each_product(kernels::conv2d_rule(x.shape(), w.shape(), k.window, k.groups),
                     [&sums, source = x.data(), weights = w.data()](
                         std::size_t at_x, std::size_t at_w, std::size_t at_y) {
                       sums.add(at_y, (at_x == padding ? T{0} : source[at_x]) * weights[at_w]);
                     });
    sums.end();
    add_bias_and_apply(bias, k.map, y);
  }

  void compute(const kernels::conv2d_input_gradient& k, const memory_pool& memory, const tensor& dy,
               const tensor& w, const tensor& dx) const {
    const compensated_sums<T> sums(memory, dx);
    for_each_product(k.sizes(dy.shape(), w.shape()),
                     [&sums, source = dy.data(), weights = w.data()](
                         std::size_t at_x, std::size_t at_w, std::size_t at_y) {
                       if (at_x != padding) {
                         sums.add(at_x, source[at_y] * weights[at_w]);
                       }
                     });
    sums.end();
  }

  void compute(const kernels::conv2d_kernel_gradient& k, const memory_pool& memory, const tensor& x,
               const tensor& dy, const tensor& dw) const {
    const compensated_sums<T> sums(memory, dw);
    for_each_product(k.sizes(x.shape(), dy.shape()),
                     [&sums, source = x.data(), gradients = dy.data()](
                         std::size_t at_x, std::size_t at_w, std::size_t at_y) {
                       sums.add(at_w, (at_x == padding ? T{0} : source[at_x]) * gradients[at_y]);
                     });
    sums.end();
  }

 private:
  static void multiply(const T* a, const T* b, T* c, const kernels::matmul_sizes& s,
                       transpose transposed_factor) {
    const bool a_turned = transposed_factor == transpose::first;
    const bool b_turned = transposed_factor == transpose::second;
    for (std::size_t i = 0; i < s.m; ++i) {
      for (std::size_t j = 0; j < s.n; ++j) {
        const T* at_a = a + i * (a_turned ? 1 : s.k);
        const T* at_b = b + j * (b_turned ? s.k : 1);
        detail::compensated_sum<T> sum;
        for (std::size_t p = 0; p < s.k; ++p) {
          sum.add(at_a[p * (a_turned ? s.m : 1)] * at_b[p * (b_turned ? 1 : s.n)]);
        }
        c[i * s.n + j] = sum.value();
      }
    }
  }

  static void add_bias_and_apply(const tensor& bias, const unary_map& map, const tensor& y) {
    const std::size_t columns = y.shape().back();
    for (std::size_t i = 0; i < y.size(); ++i) {
      y.data()[i] = apply(map, bias ? y.data()[i] + bias.data()[i % columns] : y.data()[i]);
    }
  }

  // The index that stands for a zero in the padding. This zero is multiplied like any other
  // element.
  static constexpr std::size_t padding = std::numeric_limits<std::size_t>::max();

  template <class Visit>
  static void for_each_product(const kernels::window_sizes& s, const Visit& visit) {
    const window2d& k = s.window;
    const std::size_t inputs = s.group_inputs();
    const std::size_t outputs = s.group_outputs();
    for (std::size_t n = 0; n < s.n; ++n) {
      for (std::size_t oy = 0; oy < s.oh; ++oy) {
        for (std::size_t ox = 0; ox < s.ow; ++ox) {
          for (std::size_t ky = 0; ky < k.height; ++ky) {
            for (std::size_t kx = 0; kx < k.width; ++kx) {
              // Unsigned overflow makes positions in the padding above and to the left very large.
              const std::size_t iy = oy * k.stride_height + ky * k.dilation_height - k.pad_top;
              const std::size_t ix = ox * k.stride_width + kx * k.dilation_width - k.pad_left;
              const bool inside = iy < s.h && ix < s.w;
              const std::size_t at_x = ((n * s.h + iy) * s.w + ix) * s.c;
              const std::size_t at_w = (ky * k.width + kx) * inputs * s.o;
              const std::size_t at_y = ((n * s.oh + oy) * s.ow + ox) * s.o;
              for (std::size_t g = 0; g < s.groups; ++g) {
                for (std::size_t i = 0; i < inputs; ++i) {
                  const std::size_t channel = inside ? at_x + g * inputs + i : padding;
                  for (std::size_t o = g * outputs; o < (g + 1) * outputs; ++o) {
                    visit(channel, at_w + i * s.o + o, at_y + o);
                  }
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

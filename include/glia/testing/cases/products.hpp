#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/kernels/packed_weights.hpp"
#include "glia/kernels/products.hpp"

namespace glia::testing::detail {

/// Computes map(x w + bias) with packed weights, if the device has this kernel.
template <class Bench, class Tensor>
void multiply_packed(Bench& b, const unary_map& map, const Tensor& x, const Tensor& w,
                     const Tensor& bias) {
  const auto& device = b.device();
  if (has_fused<kernels::packed_dense>(device)) {
    const auto packed = device.run(kernels::pack_panels{}, w, Tensor{});
    b.out(device.run(kernels::packed_dense{map}, x, w, bias, packed));
  } else {
    b.out(device.run(kernels::dense{map}, x, w, bias));
  }
}

/// The test cases of matrix products.
template <class Check>
void check_products(const Check& check) {
  const std::vector<kernels::matmul_sizes> products{{1, 1, 1},      {3, 5, 7},       {17, 33, 9},
                                                    {100, 60, 70},  {129, 200, 300}, {20, 24, 200},
                                                    {300, 24, 1000}};
  for (const kernels::matmul_sizes& size : products) {
    const kernels::matmul_sizes s = size;
    for (const bool zeros : {false, true}) {
      const std::string name =
          text(" of ", s.m, "x", s.k, " by ", s.k, "x", s.n, zeros ? ", many zeros" : "");
      const auto factor = [&](auto& b, const shape& extents) {
        return zeros ? b.sparse(extents, 9) : b.input(extents, 9);
      };
      check("matmul" + name, [&](auto& b) {
        b.out(b.device().run(kernels::matmul{transpose::none}, factor(b, {s.m, s.k}),
                             b.input({s.k, s.n}, 10)));
      });
      check("matmul, first transposed," + name, [&](auto& b) {
        b.out(b.device().run(kernels::matmul{transpose::first}, factor(b, {s.k, s.m}),
                             b.input({s.k, s.n}, 11)));
      });
      check("matmul, second transposed," + name, [&](auto& b) {
        b.out(b.device().run(kernels::matmul{transpose::second}, factor(b, {s.m, s.k}),
                             b.input({s.n, s.k}, 12)));
      });
      check("dense" + name, [&](auto& b) {
        b.out(b.device().run(kernels::dense{{unary_function::relu}}, factor(b, {s.m, s.k}),
                             b.input({s.k, s.n}, 13), b.input({s.n}, 14)));
      });
      check("dense without bias" + name, [&](auto& b) {
        b.out(b.device().run(kernels::dense{{unary_function::tanh}}, factor(b, {s.m, s.k}),
                             b.input({s.k, s.n}, 13), b.absent()));
      });
      check("packed_dense" + name, [&](auto& b) {
        multiply_packed(b, {unary_function::relu}, factor(b, {s.m, s.k}), b.input({s.k, s.n}, 13),
                        b.input({s.n}, 14));
        multiply_packed(b, {unary_function::tanh}, factor(b, {s.m, s.k}), b.input({s.k, s.n}, 15),
                        b.absent());
      });
    }
  }

  struct product_batch {
    shape leading;
    kernels::matmul_sizes sizes;
  };
  // Many small products, and a few with incomplete blocks.
  const std::vector<product_batch> batches{
      {{1}, {1, 1, 1}},     {{3}, {3, 5, 7}},       {{2, 3}, {4, 1, 9}},    {{70}, {17, 33, 9}},
      {{65}, {60, 70, 80}}, {{2}, {129, 200, 150}}, {{2, 1, 2}, {5, 3, 2}}, {{3}, {300, 24, 1000}}};
  for (const product_batch& p : batches) {
    const auto batch = [&](std::size_t rows, std::size_t columns) {
      shape s = p.leading;
      s.push_back(rows);
      s.push_back(columns);
      return s;
    };
    const kernels::matmul_sizes s = p.sizes;
    const std::string name = text(" ", p.leading, " of ", s.m, "x", s.k, " by ", s.k, "x", s.n);
    check("batched_matmul" + name, [&](auto& b) {
      b.out(b.device().run(kernels::batched_matmul{}, b.input(batch(s.m, s.k), 51),
                           b.input(batch(s.k, s.n), 52)));
    });
    check("batched_matmul, first transposed," + name, [&](auto& b) {
      b.out(b.device().run(kernels::batched_matmul{transpose::first}, b.input(batch(s.k, s.m), 53),
                           b.input(batch(s.k, s.n), 54)));
    });
    check("batched_matmul, second transposed," + name, [&](auto& b) {
      b.out(b.device().run(kernels::batched_matmul{transpose::second}, b.input(batch(s.m, s.k), 55),
                           b.input(batch(s.n, s.k), 56)));
    });
  }
}

}  // namespace glia::testing::detail

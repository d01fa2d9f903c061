#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/core/shape.hpp"
#include "glia/kernels/kernels.hpp"

namespace glia::testing::detail {

/// Sizes of an attention without a mask: N samples, T queries, S keys, H heads.
struct attention_sizes {
  std::size_t samples, queries, keys, heads, channels, value_channels;
};

/// Computes attention and its gradients for a gradient dy, in one kernel each if the device has
/// them, else by their definitions.
template <class Bench, class Tensor>
void attend(Bench& b, const attention_sizes& s, const Tensor& dy, const Tensor& q, const Tensor& k,
            const Tensor& v) {
  const auto& device = b.device();
  if (has_fused<kernels::attention>(device)) {
    const auto [y, saved] = device.run(kernels::attention{s.heads}, q, k, v, tensor{});
    b.out(y);
    for (const auto& gradient :
         device.run(kernels::attention_gradient{s.heads}, dy, q, k, v, saved)) {
      b.out(gradient);
    }
    return;
  }
  const kernels::permute_axes swap{{0, 2, 1, 3}};
  const auto by_head = [&](const Tensor& x) {
    const shape& e = x.shape();
    return device.run(swap, device.run(kernels::reshape{{e[0], e[1], s.heads, e[2] / s.heads}}, x));
  };
  const auto add_output = [&](const Tensor& x, const Tensor& operand) {
    b.out(device.run(kernels::reshape{operand.shape()}, device.run(swap, x)));
  };
  const auto scaled = [&](const Tensor& x) {
    const auto scale =
        device.run(kernels::full{{}, 1 / std::sqrt(static_cast<double>(s.channels))});
    return device.run(kernels::binary{binary_function::multiply}, x, scale);
  };
  const auto product = [&](transpose t, const Tensor& x, const Tensor& y) {
    return device.run(kernels::batched_matmul{t}, x, y);
  };
  const auto queries = scaled(by_head(q));
  const auto keys = by_head(k);
  const auto values = by_head(v);
  const auto dvalues = by_head(dy);
  const auto weights = device.run(kernels::softmax{}, product(transpose::second, queries, keys));
  const auto dscores =
      device.run(kernels::softmax_gradient{}, product(transpose::second, dvalues, values), weights);
  add_output(product(transpose::none, weights, values), dy);
  add_output(scaled(product(transpose::none, dscores, keys)), q);
  add_output(product(transpose::first, dscores, queries), k);
  add_output(product(transpose::first, weights, dvalues), v);
}

/// The test cases of attention.
template <class Check>
void check_attention(const Check& check) {
  const std::vector<attention_sizes> cases{
      {2, 3, 5, 2, 4, 3}, {1, 7, 7, 1, 1, 9}, {1, 50, 61, 3, 8, 20}, {2, 30, 100, 2, 33, 17}};
  for (const attention_sizes& sizes : cases) {
    const attention_sizes s = sizes;
    check(text("attention of ", s.queries, " queries to ", s.keys, " keys, ", s.heads, " heads of ",
               s.channels, "/", s.value_channels),
          [s](auto& b) {
            const auto dy = b.input({s.samples, s.queries, s.heads * s.value_channels}, 61);
            const auto q = b.input({s.samples, s.queries, s.heads * s.channels}, 62);
            const auto k = b.input({s.samples, s.keys, s.heads * s.channels}, 63);
            const auto v = b.input({s.samples, s.keys, s.heads * s.value_channels}, 64);
            attend(b, s, dy, q, k, v);
          });
  }
}

}  // namespace glia::testing::detail

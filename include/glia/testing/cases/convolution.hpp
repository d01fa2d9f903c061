#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/core/shape.hpp"
#include "glia/kernels/convolution.hpp"
#include "glia/kernels/convolution_chain.hpp"
#include "glia/kernels/packed_weights.hpp"
#include "glia/kernels/pooled_convolution.hpp"
#include "glia/testing/values.hpp"

namespace glia::testing::detail {

/// Computes max_pool2d(map(x * w + bias)) with packed weights, if the device has this kernel.
/// Otherwise returns `y`.
template <class Bench, class Tensor>
void convolve_and_pool_packed(Bench& b, const Tensor& x, const Tensor& w, const Tensor& bias,
                              const unary_map& map, const kernels::convolution_pooling& options,
                              const Tensor& y) {
  const auto& device = b.device();
  const kernels::packed_conv2d_max_pool2d kernel{options, map};
  if (options.groups != 1) {
    return;
  }
  if (has_fused<kernels::packed_conv2d_max_pool2d>(device)) {
    b.out(device.run(kernel, x, w, bias,
                     device.run(kernels::pack_panels{.rounded = false}, w, bias)));
  } else {
    b.out(y);
  }
  if (!transforms(options, w.shape())) {
    return;
  }
  if (has_fused<kernels::packed_conv2d_max_pool2d>(device)) {
    b.out(device.run(kernel, x, w, bias, device.run(kernels::pack_transformed{}, w)));
  } else {
    b.out(y);
  }
}

/// Computes max_pool2d(map(x * w + bias)) and its gradients, with the fused kernels if the device
/// has them.
template <class Bench, class Tensor>
void convolve_and_pool(Bench& b, const Tensor& x, const Tensor& w, const Tensor& bias,
                       const unary_map& map, const kernels::convolution_pooling& options,
                       Tensor dy) {
  const auto& device = b.device();
  if (has_fused<kernels::conv2d_max_pool2d>(device)) {
    const auto [y, position] =
        device.run(kernels::conv2d_max_pool2d{options, map, true}, x, w, bias);
    b.out(y);
    b.out(device.run(kernels::conv2d_max_pool2d{options, map, false}, x, w, bias)[0]);
    convolve_and_pool_packed(b, x, w, bias, map, options, y);
    const auto [dx, dw, dbias] =
        device.run(kernels::conv2d_max_pool2d_gradient{options, true}, dy, x, w, position);
    b.out(dx);
    b.out(dw);
    b.out(dbias);
    b.out(device.run(kernels::conv2d_max_pool2d_gradient{options, false}, dy, x, w, position)[1]);
  } else {
    const auto convolved =
        device.run(kernels::conv2d{options.window, options.groups, map}, x, w, bias);
    const shape image = sample_of(convolved.shape());
    const auto [y, position] = device.run(kernels::max_pool2d{options.pool}, convolved);
    b.out(y);
    b.out(y);
    convolve_and_pool_packed(b, x, w, bias, map, options, y);
    const auto spread = device.run(kernels::max_pool2d_gradient{options.pool, image}, dy, position);
    const auto gradient = device.run(kernels::unary_gradient{map}, spread, convolved);
    const auto dw =
        device.run(kernels::conv2d_kernel_gradient{options.window, options.groups}, x, gradient);
    b.out(device.run(
        kernels::conv2d_input_gradient{options.window, options.groups, sample_of(x.shape())},
        gradient, w));
    b.out(dw);
    b.out(device.run(kernels::sum_to{{w.shape().back()}}, gradient));
    b.out(dw);
  }
}

/// Weights, bias and attributes of one convolution in a chain.
template <class Tensor>
struct chain_link {
  Tensor weights;
  Tensor bias;
  kernels::conv2d kernel;
};

/// Computes consecutive convolutions. If the device has the fused kernels, they are used, with
/// plain and with packed weights.
template <class Bench, class Tensor>
void convolve_in_chain(Bench& b, Tensor x, const std::vector<chain_link<Tensor>>& links) {
  const auto& device = b.device();
  if (has_fused<kernels::conv2d_chain>(device)) {
    kernels::conv2d_chain chain{links.size()};
    std::array<Tensor, 2 * kernels::max_chain> weights;
    for (std::size_t i = 0; i < links.size(); ++i) {
      chain.links[i] = links[i].kernel;
      weights[2 * i] = links[i].weights;
      weights[2 * i + 1] = links[i].bias;
    }
    const auto run = [&](const auto&... operands) { return device.run(chain, x, operands...); };
    b.out(std::apply(run, weights));
    if (has_fused<kernels::pack_panels>(device)) {
      for (std::size_t i = 0; i < links.size(); ++i) {
        chain.packed[i] = links[i].weights.shape();
        const kernels::pack_panels pack{.rounded = links[i].kernel.groups == 1};
        weights[2 * i] = device.run(pack, links[i].weights, links[i].bias);
        weights[2 * i + 1] = Tensor{};
      }
    }
    b.out(std::apply(run, weights));
  } else {
    for (const chain_link<Tensor>& l : links) {
      x = device.run(l.kernel, x, l.weights, l.bias);
    }
    b.out(x);
    b.out(x);
  }
}

/// The test cases of convolutions: single, pooled and in chains.
template <class Check>
void check_convolution(const Check& check) {
  struct convolution {
    shape x;
    shape w;
    window2d window;
    std::size_t groups;
  };
  const std::vector<convolution> convolutions{
      {{1, 5, 7, 1}, {3, 2, 1, 4}, {3, 2}, 1},
      {{3, 8, 5, 3}, {1, 1, 3, 6}, {1, 1}, 1},
      {{2, 9, 6, 4}, {3, 3, 4, 5}, {3, 3, 2, 3, 1, 1, 1, 2, 0, 1}, 1},
      {{2, 9, 8, 3}, {2, 3, 3, 4}, {2, 3, 1, 1, 3, 2, 1, 1, 2, 2}, 1},
      {{2, 6, 5, 4}, {3, 3, 2, 6}, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 2},
      {{2, 7, 6, 5}, {3, 3, 1, 5}, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1}, 5},
      {{2, 7, 6, 3}, {3, 3, 1, 6}, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 3},
      {{1, 4, 3, 100}, {2, 1, 100, 120}, {2, 1}, 1},
      {{2, 9, 7, 20}, {3, 3, 1, 20}, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 20},
      {{1, 8, 16, 9}, {3, 3, 1, 9}, {3, 3, 2, 2, 1, 1, 0, 1, 0, 1}, 9},
      {{1, 3, 20, 9}, {2, 17, 1, 9}, {2, 17}, 9},
      {{1, 8, 13, 8}, {3, 3, 1, 8}, {3, 3, 1, 1, 2, 2, 1, 1, 1, 1}, 8},
      {{11, 14, 13, 3}, {2, 2, 3, 8}, {2, 2, 1, 1, 1, 1, 0, 1, 0, 1}, 1},
      {{2, 4, 4, 3}, {1, 1, 3, 2}, {1, 1, 2, 2}, 1},
      {{1, 6, 5, 150}, {1, 1, 150, 35}, {1, 1}, 1},
      {{3, 25, 31, 9}, {1, 1, 9, 20}, {1, 1}, 1},
      {{2, 7, 6, 5}, {3, 2, 1, 5}, {3, 2, 1, 1, 2, 1, 0, 3, 1, 0}, 5},
      {{4, 9, 14, 32}, {3, 3, 32, 48}, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 1},
      {{3, 15, 10, 64}, {3, 3, 64, 80}, {3, 3, 1, 1, 1, 1, 5, 0, 4, 1}, 1}};
  for (const convolution& c : convolutions) {
    const std::string name = text(" of ", c.x, " with ", c.w, ", ", c.groups, " groups");
    const kernels::window_sizes s = kernels::conv2d_rule(c.x, c.w, c.window, c.groups);
    const shape y = s.output();
    check("conv2d" + name, [&](auto& b) {
      b.out(b.device().run(kernels::conv2d{c.window, c.groups, {unary_function::relu}},
                           b.input(c.x, 15), b.input(c.w, 16), b.input({c.w[3]}, 17)));
    });
    if (c.groups == 1) {
      check("conv2d, a chain of one," + name, [&](auto& b) {
        const auto x = b.input(c.x, 15);
        std::vector<chain_link<std::remove_cvref_t<decltype(x)>>> links{
            {b.input(c.w, 16), b.input({c.w[3]}, 17), {c.window, 1, {unary_function::relu}}}};
        convolve_in_chain(b, x, links);
      });
    }
    check("conv2d without bias" + name, [&](auto& b) {
      b.out(b.device().run(kernels::conv2d{c.window, c.groups, kernels::identity_map},
                           b.input(c.x, 15), b.input(c.w, 16), b.absent()));
    });
    for (const unary_function function : {unary_function::relu6, unary_function::silu}) {
      if (!transforms(s)) {
        break;
      }
      check(text("packed_conv2d", name, ", ", name_of(function)), [&](auto& b) {
        const auto& device = b.device();
        const auto x = b.input(c.x, 15);
        const auto w = b.input(c.w, 16);
        const auto bias = b.input({c.w[3]}, 17);
        const unary_map map{function};
        if (has_fused<kernels::packed_conv2d>(device)) {
          b.out(device.run(kernels::packed_conv2d{c.window, map}, x, w, bias,
                           device.run(kernels::pack_transformed{}, w)));
        } else {
          b.out(device.run(kernels::conv2d{c.window, 1, map}, x, w, bias));
        }
      });
    }
    check("conv2d_input_gradient" + name, [&](auto& b) {
      b.out(b.device().run(kernels::conv2d_input_gradient{c.window, c.groups, sample_of(c.x)},
                           b.input(y, 18), b.input(c.w, 16)));
    });
    check("conv2d_kernel_gradient" + name, [&](auto& b) {
      b.out(b.device().run(kernels::conv2d_kernel_gradient{c.window, c.groups}, b.input(c.x, 15),
                           b.input(y, 18)));
    });
  }

  struct pooled_convolution {
    shape x;
    shape w;
    kernels::convolution_pooling options;
  };
  const std::vector<pooled_convolution> pooled_convolutions{
      {{1, 5, 7, 1}, {2, 2, 1, 5}, {{2, 2, 1, 1, 1, 1, 0, 1, 0, 1}, 1, {2, 2, 2, 2}}},
      {{4, 29, 31, 1}, {2, 2, 1, 24}, {{2, 2, 1, 1, 1, 1, 0, 1, 0, 1}, 1, {2, 2, 2, 2}}},
      {{2, 27, 45, 3}, {3, 3, 3, 16}, {{3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 1, {2, 2, 2, 2}}},
      {{3, 14, 13, 16}, {2, 2, 16, 9}, {{2, 2, 1, 1, 1, 1, 0, 1, 0, 1}, 1, {2, 2, 2, 2}}},
      {{3, 9, 13, 16}, {2, 2, 16, 32}, {{2, 2, 1, 1, 1, 1, 0, 1, 0, 1}, 1, {2, 2, 2, 2}}},
      {{2, 8, 7, 24}, {2, 2, 24, 16}, {{2, 2, 1, 1, 1, 1, 1, 0, 1, 1}, 1, {2, 2, 3, 2}}},
      {{9, 12, 17, 32}, {3, 1, 32, 40}, {{3, 1, 2, 1, 1, 1, 1, 0, 0, 0}, 1, {2, 3, 3, 4}}},
      {{2, 9, 8, 4}, {3, 3, 2, 6}, {{3, 3, 1, 1, 2, 1, 2, 2, 1, 1}, 2, {3, 2, 3, 2}}}};
  for (const pooled_convolution& c : pooled_convolutions) {
    for (const unary_function function :
         {unary_function::affine, unary_function::relu, unary_function::relu6}) {
      const std::string name = text(" of ", c.x, " with ", c.w, ", ", name_of(function));
      const auto run = [&](auto& b, float scale, bool bias) {
        // Like a drawing: the upper half of every image is blank except for a few points.
        std::vector<float> values = test_values(c.x, 15);
        for (std::size_t i = 0; i < values.size(); ++i) {
          const std::size_t row = i / (c.x[2] * c.x[3]) % c.x[1];
          const bool point =
              glia::detail::random_bits({.seed = 7, .stream = 15}, i) % (16 * c.x[3]) == 0;
          values[i] = 2 * row < c.x[1] && !point ? 0 : scale * values[i];
        }
        const auto x = b.input(c.x, std::move(values));
        const auto w = b.input(c.w, 16);
        const auto shift = bias ? b.input({c.w[3]}, 17) : decltype(b.input({}, 1)){};
        const shape y =
            kernels::pool_rule(
                kernels::conv2d_rule(c.x, c.w, c.options.window, c.options.groups).output(),
                c.options.pool)
                .output();
        convolve_and_pool(b, x, w, shift, {function}, c.options, b.input(y, 18));
      };
      check("convolution and max-pooling" + name, [&](auto& b) { run(b, 1, true); });
      check("convolution and max-pooling without bias" + name, [&](auto& b) { run(b, 5, false); });
    }
  }

  struct link {
    shape w;
    window2d window;
    std::size_t groups;
    unary_function function;
  };
  struct chain {
    shape x;
    std::vector<link> links;
  };
  constexpr window2d pixel{};
  constexpr window2d three{3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
  constexpr window2d halved{3, 3, 2, 2, 1, 1, 1, 1, 1, 1};
  constexpr window2d uneven{4, 3, 3, 1, 1, 2, 2, 0, 1, 3};
  constexpr auto linear = unary_function::affine;
  constexpr auto relu = unary_function::relu;
  constexpr auto relu6 = unary_function::relu6;
  std::vector<chain> chained{
      {{2, 9, 7, 5}, {{{1, 1, 5, 20}, pixel, 1, relu6}, {{3, 3, 1, 20}, three, 20, linear}}},
      {{9, 11, 10, 3},
       {{{3, 3, 3, 32}, halved, 1, relu6},
        {{3, 3, 1, 32}, three, 32, relu6},
        {{1, 1, 32, 17}, pixel, 1, linear}}},
      {{2, 41, 50, 4},
       {{{1, 1, 4, 96}, pixel, 1, relu},
        {{3, 3, 1, 96}, halved, 96, relu6},
        {{3, 3, 1, 96}, three, 96, linear},
        {{1, 1, 96, 24}, pixel, 1, relu}}},
      {{1, 70, 23, 4},
       {{{2, 2, 4, 48}, {2, 2, 1, 1, 2, 1, 0, 1, 2, 0}, 1, linear},
        {{4, 3, 1, 48}, uneven, 48, relu6},
        {{1, 1, 48, 8}, pixel, 1, relu6},
        {{3, 3, 1, 8}, three, 8, linear}}},
      {{1, 3, 3, 200},
       {{{1, 1, 200, 120}, pixel, 1, relu},
        {{3, 3, 1, 120}, three, 120, relu6},
        {{1, 1, 120, 150}, pixel, 1, linear}}},
      {{8, 1, 1, 6}, {{{1, 1, 6, 7}, pixel, 1, relu}, {{3, 3, 1, 7}, three, 7, relu}}}};
  for (std::size_t width = 1; width < 9; ++width) {
    for (const window2d& window : {three, halved}) {
      chained.push_back({{2, 5, width, 3},
                         {{{1, 1, 3, 9}, pixel, 1, relu6},
                          {{3, 3, 1, 9}, window, 9, linear},
                          {{1, 1, 9, 4}, pixel, 1, relu}}});
    }
  }
  for (const chain& c : chained) {
    const auto run = [&](auto& b, bool bias) {
      std::vector<float> values = test_values(c.x, 15);
      std::transform(values.begin(), values.end(), values.begin(), [](float v) { return 4 * v; });
      const auto x = b.input(c.x, std::move(values));
      std::vector<chain_link<std::remove_cvref_t<decltype(x)>>> links;
      for (const link& l : c.links) {
        const auto shift = bias ? b.input({l.w[3]}, 17) : decltype(b.input({}, 1)){};
        links.push_back({b.input(l.w, 16), shift, {l.window, l.groups, {l.function}}});
      }
      convolve_in_chain(b, x, links);
    };
    const std::string name = text(c.links.size(), " convolutions of ", c.x, ", the second with ",
                                  c.links[1].window.stride_height, " rows a step");
    check(name, [&](auto& b) { run(b, true); });
    check(name + " without bias", [&](auto& b) { run(b, false); });
  }
}

}  // namespace glia::testing::detail

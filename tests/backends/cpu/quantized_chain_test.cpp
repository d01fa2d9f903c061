#include <algorithm>
#include <array>
#include <cmath>
#include <glia/testing/values.hpp>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "messages.hpp"

namespace {

namespace kernels = glia::kernels;
using glia::shape;
using glia::window2d;
using glia::kernels::byte_range;

struct link {
  window2d window;
  std::size_t outputs;  // 0: each channel on its own
  glia::unary_map map = glia::kernels::identity_map;
  byte_range input{0, 0, 255};
  window2d pool{};
};

/// A chain on a backend, and its links one after the other on the reference backend, on numbers of
/// which all sums are exact: multiples of powers of two.
struct chain_case {
  shape x;
  std::vector<link> links;
};

std::vector<float> multiples(const shape& s, std::uint32_t stream, float unit, float reach) {
  std::vector<float> values = glia::testing::test_values(s, stream);
  for (float& value : values) {
    value = std::nearbyint(value * reach / unit) * unit;
  }
  return values;
}

constexpr float weight_scale = 1.0F / 128;
constexpr float byte_scale = 1.0F / 32;
constexpr byte_range pooled{20, 0, 255};  // what is pooled in the end

shape weights_of(const link& l, std::size_t channels) {
  return l.outputs == 0 ? shape{l.window.height, l.window.width, 1, channels}
                        : shape{l.window.height, l.window.width, channels, l.outputs};
}
kernels::conv2d product_of(const link& l, std::size_t channels) {
  return {l.window, l.outputs == 0 ? channels : 1, l.map};
}
std::vector<float> scales_of(const link& l, std::size_t channels) {
  std::vector<float> scales(l.outputs == 0 ? channels : l.outputs);
  for (std::size_t o = 0; o < scales.size(); ++o) {
    scales[o] = o % 3 == 0 ? weight_scale : weight_scale / 2;
  }
  return scales;
}

/// Link i's weights, their scales and its bias, on a device.
struct link_numbers {
  glia::tensor weights;
  glia::tensor scales;
  glia::tensor bias;

  link_numbers(const glia::device& device, std::size_t i, const link& l, std::size_t channels) {
    const shape w = weights_of(l, channels);
    const std::vector<float> scale_values = scales_of(l, channels);
    const auto stream = static_cast<std::uint32_t>(10 * i);
    weights = test::tensor_of(device, w, multiples(w, stream + 2, weight_scale / 4, 0.4F));
    scales = test::tensor_of(device, {scale_values.size()}, scale_values);
    bias = test::tensor_of(device, {scale_values.size()},
                           multiples({scale_values.size()}, stream + 3, byte_scale / 8, 1));
  }
};

/// What the links give one after the other.
std::vector<float> one_by_one(const glia::device& device, const chain_case& c) {
  auto y = test::tensor_of(device, c.x, multiples(c.x, 1, byte_scale / 4, 3));
  std::size_t channels = c.x.back();
  for (std::size_t i = 0; i < c.links.size(); ++i) {
    const link& l = c.links[i];
    const link_numbers parameters(device, i, l, channels);
    y = device.run(kernels::fake_quantize{l.input}, y, test::tensor_of(device, {1}, {byte_scale}));
    y = device.run(product_of(l, channels), y,
                   device.run(kernels::fake_quantize{glia::signed_bytes}, parameters.weights,
                              parameters.scales),
                   parameters.bias);
    if (!(l.pool == window2d{})) {
      y = device.run(kernels::max_pool2d{l.pool}, y)[0];
      if (i + 1 == c.links.size()) {
        y = device.run(kernels::fake_quantize{pooled}, y,
                       test::tensor_of(device, {1}, {byte_scale}));
      }
    }
    channels = parameters.weights.shape().back();
  }
  return test::values_of(device, y);
}

std::vector<float> as_chain(const glia::device& device, const chain_case& c) {
  using tensor = glia::tensor;
  kernels::quantized_chain chain{c.links.size(), {}, pooled};
  std::array<tensor, glia::kernels::max_chain> packed;
  const tensor scale = test::tensor_of(device, {1}, {byte_scale});
  std::size_t channels = c.x.back();
  for (std::size_t i = 0; i < c.links.size(); ++i) {
    const link& l = c.links[i];
    const link_numbers parameters(device, i, l, channels);
    const bool preserves_output_kind = i + 1 < c.links.size();
    const bool to_bytes = preserves_output_kind || !(l.pool == window2d{});
    chain.links[i] = {product_of(l, channels), parameters.weights.shape(), glia::signed_bytes,
                      without_signs(l.input), l.pool};
    packed[i] = device.run(
        kernels::pack_quantized{
            chain.links[i], i == 0, to_bytes,
            preserves_output_kind ? without_signs(c.links[i + 1].input) : pooled},
        parameters.weights, parameters.scales, parameters.bias, scale, to_bytes ? scale : tensor{});
    channels = parameters.weights.shape().back();
  }
  const tensor x = test::tensor_of(device, c.x, multiples(c.x, 1, byte_scale / 4, 3));
  return test::values_of(
      device, device.run(chain, x, scale, c.links.back().pool == window2d{} ? tensor{} : scale,
                         packed[0], packed[1], packed[2], packed[3]));
}

std::vector<glia::cpu_loops::isa> isa_levels() {
  using glia::cpu_loops::isa;
  std::vector<isa> levels{isa::baseline, isa::avx2, isa::avx512};
  std::erase_if(levels, [](isa level) { return level > glia::cpu_loops::best_isa(); });
  return levels;
}

constexpr glia::unary_map relu{glia::unary_function::relu};
constexpr glia::unary_map relu6{glia::unary_function::relu6};
constexpr byte_range both{100, 0, 255};
constexpr byte_range with_signs{-5, -128, 127};

std::vector<chain_case> cases() {
  const window2d same{3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
  const window2d halves{2, 2, 2, 2};
  const window2d trailing{2, 2, 1, 1, 1, 1, 0, 1, 0, 1};
  const window2d halving{3, 3, 2, 2, 1, 1, 0, 1, 0, 1};
  return {
      // products, with every width of the last panel
      {{1, 1, 1, 1}, {{{}, 1}}},
      {{1, 7, 1, 30}, {{{}, 10, relu, both}}},
      {{2, 5, 3, 33}, {{{}, 17, relu6, both}}},
      {{9, 4, 5, 8}, {{{}, 35, glia::kernels::identity_map, with_signs}}},
      {{1, 6, 9, 64}, {{{}, 130}}},
      {{1, 1, 1, 784}, {{{}, 100, relu}}},
      {{1, 53, 1, 5}, {{{}, 64, relu6}}},
      // windows over images, padded with what is 0
      {{2, 9, 8, 3}, {{halving, 32, relu6, both}}},
      {{1, 7, 9, 5}, {{{2, 3, 1, 1, 2, 2, 1, 1, 2, 2}, 6, relu, both}}},
      {{1, 8, 7, 1}, {{{2, 2}, 70, relu}}},
      {{3, 5, 7, 2}, {{{1, 1, 2, 2}, 4}}},
      // each channel on its own
      {{1, 6, 7, 40}, {{same, 0, relu6, both}}},
      {{2, 9, 9, 65}, {{halving, 0, relu, both}}},
      {{1, 9, 8, 16}, {{{5, 5, 1, 1, 1, 1, 2, 2, 2, 2}, 0, glia::kernels::identity_map, both}}},
      {{1, 12, 11, 20}, {{{4, 3, 1, 1, 1, 1, 1, 2, 1, 1}, 0}}},
      {{1, 9, 9, 33}, {{{3, 3, 1, 1, 2, 2, 2, 2, 2, 2}, 0, relu}}},
      {{1, 40, 5, 3}, {{{16, 2}, 0}}},
      // chains
      {{2, 9, 8, 3}, {{halving, 32, relu6, both}, {same, 0, relu6}, {{}, 16}}},
      {{1, 11, 10, 16},
       {{{}, 96, relu6, both}, {halving, 0, relu6}, {{}, 24, glia::kernels::identity_map}}},
      {{1, 8, 7, 24}, {{{}, 144, relu, both}, {same, 0, relu}, {{}, 24}, {{}, 8, relu, both}}},
      {{9, 6, 6, 8}, {{{}, 40, relu6}, {{5, 5, 1, 1, 1, 1, 2, 2, 2, 2}, 0, relu6}, {{}, 20}}},
      {{1, 12, 13, 48}, {{same, 0, relu6, both}, {{}, 40, relu6, both}, {{}, 12, relu}}},
      {{1, 10, 9, 33}, {{same, 0, relu}, {same, 0, relu}}},
      {{1, 9, 9, 20}, {{{}, 30, relu6}, {{3, 3, 4, 4}, 0, relu6}}},
      {{1, 3, 3, 4}, {{{}, 8, relu, {7, 3, 200}}, {{}, 5, relu6, {0, 0, 100}}}},
      // pooled, in the end and between
      {{1, 9, 8, 3}, {{same, 20, relu, both, halves}}},
      {{9, 7, 9, 40}, {{{}, 70, glia::kernels::identity_map, both, {3, 2, 1, 3}}}},
      {{2, 28, 28, 1}, {{trailing, 64, relu, {}, halves}, {trailing, 32, relu, {}, halves}}},
      {{1, 41, 7, 2},
       {{{}, 33, relu, both, {1, 3, 1, 2}}, {{3, 2, 2, 1, 1, 2}, 80, relu6}, {{}, 5}}},
      {{1, 11, 12, 33},
       {{same, 0, relu6, both, halves}, {same, 0, relu, {}, {2, 2}}, {same, 12, relu, {}, {3, 3}}}},
  };
}

}  // namespace

TEST_CASE("chains in integers give what their links do, on every instruction set") {
  const auto chains = cases();
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const std::vector<float> expected = one_by_one(glia::reference<double>(), chains[i]);
    for (const auto level : isa_levels()) {
      for (const std::size_t threads : {1U, 3U}) {
        INFO("case " << i << ", level " << static_cast<int>(level) << ", " << threads
                     << " threads");
        CHECK(as_chain(glia::cpu<float>({.threads = threads, .isa = level}), chains[i]) ==
              expected);
      }
    }
  }
}

TEST_CASE("inputs beyond the bytes, or that are no numbers, become the last ones") {
  constexpr float endless = std::numeric_limits<float>::infinity();
  const std::vector<float> x{
      1e30F, -1e30F, endless, -endless, std::numeric_limits<float>::quiet_NaN(),
      2.55F, 2.54F,  -0.005F, 0.005F,   0.015F,
      0,     3e9F,   -3e9F,   1,        1.2345F};
  const std::vector<float> expected{2.55F, 0,     2.55F, 0,     0, 2.55F, 2.54F, 0,
                                    0,     0.02F, 0,     2.55F, 0, 1,     1.23F};
  for (const auto level : isa_levels()) {
    const glia::cpu<float> device({.isa = level});
    const glia::kernels::quantized_link l{{}, {1, 1, 1, 1}, glia::signed_bytes, {0, 0, 255}};
    const auto scalar = [&](float value) { return test::tensor_of(device, {1}, {value}); };
    const auto packed = device.run(kernels::pack_quantized{l, true, false, {}},
                                   test::tensor_of(device, {1, 1, 1, 1}, {1}), scalar(1),
                                   glia::tensor{}, scalar(0.01F), glia::tensor{});
    // As many times over as fill the widest registers.
    std::vector<float> many;
    for (int i = 0; i < 9; ++i) {
      many.insert(many.end(), x.begin(), x.end());
    }
    const auto y = test::values_of(
        device, device.run(kernels::quantized_chain{1, {l}},
                           test::tensor_of(device, {1, many.size(), 1, 1}, many), scalar(0.01F),
                           glia::tensor{}, packed, glia::tensor{}, glia::tensor{}, glia::tensor{}));
    for (std::size_t i = 0; i < y.size(); ++i) {
      INFO(i);
      CHECK(y[i] == Approx(expected[i % x.size()]).margin(1e-6));
    }
  }
}

TEST_CASE("quantized kernels name what does not fit") {
  const glia::cpu<float> device;
  const auto scale = test::tensor_of(device, {1}, {1});
  const auto x = test::tensor_of(device, {2, 3}, std::vector<float>(6, 1));
  const auto message = [&](const byte_range& range, const auto& scales) {
    return test::message_of<glia::error>(
        [&] { static_cast<void>(device.run(kernels::fake_quantize{range}, x, scales)); });
  };
  CHECK(test::contains(message({0, 0, 256}, scale), "0 to 256 with the zero 0"));
  CHECK(test::contains(message({200, -128, 127}, scale), "with the zero 200"));
  CHECK(test::contains(message({0, 5, 5}, scale), "5 to 5"));
  CHECK(test::contains(message({}, test::tensor_of(device, {2}, {1, 1})), "got (2,)"));
  // Behind the first, no windows over several channels of large images.
  const kernels::quantized_chain chain{2, {{{{}, {1, 1, 3, 4}}, {{{3, 3}, 1}, {3, 3, 4, 5}}}}};
  CHECK(test::contains(test::message_of<glia::value_error>([&] {
                         static_cast<void>(chain.sizes({1, 80, 80, 3}));
                       }),
                       "convolution 1 cannot be part of a chain"));
}

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "catch.hpp"
#include "conforming.hpp"
#include "helpers.hpp"

// What tests of devices share whose products have rounded factors.
namespace test {

using glia::cpu_loops::isa;

/// A cpu with these products and at most this instruction set.
inline glia::device rounding_cpu(const glia::cpu_products& products, std::size_t threads,
                                 isa level = glia::cpu_loops::best_isa()) {
  return glia::cpu({.threads = threads,
                    .isa = std::min(level, glia::cpu_loops::best_isa()),
                    .products = products});
}

/// Numbers of many sizes.
inline glia::tensor drawn(const glia::device& device, const glia::shape& s, std::uint32_t stream) {
  std::vector<float> values(s.size());
  glia::random_stream random({.seed = 5, .stream = stream});
  for (float& value : values) {
    value = static_cast<float>(std::exp(2 * random.normal()) * random.normal());
  }
  return tensor_of(device, s, values);
}

/// A kernel that multiplies, on a device.
struct rounded_product {
  std::string name;
  std::function<glia::tensor(const glia::device&)> run;
};

/// Convolutions of many shapes, and their gradients.
inline std::vector<rounded_product> rounded_convolutions() {
  struct convolution {
    glia::shape x;
    std::size_t outputs;
    glia::window2d window;
    std::size_t groups = 1;
  };
  constexpr glia::window2d same{
      .height = 3, .width = 3, .pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1};
  glia::window2d strided = same;
  strided.stride_height = 2;
  strided.stride_width = 3;
  const std::vector<convolution> convolutions{
      {{2, 7, 9, 3}, 5, {.height = 3, .width = 3}},
      {{9, 7, 9, 3}, 5, same},
      {{3, 11, 10, 4}, 33, strided},
      {{3, 9, 9, 6}, 9, strided, 3},
      {{3, 9, 9, 10}, 4, same, 2},
      {{1, 12, 13, 6}, 20, {.height = 2, .width = 3, .dilation_height = 2, .dilation_width = 3}},
      {{17, 6, 7, 19}, 40, {}},
      {{2, 4, 5, 1040}, 18, {.stride_height = 2, .stride_width = 2}},
      {{2, 5, 5, 260}, 18, {.height = 3, .width = 3}},
      {{1, 5, 1101, 1}, 18, {.height = 3, .width = 3}},
      {{20, 14, 13, 32}, 32, same}};
  std::vector<rounded_product> result;
  for (const convolution& c : convolutions) {
    const auto s = kernels::conv2d_rule(
        c.x, {c.window.height, c.window.width, c.x[3] / c.groups, c.outputs}, c.window, c.groups);
    const std::string name = glia::text(" of ", c.x, " with ", s.weights());
    result.push_back({"convolution" + name, [=](const glia::device& d) {
                        return d.run(
                            kernels::conv2d{c.window, c.groups, {glia::unary_function::relu}},
                            drawn(d, s.input(), 1), drawn(d, s.weights(), 2), drawn(d, {s.o}, 3));
                      }});
    result.push_back({"gradient of the input" + name, [=](const glia::device& d) {
                        return d.run(kernels::conv2d_input_gradient{c.window, c.groups,
                                                                    glia::sample_of(s.input())},
                                     drawn(d, s.output(), 4), drawn(d, s.weights(), 2));
                      }});
    result.push_back({"gradient of the kernel" + name, [=](const glia::device& d) {
                        return d.run(kernels::conv2d_kernel_gradient{c.window, c.groups},
                                     drawn(d, s.input(), 1), drawn(d, s.output(), 4));
                      }});
  }
  result.push_back({"chain of two convolutions", [=](const glia::device& d) {
                      kernels::conv2d_chain chain{2};
                      chain.links[0] = {same, 1, {glia::unary_function::relu}};
                      chain.links[1] = {{}, 1, {glia::unary_function::relu}};
                      std::array<glia::tensor, 2 * kernels::max_chain> weights;
                      weights[0] = drawn(d, {3, 3, 3, 21}, 2);
                      weights[1] = drawn(d, {21}, 3);
                      weights[2] = drawn(d, {1, 1, 21, 40}, 4);
                      weights[3] = drawn(d, {40}, 5);
                      return std::apply(
                          [&](const auto&... operands) {
                            return d.run(chain, drawn(d, {2, 9, 11, 3}, 1), operands...);
                          },
                          weights);
                    }});
  result.push_back({"gradient of a kernel without outputs", [](const glia::device& d) {
                      return d.run(kernels::conv2d_kernel_gradient{{3, 3}},
                                   drawn(d, {1, 5, 5, 4}, 1), drawn(d, {1, 3, 3, 0}, 4));
                    }});
  // A padded row has an odd number of pixels, the last of which is in no patch and is rounded to
  // infinity.
  result.push_back({"gradient of a kernel beside a large number", [](const glia::device& d) {
                      return d.run(
                          kernels::conv2d_kernel_gradient{
                              {.height = 3, .width = 3, .stride_height = 2, .stride_width = 2}},
                          tensor_of(d, {1, 3, 4, 1}, {1, 2, 3, 3.4e38F, 4, 5, 6, 7, 8, 9, 1, 2}),
                          tensor_of(d, {1, 1, 1, 1}, {1}));
                    }});
  return result;
}

/// Requires that a product has the same bits with any number of threads, and with the instructions
/// of this processor as with those of every processor.
inline void require_same_bits(const glia::cpu_products& products, const std::string& name,
                              const auto& product) {
  INFO(name);
  const auto values_on = [&](const glia::device& device) {
    return values_of(device, product(device));
  };
  const std::vector<float> expected = values_on(rounding_cpu(products, 1));
  // In parentheses, because printing all numbers takes minutes.
  CHECK((values_on(rounding_cpu(products, 2)) == expected));
  CHECK((values_on(rounding_cpu(products, 3)) == expected));
  CHECK((values_on(rounding_cpu(products, 2, isa::avx2)) == expected));
  CHECK((values_on(rounding_cpu(products, 3, isa::baseline)) == expected));
}

/// The largest error of a case of the conformance suite. Operands that are rounded before do not
/// change, so that only sums are rounded, as in float. Kernels that compute several products also
/// round the numbers between them.
inline double rounded_tolerance(const std::string& name) {
  constexpr double unit = 1.0 / 256;  // bfloat16 has 8 significant bits
  // The sums of a chain of convolutions are up to a hundred times as large as its inputs.
  const bool chained = name.find(" convolutions of ") != std::string::npos;
  return chained ? 64 * unit : name.starts_with("attention") ? unit : tolerance::float_kernel;
}

inline void require_rounded_conformance(const std::vector<glia::device>& devices) {
  for (const auto& result : glia::testing::run_conformance(devices, {.bfloat16_operands = true})) {
    INFO("device " << result.candidate << ", " << result.name << ": error " << result.error);
    CHECK(result.passed(rounded_tolerance(result.name)));
  }
}

/// Requires that devices propagate NaN and infinity, and compute the other numbers.
inline void require_special_values(const std::vector<glia::device>& devices) {
  for (const auto& result :
       glia::testing::run_special_values(devices, {.bfloat16_operands = true})) {
    // Infinity is multiplied by sums that can be 0 with or without rounding: between chained
    // convolutions, and in steps of SGD with an infinite learning rate.
    if (result.name.find(" convolutions of ") == std::string::npos &&
        !result.name.starts_with("sgd")) {
      INFO("device " << result.candidate << ", " << result.name << ": error " << result.error
                     << ", " << result.special_value);
      CHECK(result.error <= rounded_tolerance(result.name));
    }
  }
}

/// Requires that sums of millions of products keep the bound of long_sum.hpp. All products are
/// equal, and 32 of them are so far from a multiple of 0.5 that plain sums of more than 2^22 lose a
/// thousandth.
inline void require_accurate_sums(const glia::cpu_products& products) {
  constexpr float left = 1.9921875F;
  constexpr float right = 1.0078125F;
  constexpr double bound = glia::detail::product_error<float>;
  const glia::device device = rounding_cpu(products, 2);
  const auto full = [&](const glia::shape& s, float value) {
    return device.run(kernels::full{s, value});
  };
  const auto require_sums = [&](const glia::tensor& sums) {
    constexpr double exact = 3e6 * left * right;
    for (const float sum : values_of(device, sums)) {
      CHECK(std::abs(sum - exact) <= bound * exact);
    }
  };
  const glia::tensor dy = full({3, 1000, 1000, 1}, right);
  require_sums(
      device.run(kernels::matmul{}, full({2, 3'000'000}, left), full({3'000'000, 1}, right)));
  require_sums(device.run(kernels::conv2d_kernel_gradient{}, full({3, 1000, 1000, 1}, left), dy));
  require_sums(device.run(kernels::conv2d_kernel_gradient{{.height = 9, .width = 1}},
                          full({3, 1008, 1000, 1}, left), dy));
  require_sums(device.run(kernels::conv2d{.window = {.height = 2, .width = 2}},
                          full({1, 2, 2, 750'000}, left), full({2, 2, 750'000, 1}, right),
                          glia::tensor{}));
  require_sums(device.run(kernels::conv2d{}, full({1, 1, 2, 3'000'000}, left),
                          full({1, 1, 3'000'000, 1}, right), glia::tensor{}));
  const glia::window2d two{.height = 1, .width = 2};
  require_sums(device.run(kernels::conv2d_input_gradient{.window = two, .image = {1, 2, 1}},
                          full({1, 1, 1, 3'000'000}, left), full({1, 2, 1, 3'000'000}, right)));
}

/// Returns the parameters and outputs of two networks after three training steps: of recurrent
/// layers and attention, and of convolutions, which predictions compute in a chain.
inline std::vector<float> trained_networks(const glia::device& device, std::size_t batch) {
  std::vector<float> result;
  const auto train = [&](const auto& description, const glia::shape& sample) {
    glia::model net{description, sample, device, {.seed = 3}};
    glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.1}};
    glia::batch b;
    b.size = batch;
    b.input_shape = glia::batch_of(batch, sample);
    b.target_shape = glia::batch_of(batch, net.output_shape());
    glia::random_stream random({.seed = 4});
    for (std::size_t i = 0; i < b.input_shape.size(); ++i) {
      b.inputs.push_back(static_cast<float>(random.normal()));
    }
    b.targets.assign(b.target_shape.size(), 0.5F);
    for (int step = 0; step < 3; ++step) {
      trainer.step(b);
    }
    const std::vector<float> parameters = parameters_of(net);
    std::vector<float> outputs(b.target_shape.size());
    net.predict_batch(b.inputs, outputs);
    result.insert(result.end(), parameters.begin(), parameters.end());
    result.insert(result.end(), outputs.begin(), outputs.end());
  };
  const auto convolution = [](std::size_t filters, std::size_t size) {
    return glia::conv2d{.filters = filters, .kernel_size = size, .padding = glia::same};
  };
  train(glia::sequential{glia::gru{.units = 20, .return_sequences = true},
                         glia::bidirectional(glia::lstm{.units = 9, .return_sequences = true}),
                         glia::multi_head_attention{.num_heads = 2, .key_dim = 9},
                         glia::time_distributed{glia::dense{3}}},
        {6, 5});
  train(glia::sequential{convolution(18, 3), glia::relu, convolution(7, 1), glia::relu,
                         glia::depthwise_conv2d{.kernel_size = 3}, convolution(35, 1),
                         glia::max_pool2d{}, glia::global_avg_pool2d{}, glia::dense{4}},
        {13, 11, 3});
  return result;
}

/// Requires that networks train and predict with the same bits on any number of threads.
inline void require_same_training(const glia::cpu_products& products) {
  for (const std::size_t batch : {1U, 5U, 70U}) {
    const std::vector<float> expected = trained_networks(rounding_cpu(products, 1), batch);
    CHECK((trained_networks(rounding_cpu(products, 2), batch) == expected));
    CHECK((trained_networks(rounding_cpu(products, 3), batch) == expected));
  }
}

}  // namespace test

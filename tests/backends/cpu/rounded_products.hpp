#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
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
  constexpr glia::window2d around{
      .height = 3, .width = 3, .pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1};
  glia::window2d strided = around;
  strided.stride_height = 2;
  strided.stride_width = 3;
  const std::vector<convolution> convolutions{
      {{2, 7, 9, 3}, 5, {.height = 3, .width = 3}},
      {{9, 7, 9, 3}, 5, around},
      {{3, 11, 10, 4}, 33, strided},
      {{3, 9, 9, 6}, 9, strided, 3},
      {{3, 9, 9, 10}, 4, around, 2},
      {{1, 12, 13, 6}, 20, {.height = 2, .width = 3, .dilation_height = 2, .dilation_width = 3}},
      {{17, 6, 7, 19}, 40, {}},
      {{2, 4, 5, 1040}, 18, {.stride_height = 2, .stride_width = 2}},
      {{2, 5, 5, 260}, 18, {.height = 3, .width = 3}},
      {{1, 5, 1101, 1}, 18, {.height = 3, .width = 3}},
      {{20, 14, 13, 32}, 32, around}};
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
  return result;
}

/// Requires that a product has the same bits with any number of threads, and with the instructions
/// of this processor as with those of every processor.
inline void require_same_bits(const glia::cpu_products& products, const std::string& name,
                              const auto& product) {
  INFO(name);
  const auto on = [&](const glia::device& device) { return values_of(device, product(device)); };
  const std::vector<float> expected = on(rounding_cpu(products, 1));
  // In parentheses, because printing all numbers takes minutes.
  CHECK((on(rounding_cpu(products, 2)) == expected));
  CHECK((on(rounding_cpu(products, 3)) == expected));
  CHECK((on(rounding_cpu(products, 2, isa::avx2)) == expected));
  CHECK((on(rounding_cpu(products, 3, isa::baseline)) == expected));
}

/// Operands that are rounded before do not change, so that only sums are rounded, as in float.
/// Kernels that compute several products also round the numbers between them.
inline void require_rounded_conformance(const std::vector<glia::device>& devices) {
  constexpr double unit = 1.0 / 256;  // bfloat16 has 8 significant bits
  for (const auto& result : glia::testing::run_conformance(devices, {.bfloat16_operands = true})) {
    INFO("device " << result.candidate << ", " << result.name << ": error " << result.error);
    const bool attends = result.name.starts_with("attention");
    const bool chained = result.name.find(" convolutions of ") != std::string::npos;
    // The sums of a chain of convolutions are up to a hundred times as large as its inputs.
    CHECK(result.passed(chained ? 64 * unit : attends ? unit : tolerance::float_kernel));
  }
}

/// Requires that devices propagate NaN and infinity.
inline void require_special_values(const std::vector<glia::device>& devices) {
  for (const auto& result : glia::testing::run_special_values(devices)) {
    // Between chained convolutions, rounding can turn 0 into another number.
    if (result.name.find(" convolutions of ") == std::string::npos) {
      INFO("device " << result.candidate << ", " << result.name << ": error " << result.error
                     << ", " << result.special_value);
      CHECK(std::isfinite(result.error));
    }
  }
}

/// Requires that networks train and predict with the same bits on any number of threads.
inline void require_same_training(const glia::cpu_products& products) {
  const auto check = [&](const auto& description, const glia::shape& sample, std::size_t batch) {
    const auto trained = [&](std::size_t threads) {
      glia::model net{description, sample, rounding_cpu(products, threads), {.seed = 3}};
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
      std::vector<float> result = parameters_of(net);
      std::vector<float> outputs(b.target_shape.size());
      net.predict_batch(b.inputs, outputs);  // with packed weights, and chains of convolutions
      result.insert(result.end(), outputs.begin(), outputs.end());
      return result;
    };
    const std::vector<float> expected = trained(1);
    CHECK((trained(2) == expected));
    CHECK((trained(3) == expected));
  };
  const auto convolution = [](std::size_t filters, std::size_t size) {
    return glia::conv2d{.filters = filters, .kernel_size = size, .padding = glia::same};
  };
  for (const std::size_t batch : {1U, 5U, 70U}) {
    check(glia::sequential{glia::gru{.units = 20, .return_sequences = true},
                           glia::bidirectional(glia::lstm{.units = 9, .return_sequences = true}),
                           glia::multi_head_attention{.num_heads = 2, .key_dim = 9},
                           glia::time_distributed{glia::dense{3}}},
          {6, 5}, batch);
    check(glia::sequential{convolution(18, 3), glia::relu, convolution(7, 1), glia::relu,
                           glia::depthwise_conv2d{.kernel_size = 3}, convolution(35, 1),
                           glia::max_pool2d{}, glia::global_avg_pool2d{}, glia::dense{4}},
          {13, 11, 3}, batch);
  }
}

}  // namespace test

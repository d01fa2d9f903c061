#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/cpu/rounded_products.hpp"

using glia::cpu_loops::isa;
using test::drawn;
using test::tensor_of;
using test::values_of;

namespace {

glia::device rounding_cpu(std::size_t threads, isa level = glia::cpu_loops::best_isa()) {
  return test::rounding_cpu(glia::bfloat16, threads, level);
}

void require_same_bits(const std::string& name, const auto& product) {
  test::require_same_bits(glia::bfloat16, name, product);
}

}  // namespace

TEST_CASE("products in bfloat16 have the same bits with all instruction sets and threads") {
  using glia::transpose;
  for (const auto transposed : {transpose::none, transpose::first, transpose::second}) {
    const bool first = transposed == transpose::first;
    const bool second = transposed == transpose::second;
    for (const std::size_t m : {1U, 2U, 13U, 49U, 300U}) {
      for (const std::size_t k : {1U, 2U, 255U, 513U, 1030U}) {
        for (const std::size_t n : {1U, 5U, 33U, 130U}) {
          require_same_bits(glia::text(m, " x ", k, " x ", n, ", transposed factor ",
                                       static_cast<int>(transposed)),
                            [&](const glia::device& d) {
                              return d.run(
                                  kernels::matmul{transposed},
                                  drawn(d, first ? glia::shape{k, m} : glia::shape{m, k}, 1),
                                  drawn(d, second ? glia::shape{n, k} : glia::shape{k, n}, 2));
                            });
        }
      }
    }
    require_same_bits("a batch of products", [&](const glia::device& d) {
      return d.run(kernels::batched_matmul{transposed},
                   drawn(d, first ? glia::shape{7, 21, 34} : glia::shape{7, 34, 21}, 1),
                   drawn(d, second ? glia::shape{7, 18, 21} : glia::shape{7, 21, 18}, 2));
    });
  }
  require_same_bits("sums of more than 16,384 products", [](const glia::device& d) {
    return d.run(kernels::matmul{}, drawn(d, {3, 20000}, 1), drawn(d, {20000, 5}, 2));
  });
  require_same_bits("packed weights", [](const glia::device& d) {
    const auto w = drawn(d, {530, 70}, 2);
    const auto packed = d.run(kernels::pack_panels{}, w, glia::tensor{});
    return d.run(kernels::packed_dense{}, drawn(d, {1, 530}, 1), w, drawn(d, {70}, 3), packed);
  });
}

TEST_CASE("convolutions in bfloat16 have the same bits with all instruction sets and threads") {
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
  for (const convolution& c : convolutions) {
    const auto s = kernels::conv2d_rule(
        c.x, {c.window.height, c.window.width, c.x[3] / c.groups, c.outputs}, c.window, c.groups);
    const std::string name = glia::text(" of ", c.x, " with ", s.weights());
    require_same_bits("convolution" + name, [&](const glia::device& d) {
      return d.run(kernels::conv2d{c.window, c.groups, {glia::unary_function::relu}},
                   drawn(d, s.input(), 1), drawn(d, s.weights(), 2), drawn(d, {s.o}, 3));
    });
    require_same_bits("gradient of the input" + name, [&](const glia::device& d) {
      return d.run(kernels::conv2d_input_gradient{c.window, c.groups, glia::sample_of(s.input())},
                   drawn(d, s.output(), 4), drawn(d, s.weights(), 2));
    });
    require_same_bits("gradient of the kernel" + name, [&](const glia::device& d) {
      return d.run(kernels::conv2d_kernel_gradient{c.window, c.groups}, drawn(d, s.input(), 1),
                   drawn(d, s.output(), 4));
    });
  }
}

TEST_CASE("factors are rounded to the nearest number in bfloat16") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float largest = std::numeric_limits<float>::max();
  constexpr float denormal = 1e-40F;
  // Numbers with 7 bits after the first, ties to even, and numbers just above ties.
  const std::vector<float> given{
      1,       1.00390625F, 1.01171875F, 1.00390637F, -1.01171875F, 3e-39F,
      largest, -infinity,   denormal,    nan,         257,          0};
  const std::vector<float> rounded{1,        1,         1.015625F, 1.0078125F, -1.015625F, 0,
                                   infinity, -infinity, 0,         nan,        256,        0};
  for (const isa level : {isa::baseline, isa::avx2, isa::avx512}) {
    const glia::device device = rounding_cpu(1, level);
    for (std::size_t i = 0; i < given.size(); ++i) {
      INFO(given[i]);
      const auto x = tensor_of(device, {1, 1}, {given[i]});
      const auto one = tensor_of(device, {1, 1}, {1});
      for (const auto& product :
           {device.run(kernels::matmul{}, x, one), device.run(kernels::matmul{}, one, x)}) {
        const float actual = values_of(device, product)[0];
        CHECK((actual == rounded[i] || (std::isnan(actual) && std::isnan(rounded[i]))));
      }
    }
  }
}

TEST_CASE("a cpu with products in bfloat16 conforms") {
  test::require_rounded_conformance(
      {rounding_cpu(3), rounding_cpu(2, isa::avx2), rounding_cpu(1, isa::baseline)});
}

TEST_CASE("products in bfloat16 propagate NaN and infinity") {
  const std::vector<glia::device> devices{rounding_cpu(2), rounding_cpu(2, isa::avx2)};
  for (const auto& result : glia::testing::run_special_values(devices)) {
    // Between chained convolutions, rounding can turn 0 into another number.
    if (result.name.find(" convolutions of ") == std::string::npos) {
      INFO("device " << result.candidate << ", " << result.name << ": error " << result.error
                     << ", " << result.special_value);
      CHECK(std::isfinite(result.error));
    }
  }
}

TEST_CASE("networks train in bfloat16 with the same bits on any number of threads") {
  const auto check = [](const auto& description, const glia::shape& sample, std::size_t batch) {
    const auto trained = [&](std::size_t threads) {
      glia::model net{description, sample, rounding_cpu(threads), {.seed = 3}};
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
      std::vector<float> result = test::parameters_of(net);
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

TEST_CASE("products in bfloat16 need float numbers") {
  CHECK(test::message_of<glia::value_error>([] {
          glia::cpu<double>({.products = glia::bfloat16});
        }) == "cpu: products in bfloat16 need a device of float numbers, cpu<float>");
}

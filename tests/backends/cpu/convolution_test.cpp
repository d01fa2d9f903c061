#include <algorithm>
#include <cmath>
#include <cstddef>
#include <glia/backends/cpu.hpp>
#include <glia/backends/reference.hpp>
#include <glia/testing/values.hpp>
#include <limits>
#include <span>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("convolutions refuse an empty batch") {
  using tensor = glia::tensor;
  const glia::cpu<float> device;
  const auto empty = device.run(kernels::full{{0, 5, 5, 1}, 0});
  const auto kernel = device.run(kernels::full{{2, 2, 1, 3}, 0});
  const glia::window2d window{2, 2};
  const std::string refusal = "pooling: expected at least one image, got (0, 5, 5, 1)";
  using test::message_of;
  CHECK(message_of<glia::shape_error>([&] {
          (void)device.run(kernels::conv2d{window, 1, glia::kernels::identity_map}, empty, kernel,
                           tensor{});
        }) == "conv2d: expected at least one image, got (0, 5, 5, 1)");
  CHECK(message_of<glia::shape_error>([&] {
          (void)device.run(kernels::conv2d_max_pool2d{{window, 1, {2, 2, 2, 2}}}, empty, kernel,
                           tensor{});
        }) == "conv2d: expected at least one image, got (0, 5, 5, 1)");
  CHECK(message_of<glia::shape_error>(
            [&] { (void)device.run(kernels::max_pool2d{window}, empty); }) == refusal);
}

namespace {

constexpr glia::window2d three{3, 3, 1, 1, 1, 1, 1, 1, 1, 1};

/// Images (n, 9, 7, 32) and a kernel (3, 3, 32, 32), for which convolutions use Winograd's method.
std::vector<float> images(std::size_t n) { return glia::testing::test_values({n, 9, 7, 32}, 1); }
std::vector<float> weights() { return glia::testing::test_values({3, 3, 32, 32}, 2); }

std::vector<float> convolved(const glia::device& device, const std::vector<float>& x,
                             const std::vector<float>& w) {
  const std::size_t n = x.size() / (9 * 7 * 32);
  return test::values_of(
      device, device.run(kernels::conv2d{three}, test::tensor_of(device, {n, 9, 7, 32}, x),
                         test::tensor_of(device, {3, 3, 32, 32}, w), glia::tensor{}));
}

/// The gradients of the kernel and of the input for a gradient of the output that is like x.
std::vector<float> gradients_of(const glia::device& device, const std::vector<float>& x,
                                const std::vector<float>& w) {
  const std::size_t n = x.size() / (9 * 7 * 32);
  const auto of_x = test::tensor_of(device, {n, 9, 7, 32}, x);
  std::vector<float> values =
      test::values_of(device, device.run(kernels::conv2d_kernel_gradient{three}, of_x, of_x));
  const std::vector<float> dx =
      test::values_of(device, device.run(kernels::conv2d_input_gradient{three, 1, {9, 7, 32}}, of_x,
                                         test::tensor_of(device, {3, 3, 32, 32}, w)));
  values.insert(values.end(), dx.begin(), dx.end());
  return values;
}

/// How many numbers differ by more than rounding explains. NaN and infinity must be the same.
std::size_t differences(const std::vector<float>& values, const std::vector<float>& expected,
                        float tolerance) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool equal = std::isnan(expected[i])   ? std::isnan(values[i])
                       : std::isinf(expected[i]) ? values[i] == expected[i]
                                                 : std::abs(values[i] - expected[i]) <=
                                                       tolerance * (1 + std::abs(expected[i]));
    wrong += equal ? 0 : 1;
  }
  return wrong;
}

}  // namespace

TEST_CASE(
    "a 3 x 3 convolution propagates NaN, infinity and overflow to the outputs that read them") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float largest = std::numeric_limits<float>::max();
  const glia::cpu<float> device;
  const glia::reference<float> expected_device;
  for (const float special : {std::nanf(""), infinity, -infinity, largest}) {
    for (const std::size_t place : {0U, 32U * 30 + 5, 32U * (63 + 62)}) {
      std::vector<float> x = images(7);
      std::vector<float> w = weights();
      x[place] = special;
      x[place + 2 * 32] = -special;
      const auto check = [&] {
        CHECK(differences(convolved(device, x, w), convolved(expected_device, x, w), 1e-4F) == 0);
        CHECK(differences(gradients_of(device, x, w), gradients_of(expected_device, x, w), 1e-3F) ==
              0);
      };
      check();
      x = images(7);
      w[place % w.size()] = special;
      check();
    }
  }
}

TEST_CASE("the gradient of a 3 x 3 kernel is a sum over many images, the same for all threads") {
  const std::vector<float> x = images(70);
  const std::vector<float> w = weights();
  const std::vector<float> expected = gradients_of(glia::cpu<float>({.threads = 1}), x, w);
  CHECK(differences(expected, gradients_of(glia::reference<float>(), x, w), 1e-3F) == 0);
  for (const std::size_t threads : {2U, 3U}) {
    CHECK((gradients_of(glia::cpu<float>({.threads = threads}), x, w) == expected));
  }
}

TEST_CASE("the gradient of a large kernel is a sum over chunks of images") {
  // The patches of 300 images take 75 MiB, so they are copied in two chunks, those of 150 in one.
  constexpr std::size_t channels = 104;
  constexpr std::size_t of_image = 5 * 5 * channels;
  const auto gradient_of = [&](std::size_t first, std::size_t images, std::size_t threads) {
    const glia::cpu<float> device({.threads = threads});
    std::vector<float> x(images * of_image);
    std::vector<float> dy(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>((i + first * of_image) * 7 % 31) * 0.1F - 1;
      dy[i] = static_cast<float>((i + first * of_image) * 5 % 23) * 0.1F - 1;
    }
    const glia::shape s{images, 5, 5, channels};
    const glia::window2d same{5, 5, 1, 1, 1, 1, 2, 2, 2, 2};
    return test::values_of(
        device, device.run(kernels::conv2d_kernel_gradient{same}, test::tensor_of(device, s, x),
                           test::tensor_of(device, s, dy)));
  };
  const std::vector<float> whole = gradient_of(0, 300, 1);
  std::vector<float> sum = gradient_of(0, 150, 2);
  const std::vector<float> second = gradient_of(150, 150, 2);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] += second[i];
  }
  CHECK(differences(whole, sum, 1e-3F) == 0);
  CHECK((gradient_of(0, 300, 3) == whole));
}

TEST_CASE("the bits of a 3 x 3 convolution depend neither on the batch nor on the threads") {
  const std::vector<float> x = images(5);
  const std::vector<float> w = weights();
  const std::vector<float> whole = convolved(glia::cpu<float>({.threads = 1}), x, w);
  for (const std::size_t threads : {1U, 2U, 3U}) {
    const glia::cpu<float> device({.threads = threads});
    CHECK((convolved(device, x, w) == whole));
    const std::size_t size = x.size() / 5;
    const auto last = static_cast<std::ptrdiff_t>(4 * size);
    CHECK((convolved(device, {x.begin() + last, x.end()}, w) ==
           std::vector<float>(whole.begin() + last, whole.end())));
  }
}

TEST_CASE("a number that is not finite does not change the bits of other images") {
  const glia::cpu<float> device({.threads = 2});
  const auto check = [&](const auto& compute, std::vector<float> x) {
    const std::vector<float> finite = compute(x);
    const std::size_t size = finite.size() / 3;
    x[x.size() / 2] = std::nanf("");
    const std::vector<float> y = compute(x);
    const auto equal = [&](std::size_t image) {
      const auto first = static_cast<std::ptrdiff_t>(image * size);
      const auto end = first + static_cast<std::ptrdiff_t>(size);
      return std::equal(y.begin() + first, y.begin() + end, finite.begin() + first);
    };
    CHECK(equal(0));
    CHECK_FALSE(equal(1));
    CHECK(equal(2));
  };
  check([&](const auto& x) { return convolved(device, x, weights()); }, images(3));
  const auto pooled = [&](const std::vector<float>& x) {
    const kernels::conv2d_max_pool2d k{
        {{2, 2, 1, 1, 1, 1, 0, 1, 0, 1}, 1, {2, 2, 2, 2}}, kernels::identity_map, false};
    const glia::tensor w =
        test::tensor_of(device, {2, 2, 32, 32}, glia::testing::test_values({2, 2, 32, 32}, 3));
    return test::values_of(
        device, device.run(k, test::tensor_of(device, {3, 9, 7, 32}, x), w, glia::tensor{})[0]);
  };
  check(pooled, images(3));
}

namespace {

/// Results of a convolution with 1 x 3 windows, strides of 2 and so many positions and outputs: its
/// values with and without a bias and a ReLU, and the gradient of its input.
std::vector<double> small_convolution(const glia::device& device, std::size_t positions,
                                      std::size_t outputs) {
  const auto values_of = [&](const glia::shape& s, unsigned seed) {
    const std::vector<float> values = glia::testing::test_values(s, seed);
    return test::tensor_of(device, s, values);
  };
  const glia::window2d window{1, 3, 1, 2};
  const glia::shape input{2, 1, 2 * positions + 1, 5};
  const glia::tensor x = values_of(input, 1);
  const glia::tensor w = values_of({1, 3, 5, outputs}, 2);
  const glia::tensor dy = values_of({2, 1, positions, outputs}, 3);
  std::vector<double> numbers;
  const auto append = [&](const glia::tensor& result) {
    std::vector<double> values(result.shape().size());
    device.to_host(result, std::span<double>(values));
    numbers.insert(numbers.end(), values.begin(), values.end());
  };
  append(device.run(kernels::conv2d{window}, x, w, glia::tensor{}));
  append(device.run(kernels::conv2d{window, 1, {glia::unary_function::relu}}, x, w,
                    values_of({outputs}, 4)));
  append(
      device.run(kernels::conv2d_input_gradient{window, 1, {input[1], input[2], input[3]}}, dy, w));
  return numbers;
}

}  // namespace

TEST_CASE("convolutions are right for any number of positions and outputs") {
  using glia::cpu_loops::isa;
  for (const std::size_t outputs : {1U, 15U, 16U, 17U, 24U, 31U, 32U, 33U, 47U, 64U}) {
    for (std::size_t positions = 1; positions <= 40; ++positions) {
      CAPTURE(outputs, positions);
      const std::vector<double> expected =
          small_convolution(glia::reference<double>(), positions, outputs);
      const auto error = [&](const glia::device& device) {
        const std::vector<double> y = small_convolution(device, positions, outputs);
        double largest = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
          largest = std::max(largest, std::abs(y[i] - expected[i]));
        }
        return largest;
      };
      for (const isa level : {isa::baseline, isa::avx2, isa::avx512}) {
        const isa known = std::min(level, glia::cpu_loops::best_isa());
        const auto lost = error(glia::cpu<float>({.threads = 1, .isa = known}));
        const auto lost_in_double = error(glia::cpu<double>({.threads = 1, .isa = known}));
        REQUIRE(lost < 1e-4);
        REQUIRE(lost_in_double < 1e-12);
      }
    }
  }
}

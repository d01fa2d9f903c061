#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::contains;
using test::message_of;

TEST_CASE("conv2d slides its kernel over the image") {
  const std::vector<float> image{1, 2, 3, 4, 5, 6};   // (1, 2, 3, 1)
  const std::vector<float> kernel{1, 10, 100, 1000};  // (2, 2, 1, 1)
  const glia::conv2d layer{.filters = 1, .kernel = 2};
  CHECK(test::run_layer(layer, {1, 2, 3, 1}, image, {kernel, {0.5F}}) ==
        std::vector<float>{5421.5F, 6532.5F});
  // TensorFlow's `same`: the odd row and column go to the bottom and right.
  const glia::conv2d padded{.filters = 1, .kernel = 2, .padding = glia::same, .bias = false};
  CHECK(test::run_layer(padded, {1, 2, 3, 1}, image, {kernel}) ==
        std::vector<float>{5421, 6532, 603, 54, 65, 6});
  const glia::conv2d strided{
      .filters = 1, .kernel = 2, .stride = {1, 2}, .padding = {1, 0, 1, 0}, .bias = false};
  CHECK(test::run_layer(strided, {1, 2, 3, 1}, image, {kernel}) ==
        std::vector<float>{1000, 3200, 4010, 6532});
}

TEST_CASE("conv2d keeps groups apart") {
  // Two channels, each with a 1x1 kernel of its own.
  const glia::conv2d layer{.filters = 2, .kernel = 1, .groups = 2, .bias = false};
  CHECK(test::run_layer(layer, {1, 1, 2, 2}, {1, 2, 3, 4}, {{10, 100}}) ==
        std::vector<float>{10, 200, 30, 400});
}

TEST_CASE("conv2d has the right gradients") {
  const glia::cpu<double> device;
  const std::vector<glia::conv2d> layers{
      {.filters = 3, .kernel = {2, 3}, .activation = glia::tanh},
      {.filters = 4, .kernel = 3, .stride = 2, .padding = glia::same, .groups = 2},
      {.filters = 2, .kernel = 2, .padding = 1, .dilation = {2, 1}, .activation = glia::gelu}};
  for (const glia::conv2d& layer : layers) {
    INFO(layer.description());
    CHECK(glia::testing::layer_gradient_error(device, layer, {{2, 5, 6, 2}, 1U}) <
          tolerance::gradient);
  }
}

TEST_CASE("same padding keeps ceil(size / stride) for any size, stride and dilation") {
  for (std::size_t size = 1; size < 9; ++size) {
    for (std::size_t kernel = 1; kernel < 5; ++kernel) {
      for (std::size_t stride = 1; stride < 4; ++stride) {
        for (std::size_t dilation = 1; dilation < 3; ++dilation) {
          const auto w =
              glia::resolve_window({1, size, size, 1}, kernel, stride, dilation, glia::same);
          CHECK(glia::pool_rule({1, size, size, 1}, w).oh == (size + stride - 1) / stride);
          CHECK(w.pad_bottom - w.pad_top <= 1);
        }
      }
    }
  }
}

TEST_CASE("conv2d says what does not fit") {
  const auto build = [](const glia::conv2d& layer, const glia::shape& sample) {
    return [=] { glia::model net{glia::sequential{layer}, sample}; };
  };
  CHECK(message_of<glia::shape_error>(build({.filters = 2, .kernel = 3}, {28, 28})) ==
        "sequential[0] conv2d(2, 3x3, valid): expected images (N, H, W, C), got (N, 28, 28); add "
        "reshape{{H, W, C}} before it");
  CHECK(contains(message_of<glia::shape_error>(build({.filters = 2, .kernel = 5}, {4, 9, 1})),
                 "the kernel is larger than the padded input (N, 4, 9, 1)"));
  CHECK(contains(message_of<glia::value_error>(build({.filters = 4, .groups = 2}, {4, 9, 3})),
                 "groups (2) must divide the input's channels (3)"));
  CHECK(contains(message_of<glia::value_error>(build({.filters = 0}, {4, 9, 3})), "at least 1"));
}

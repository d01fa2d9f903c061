#include "../golden/keras_convolutions_golden.hpp"

#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "layers/formula.hpp"
#include "tolerances.hpp"

using test::contains;
using test::message_of;

TEST_CASE("conv3d slides its kernel over frames, rows and columns") {
  const std::vector<float> volume{1, 2, 3, 4, 5, 6};  // (1, 3, 1, 2, 1)
  const auto run = [&](const glia::conv3d& layer) {
    return test::run_layer(layer, {1, 3, 1, 2, 1}, volume, {{1, 10, 100, 1000}, {0.5F}});
  };
  CHECK(run({.filters = 1, .kernel_size = {2, 1, 2}}) == std::vector<float>{4321.5F, 6543.5F});
  // Keras's `same`: the odd frame and column go to the back and right.
  CHECK(run({.filters = 1, .kernel_size = {2, 1, 2}, .padding = glia::same}) ==
        std::vector<float>{4321.5F, 402.5F, 6543.5F, 604.5F, 65.5F, 6.5F});
  CHECK(run({.filters = 1, .kernel_size = {2, 1, 2}, .strides = {2, 1, 1}, .padding = {1, 0, 0}}) ==
        std::vector<float>{2100.5F, 6543.5F});
  CHECK(run({.filters = 1, .kernel_size = {2, 1, 2}, .padding = {1, 0, 0, 0, 0, 0}}) ==
        std::vector<float>{2100.5F, 4321.5F, 6543.5F});
  CHECK(run({.filters = 1, .kernel_size = {2, 1, 2}, .dilation_rate = {2, 1, 1}}) ==
        std::vector<float>{6521.5F});
}

TEST_CASE("convolutions of volumes are Keras's") {
  const glia::shape batch{2, 5, 4, 6, 3};
  const auto distance = [&](const glia::conv3d& layer, const auto& expected) {
    return test::distance(test::outputs_of(layer, batch, test::by_formula(batch, 41), {53, 61}),
                          expected);
  };
  CHECK(distance({.filters = 2, .kernel_size = {3, 2, 3}}, glia_golden::conv3d_valid) <
        tolerance::golden);
  CHECK(
      distance(
          {.filters = 2, .kernel_size = {2, 3, 2}, .padding = glia::same, .activation = glia::tanh},
          glia_golden::conv3d_same) < tolerance::golden);
  CHECK(distance(
            {.filters = 2, .kernel_size = {2, 3, 3}, .strides = {2, 1, 2}, .padding = glia::same},
            glia_golden::conv3d_strided) < tolerance::golden);
  CHECK(distance({.filters = 2, .kernel_size = 1, .strides = 3}, glia_golden::conv3d_sparse) <
        tolerance::golden);
  CHECK(distance({.filters = 2, .kernel_size = {2, 2, 3}, .dilation_rate = {3, 1, 2}},
                 glia_golden::conv3d_dilated) < tolerance::golden);
}

TEST_CASE("conv3d has the right gradients") {
  const std::vector<glia::conv3d> layers{
      {.filters = 2, .kernel_size = {3, 2, 2}, .activation = glia::tanh},
      {.filters = 3, .kernel_size = 2, .strides = 2, .padding = glia::same},
      {.filters = 2, .kernel_size = {2, 1, 3}, .strides = {9, 1, 1}, .padding = 1},
      {.filters = 2, .kernel_size = {2, 1, 1}, .strides = {2, 1, 1}, .dilation_rate = {3, 1, 1}},
      {.filters = 2, .kernel_size = 1, .use_bias = false}};
  for (const glia::conv3d& layer : layers) {
    INFO(layer.description());
    CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), layer, {{2, 4, 3, 3, 2}, 1U}) <
          tolerance::gradient);
  }
}

TEST_CASE("conv3d says what does not fit") {
  const auto build = [](const glia::conv3d& layer, const glia::shape& sample) {
    return [=] { glia::model net{glia::sequential{layer}, sample}; };
  };
  CHECK(message_of<glia::shape_error>(build({.filters = 2, .kernel_size = 3}, {8, 8, 8})) ==
        "sequential[0] conv3d(2, 3x3x3, valid): expected volumes (N, D, H, W, C), got (N, 8, 8, "
        "8); add reshape{{D, H, W, C}} before it");
  CHECK(
      contains(message_of<glia::shape_error>(build({.filters = 2, .kernel_size = 3}, {2, 8, 8, 1})),
               "the kernel_size is larger than the padded input (N, 2, 8, 8, 1)"));
  CHECK(contains(message_of<glia::value_error>(build({.filters = 2}, {8, 8, 8, 1})),
                 "expected a kernel_size of at least 1x1x1, got 0x0x0"));
  CHECK(contains(message_of<glia::value_error>(build({.kernel_size = 2}, {8, 8, 8, 1})),
                 "expected at least 1 filter"));
  CHECK(contains(message_of<glia::value_error>(build(
                     {.filters = 1, .kernel_size = 2, .activation = glia::softmax}, {8, 8, 8, 1})),
                 "a softmax over 1 filter is always 1"));
  CHECK(contains(
      message_of<glia::value_error>(build(
          {.filters = 2, .kernel_size = 2, .strides = static_cast<std::size_t>(-1)}, {8, 8, 8, 1})),
      "at most 1048576"));
}

TEST_CASE("padding of volumes is one, three or six numbers, or that of images") {
  using padding = glia::padding3d;
  CHECK(padding{2} == padding{2, 2, 2, 2, 2, 2});
  CHECK(padding{1, 2, 3} == padding{1, 1, 2, 2, 3, 3});
  CHECK(padding{glia::padding2d{1, 2, 3, 4}} == padding{0, 0, 1, 2, 3, 4});
  CHECK(glia::text(padding{glia::same}, ", ", padding{glia::valid}, ", ", padding{1, 2, 3}) ==
        "same, valid, padding 1/1/2/2/3/3");
}

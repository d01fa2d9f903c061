#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::contains;
using test::message_of;

TEST_CASE("conv2d slides its kernel over the image") {
  const std::vector<float> image{1, 2, 3, 4, 5, 6};   // (1, 2, 3, 1)
  const std::vector<float> kernel{1, 10, 100, 1000};  // (2, 2, 1, 1)
  const glia::conv2d layer{.filters = 1, .kernel_size = 2};
  CHECK(test::run_layer(layer, {1, 2, 3, 1}, image, {kernel, {0.5F}}) ==
        std::vector<float>{5421.5F, 6532.5F});
  // TensorFlow's `same`: the odd row and column go to the bottom and right.
  const glia::conv2d padded{
      .filters = 1, .kernel_size = 2, .padding = glia::same, .use_bias = false};
  CHECK(test::run_layer(padded, {1, 2, 3, 1}, image, {kernel}) ==
        std::vector<float>{5421, 6532, 603, 54, 65, 6});
  const glia::conv2d strided{.filters = 1,
                             .kernel_size = 2,
                             .strides = {1, 2},
                             .padding = {1, 0, 1, 0},
                             .use_bias = false};
  CHECK(test::run_layer(strided, {1, 2, 3, 1}, image, {kernel}) ==
        std::vector<float>{1000, 3200, 4010, 6532});
}

TEST_CASE("conv2d keeps groups apart") {
  // Two channels, each with a 1x1 kernel of its own.
  const glia::conv2d layer{.filters = 2, .kernel_size = 1, .groups = 2, .use_bias = false};
  CHECK(test::run_layer(layer, {1, 1, 2, 2}, {1, 2, 3, 4}, {{10, 100}}) ==
        std::vector<float>{10, 200, 30, 400});
}

TEST_CASE("conv2d has the right gradients") {
  const glia::cpu<double> device;
  const std::vector<glia::conv2d> layers{
      {.filters = 3, .kernel_size = {2, 3}, .activation = glia::tanh},
      {.filters = 4, .kernel_size = 3, .strides = 2, .padding = glia::same, .groups = 2},
      {.filters = 2,
       .kernel_size = 2,
       .padding = 1,
       .dilation_rate = {2, 1},
       .activation = glia::gelu}};
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
          const auto w = glia::detail::resolve_window({1, size, size, 1}, kernel, stride, dilation,
                                                      glia::same);
          CHECK(glia::kernels::pool_rule({1, size, size, 1}, w).oh == (size + stride - 1) / stride);
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
  CHECK(message_of<glia::shape_error>(build({.filters = 2, .kernel_size = 3}, {28, 28})) ==
        "sequential[0] conv2d(2, 3x3, valid): expected images (N, H, W, C), got (N, 28, 28); add "
        "reshape{{H, W, C}} before it");
  CHECK(contains(message_of<glia::shape_error>(build({.filters = 2, .kernel_size = 5}, {4, 9, 1})),
                 "the kernel is larger than the padded input (N, 4, 9, 1)"));
  CHECK(contains(message_of<glia::value_error>(
                     build({.filters = 4, .kernel_size = 1, .groups = 2}, {4, 9, 3})),
                 "groups (2) must divide the input's channels (3)"));
  CHECK(contains(message_of<glia::value_error>(build({.filters = 0, .kernel_size = 1}, {4, 9, 3})),
                 "at least 1"));
}

TEST_CASE("conv2d wants to be told its kernel") {
  CHECK(message_of<glia::value_error>([] {
          glia::model net{glia::sequential{glia::conv2d{.filters = 4}}, {8, 8, 1}};
        }) ==
        "sequential[0] conv2d(4, 0x0, valid): expected a kernel_size, got 0; write .kernel_size = "
        "3, or 1 for a 1x1 kernel");
}

TEST_CASE("samples that look like images with their channels first are refused") {
  const auto message = [](const auto& layers, const glia::shape& sample) {
    return message_of<glia::shape_error>([&] { glia::model net{layers, sample}; });
  };
  const glia::conv2d layer{.filters = 4, .kernel_size = 3};
  CHECK(message(glia::sequential{layer}, {3, 32, 32}) ==
        "sequential[0] conv2d(4, 3x3, valid): samples of shape (3, 32, 32) look like images (C, H, "
        "W), but glia expects images (N, H, W, C), channels last; give the model the shape (32, "
        "32, 3) and transpose the samples or, if they do have 32 channels, add reshape{{3, 32, "
        "32}} before this layer");
  const auto refused = [&](const auto& layers, const glia::shape& sample) {
    return contains(message(layers, sample), "(N, H, W, C), channels last");
  };
  const glia::conv2d pointwise{.filters = 4, .kernel_size = 1};
  CHECK(refused(glia::sequential{pointwise}, {1, 28, 28}));
  CHECK(refused(glia::sequential{pointwise}, {4, 84, 84}));
  CHECK(refused(glia::sequential{glia::batch_norm{}, glia::relu, layer}, {3, 32, 32}));
  CHECK(refused(glia::sequential{glia::residual{pointwise, pointwise}}, {3, 8, 8}));
  CHECK(refused(glia::sequential{glia::avg_pool2d{.pool_size = 1}}, {1, 8, 8}));
  CHECK(refused(glia::sequential{layer}, {1, 30, 20}));  // does not fit, and says why

  // Those who mean it say so, and nobody else has to.
  CHECK(message(glia::sequential{glia::reshape{{3, 32, 32}}, layer}, {3, 32, 32}).empty());
  CHECK(message(glia::sequential{glia::conv2d{.filters = 4, .kernel_size = {1, 5}}}, {1, 32, 32})
            .empty());
  CHECK(message(glia::sequential{glia::max_pool2d{.pool_size = {1, 2}}}, {1, 32, 32}).empty());
  CHECK(message(glia::sequential{glia::flatten{}, glia::dense{2}}, {3, 32, 32}).empty());
  CHECK(message(glia::sequential{layer}, {32, 32, 3}).empty());
  CHECK(message(glia::sequential{layer}, {8, 8, 8}).empty());
  CHECK(message(glia::sequential{layer}, {3, 32, 16}).empty());
  CHECK(message(glia::sequential{layer}, {3, 4, 4}).empty());
  // Within a network such shapes come about by themselves.
  const glia::conv2d wide{.filters = 8, .kernel_size = {3, 1}};
  CHECK(message(glia::sequential{wide, pointwise}, {3, 8, 2}).empty());
}

TEST_CASE("negative numbers taken for sizes of windows are refused") {
  const auto refused = [](const auto& layer) {
    return contains(message_of<glia::value_error>([&] {
                      glia::model net{layer, {4, 4, 2}};
                    }),
                    "at most 1048576");
  };
  const auto minus_one = static_cast<std::size_t>(-1);
  const auto overflowing = (std::size_t{1} << 63) + 1;  // times 2, and 1 more: 3
  CHECK(refused(glia::conv2d{.filters = 1, .kernel_size = overflowing, .dilation_rate = 2}));
  CHECK(refused(glia::conv2d{.filters = 1, .kernel_size = 1, .padding = minus_one}));
  CHECK(refused(glia::conv2d{.filters = 1, .kernel_size = 1, .strides = minus_one}));
  CHECK(refused(glia::max_pool2d{.pool_size = 2, .strides = minus_one}));
  CHECK(refused(glia::avg_pool2d{.pool_size = minus_one}));
}

#include "../golden/keras_convolutions_golden.hpp"

#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "layers/formula.hpp"
#include "tolerances.hpp"

using test::contains;
using test::message_of;
using test::run_layer;

namespace {
const std::vector<float> pixels{1, 2, 3, 4};  // (1, 2, 2, 1)
const glia::shape one_image{1, 2, 2, 1};
}  // namespace

TEST_CASE("images grow, get a border and lose one") {
  CHECK(run_layer(glia::upsample2d{{1, 2}}, one_image, pixels, {}) ==
        std::vector<float>{1, 1, 2, 2, 3, 3, 4, 4});
  CHECK(run_layer(glia::upsample2d{{2, 1}}, one_image, pixels, {}) ==
        std::vector<float>{1, 2, 1, 2, 3, 4, 3, 4});
  CHECK(run_layer(glia::zero_pad2d{{1, 0, 0, 1}}, one_image, pixels, {}) ==
        std::vector<float>{0, 0, 0, 1, 2, 0, 3, 4, 0});
  CHECK(run_layer(glia::crop2d{{1, 0, 0, 1}}, one_image, pixels, {}) == std::vector<float>{3});
  CHECK(run_layer(glia::sequential{glia::zero_pad2d{2}, glia::crop2d{2}}, one_image, pixels, {}) ==
        pixels);
}

TEST_CASE("images grow by bilinear interpolation") {
  const auto grown = [](const glia::extent2d& size, const glia::shape& s,
                        const std::vector<float>& values) {
    const glia::upsample2d layer{size, glia::interpolation::bilinear};
    return test::outputs_of(layer, s, values, {});
  };
  CHECK(grown({1, 2}, one_image, pixels) ==
        std::vector<float>{1, 1.25F, 1.75F, 2, 3, 3.25F, 3.75F, 4});
  CHECK(grown({2, 1}, one_image, pixels) == std::vector<float>{1, 2, 1.5F, 2.5F, 2.5F, 3.5F, 3, 4});
  CHECK(grown(1, one_image, pixels) == pixels);
  CHECK(grown(2, {1, 1, 1, 1}, {7}) == std::vector<float>(4, 7));
  const glia::shape s{2, 3, 2, 2};
  const std::vector<float> values = test::by_formula(s, 71);
  CHECK(test::distance(grown({2, 3}, s, values), glia_golden::bilinear_2x3) < tolerance::golden);
  CHECK(test::distance(grown({1, 4}, s, values), glia_golden::bilinear_1x4) < tolerance::golden);
  CHECK(glia::upsample2d{2, glia::interpolation::bilinear}.description() ==
        "upsample2d(2x2, bilinear)");
}

TEST_CASE("layers that resize have the right gradients") {
  const glia::cpu<double> device;
  const glia::testing::check_input x({2, 5, 4, 3}, 1U);
  CHECK(glia::testing::layer_gradient_error(device, glia::upsample2d{{2, 3}}, x) <
        tolerance::gradient);
  CHECK(glia::testing::layer_gradient_error(device,
                                            glia::upsample2d{{2, 3}, glia::interpolation::bilinear},
                                            x) < tolerance::gradient);
  CHECK(glia::testing::layer_gradient_error(device, glia::zero_pad2d{{1, 2, 0, 3}}, x) <
        tolerance::gradient);
  CHECK(glia::testing::layer_gradient_error(device, glia::crop2d{{1, 2, 0, 3}}, x) <
        tolerance::gradient);
}

TEST_CASE("layers that resize say what does not fit") {
  CHECK(message_of<glia::shape_error>([] {
          glia::model net{glia::sequential{glia::crop2d{{1, 1, 0, 0}}}, {2, 9, 1}};
        }) ==
        "sequential[0] crop2d(1/1/0/0): expected a cropping that leaves a part of the images (N, "
        "2, 9, 1), got 1/1/0/0 rows and columns (top/bottom/left/right)");
  CHECK(contains(message_of<glia::value_error>([] {
                   glia::model net{glia::sequential{glia::upsample2d{0}}, {2, 9, 1}};
                 }),
                 "expected a size of at least 1, got 0x0"));
  CHECK(contains(message_of<glia::shape_error>([] {
                   glia::model net{glia::sequential{glia::zero_pad2d{}}, {2}};
                 }),
                 "expected images (N, H, W, C), got (N, 2)"));
}

TEST_CASE("pools of sequences are those of images of one row") {
  const std::vector<float> steps{1, 10, 3, 20, 2, 60, -1, 5};  // (1, 4, 2)
  const glia::shape sequence{1, 4, 2};
  CHECK(run_layer(glia::max_pool1d{}, sequence, steps, {}) == std::vector<float>{3, 20, 2, 60});
  CHECK(run_layer(glia::avg_pool1d{.pool_size = 3, .strides = 1, .padding = glia::same}, sequence,
                  steps, {}) == std::vector<float>{2, 15, 2, 30, 4 / 3.0F, 85 / 3.0F, 0.5F, 32.5F});
  CHECK(run_layer(glia::global_max_pool1d{}, sequence, steps, {}) == std::vector<float>{3, 60});
  CHECK(run_layer(glia::global_avg_pool1d{}, sequence, steps, {}) ==
        std::vector<float>{1.25F, 23.75F});
  const glia::testing::check_input x({2, 7, 3}, 1U);
  const auto error = [&](const auto& layer) {
    return glia::testing::layer_gradient_error(glia::cpu<double>(), layer, x);
  };
  CHECK(error(glia::max_pool1d{.pool_size = 3, .strides = 2}) < tolerance::gradient);
  CHECK(error(glia::avg_pool1d{.pool_size = 3, .strides = 2, .padding = glia::same}) <
        tolerance::gradient);
  CHECK(error(glia::global_max_pool1d{}) < tolerance::gradient);
  CHECK(error(glia::global_avg_pool1d{}) < tolerance::gradient);
  CHECK(message_of<glia::shape_error>([] {
          glia::model net{glia::sequential{glia::max_pool1d{.pool_size = 5}}, {4, 2}};
        }) ==
        "sequential[0] max_pool1d(5, valid): the pool_size is larger than the padded sequence (N, "
        "4, 2); use a smaller one, or .padding = same");
  CHECK(contains(
      message_of<glia::shape_error>([] {
        glia::model net{glia::sequential{glia::conv1d{.filters = 2, .kernel_size = 3}}, {4}};
      }),
      "expected sequences (N, T, C), got (N, 4)"));
  CHECK(contains(message_of<glia::value_error>([] {
                   glia::model net{glia::sequential{glia::conv1d{.filters = 2}}, {4, 2}};
                 }),
                 "expected kernel_size, strides and dilation_rate of at least 1"));
}

TEST_CASE("spatial dropout drops whole channels of a sample") {
  const glia::shape images{3, 4, 5, 8};
  const std::vector<float> ones(images.size(), 1.0F);
  const glia::spatial_dropout layer{0.5};
  CHECK(run_layer(layer, images, ones, {}) == ones);
  const std::vector<float> y = run_layer(layer, images, ones, {}, glia::run_mode::training);
  std::size_t dropped = 0;
  bool alike = true;
  for (std::size_t n = 0; n < 3; ++n) {
    for (std::size_t c = 0; c < 8; ++c) {
      const float first = y[n * 4 * 5 * 8 + c];
      dropped += first == 0 ? 1 : 0;
      alike = alike && (first == 0 || first == 2);
      for (std::size_t p = 0; p < 20; ++p) {
        alike = alike && y[(n * 20 + p) * 8 + c] == first;
      }
    }
  }
  CHECK(alike);
  CHECK(dropped > 4);
  CHECK(dropped < 20);
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), layer, {{2, 3, 4}, 1U}) <
        tolerance::gradient);
  CHECK(contains(message_of<glia::shape_error>([] {
                   glia::model net{glia::sequential{glia::spatial_dropout{}}, {4}};
                 }),
                 "use dropout for inputs (N, C)"));
}

#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::contains;
using test::message_of;
using test::run_layer;

namespace {
const std::vector<float> image{1, 5, 2, 8, 3, 4, -1, -2, -3};  // (1, 3, 3, 1)
const glia::shape batch{1, 3, 3, 1};
}  // namespace

TEST_CASE("pools take the maximum and the mean of their windows") {
  CHECK(run_layer(glia::max_pool2d{}, batch, image, {}) == std::vector<float>{8});
  CHECK(run_layer(glia::max_pool2d{.strides = 1}, batch, image, {}) ==
        std::vector<float>{8, 5, 8, 4});
  CHECK(run_layer(glia::avg_pool2d{.strides = 1}, batch, image, {}) ==
        std::vector<float>{4.25F, 3.5F, 2, 0.5F});
}

TEST_CASE("padding never wins a maximum and does not count in a mean") {
  CHECK(run_layer(glia::max_pool2d{.padding = glia::same}, batch, image, {}) ==
        std::vector<float>{8, 4, -1, -3});
  CHECK(run_layer(glia::avg_pool2d{.padding = glia::same}, batch, image, {}) ==
        std::vector<float>{4.25F, 3, -1.5F, -3});
}

TEST_CASE("global pools reduce every channel") {
  const std::vector<float> two{1, 10, 2, 20, 3, 30, 4, 60};  // (1, 2, 2, 2)
  CHECK(run_layer(glia::global_max_pool2d{}, {1, 2, 2, 2}, two, {}) == std::vector<float>{4, 60});
  CHECK(run_layer(glia::global_avg_pool2d{}, {1, 2, 2, 2}, two, {}) ==
        std::vector<float>{2.5F, 30});
}

TEST_CASE("pools have the right gradients") {
  const glia::cpu<double> device;
  const glia::testing::check_input x({2, 5, 4, 3}, 1U);
  const auto error = [&](const auto& layer) {
    return glia::testing::layer_gradient_error(device, layer, x);
  };
  CHECK(error(glia::max_pool2d{.pool_size = 3, .strides = 2, .padding = glia::same}) <
        tolerance::gradient);
  CHECK(error(glia::avg_pool2d{.pool_size = {2, 3}, .strides = 1, .padding = glia::same}) <
        tolerance::gradient);
  CHECK(error(glia::global_max_pool2d{}) < tolerance::gradient);
  CHECK(error(glia::global_avg_pool2d{}) < tolerance::gradient);
}

TEST_CASE("pools say what does not fit") {
  CHECK(message_of<glia::shape_error>([] {
          glia::model net{glia::sequential{glia::max_pool2d{}}, {28, 28}};
        }) ==
        "sequential[0] max_pool2d(2x2, valid): expected images (N, H, W, C), got (N, 28, 28)");
  CHECK(contains(message_of<glia::shape_error>([] {
                   glia::model net{glia::avg_pool2d{.pool_size = 4}, {3, 9, 1}};
                 }),
                 "the window is larger than the padded input (N, 3, 9, 1)"));
  CHECK(contains(message_of<glia::value_error>([] {
                   glia::model net{glia::max_pool2d{.padding = 2}, {8, 8, 1}};
                 }),
                 "expected padding smaller than the pool_size, got padding 2/2/2/2"));
  CHECK(contains(message_of<glia::shape_error>([] {
                   glia::model net{glia::global_avg_pool2d{}, {8}};
                 }),
                 "expected images"));
}

#include "../golden/keras_convolutions_golden.hpp"

#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "layers/formula.hpp"
#include "tolerances.hpp"

using test::contains;
using test::message_of;
using test::run_layer;

TEST_CASE("pools of volumes take the maximum and the mean of their windows") {
  const std::vector<float> volume{1, 5, 2, 8, -3, -4, -5, -6, 7, 0, 1, 2};  // (1, 3, 2, 2, 1)
  const glia::shape batch{1, 3, 2, 2, 1};
  CHECK(run_layer(glia::max_pool3d{}, batch, volume, {}) == std::vector<float>{8});
  CHECK(run_layer(glia::avg_pool3d{}, batch, volume, {}) == std::vector<float>{-0.25F});
  // Padding is no maximum and does not count in a mean.
  CHECK(run_layer(glia::max_pool3d{.pool_size = {2, 1, 1}, .padding = {1, 0, 0, 0, 0, 0}}, batch,
                  volume, {}) == std::vector<float>{1, 5, 2, 8, 7, 0, 1, 2});
  CHECK(run_layer(glia::avg_pool3d{.padding = glia::same}, batch, volume, {}) ==
        std::vector<float>{-0.25F, 2.5F});
  CHECK(run_layer(glia::max_pool3d{.pool_size = {1, 2, 1}, .strides = 1}, batch, volume, {}) ==
        std::vector<float>{2, 8, -3, -4, 7, 2});
  CHECK(run_layer(glia::global_max_pool3d{}, batch, volume, {}) == std::vector<float>{8});
  CHECK(run_layer(glia::global_avg_pool3d{}, batch, volume, {}) == std::vector<float>{8 / 12.0F});
}

TEST_CASE("pools of volumes are Keras's") {
  const glia::shape batch{2, 5, 4, 6, 3};
  const auto distance = [&](const auto& layer, const auto& expected) {
    return test::distance(test::outputs_of(layer, batch, test::by_formula(batch, 41), {}),
                          expected);
  };
  CHECK(distance(glia::max_pool3d{}, glia_golden::max_pool3d_valid) == 0);
  CHECK(distance(glia::avg_pool3d{}, glia_golden::avg_pool3d_valid) < tolerance::golden);
  const glia::extent3d size{3, 2, 3};
  const glia::extent3d strides{2, 3, 1};
  CHECK(distance(glia::max_pool3d{.pool_size = size, .strides = strides, .padding = glia::same},
                 glia_golden::max_pool3d_same) == 0);
  CHECK(distance(glia::avg_pool3d{.pool_size = size, .strides = strides, .padding = glia::same},
                 glia_golden::avg_pool3d_same) < tolerance::golden);
}

TEST_CASE("pools of volumes have the right gradients") {
  const glia::testing::check_input x({2, 4, 3, 5, 2}, 1U);
  const auto error = [&](const auto& layer) {
    return glia::testing::layer_gradient_error(glia::cpu<double>(), layer, x);
  };
  CHECK(error(glia::max_pool3d{.pool_size = 3, .strides = 2, .padding = glia::same}) <
        tolerance::gradient);
  CHECK(error(glia::avg_pool3d{.pool_size = {2, 3, 3}, .strides = 1, .padding = glia::same}) <
        tolerance::gradient);
  CHECK(error(glia::global_max_pool3d{}) < tolerance::gradient);
  CHECK(error(glia::global_avg_pool3d{}) < tolerance::gradient);
}

TEST_CASE("pools of volumes say what does not fit") {
  CHECK(message_of<glia::shape_error>([] {
          glia::model net{glia::sequential{glia::max_pool3d{}}, {8, 8, 1}};
        }) ==
        "sequential[0] max_pool3d(2x2x2, valid): expected volumes (N, D, H, W, C), got (N, 8, 8, "
        "1); add reshape{{D, H, W, C}} before it");
  CHECK(contains(message_of<glia::shape_error>([] {
                   glia::model net{glia::avg_pool3d{.pool_size = 4}, {3, 9, 9, 1}};
                 }),
                 "the pool_size is larger than the padded input (N, 3, 9, 9, 1)"));
  CHECK(contains(message_of<glia::value_error>([] {
                   glia::model net{glia::max_pool3d{.padding = {2, 0, 0}}, {8, 8, 8, 1}};
                 }),
                 "expected padding smaller than the pool_size, got padding 2/2/0/0/0/0"));
  CHECK(contains(message_of<glia::value_error>([] {
                   glia::model net{glia::max_pool3d{.pool_size = 0}, {8, 8, 8, 1}};
                 }),
                 "expected a pool_size of at least 1x1x1, got 0x0x0"));
  CHECK(contains(message_of<glia::shape_error>([] {
                   glia::model net{glia::global_avg_pool3d{}, {8}};
                 }),
                 "expected volumes"));
}

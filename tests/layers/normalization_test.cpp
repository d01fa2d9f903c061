#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

TEST_CASE("batch_norm uses the batch's statistics in training and running ones afterwards") {
  const glia::batch_norm layer{.momentum = 0.9, .epsilon = 1e-9};
  const std::vector<float> x{1, 10, 3, 30};  // (2, 2)
  const std::vector<std::vector<float>> parameters{{2, 1}, {0, 5}, {0, 0}, {1, 1}};
  const auto trained = test::run_layer(layer, {2, 2}, x, parameters, glia::run_mode::training);
  CHECK(test::distance(trained, std::vector<double>{-2, 4, 2, 6}) < tolerance::hand_computed);
  const auto inferred = test::run_layer(layer, {2, 2}, x, {{2, 1}, {0, 5}, {1, 10}, {4, 25}});
  CHECK(test::distance(inferred, std::vector<double>{0, 5, 2, 9}) < tolerance::hand_computed);
}

TEST_CASE("batch_norm keeps running averages while it trains") {
  glia::model net{glia::sequential{glia::batch_norm{.momentum = 0.9}}, {2}};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{}};
  glia::batch b{.size = 2,
                .input_shape = {2, 2},
                .inputs = {1, 10, 3, 30},
                .labels = {},
                .target_shape = {2, 2},
                .targets = {0, 0, 0, 0}};
  trainer.step(b);
  CHECK(test::distance(net.get("batch_norm_0.moving_mean"), std::vector<double>{0.2, 2}) <
        tolerance::hand_computed);
  CHECK(test::distance(net.get("batch_norm_0.moving_variance"), std::vector<double>{1.0, 10.9}) <
        tolerance::hand_computed * 10);
}

TEST_CASE("batch_norm without a scale has no gamma and is as with one of 1") {
  const glia::batch_norm layer{.momentum = 0.9, .epsilon = 1e-9, .scale = false};
  CHECK(glia::plan_model(layer, {2}).parameters.size() == 3);
  const std::vector<float> x{1, 10, 3, 30};  // (2, 2)
  const auto trained =
      test::run_layer(layer, {2, 2}, x, {{0, 5}, {0, 0}, {1, 1}}, glia::run_mode::training);
  CHECK(test::distance(trained, std::vector<double>{-1, 4, 1, 6}) < tolerance::hand_computed);
  const auto inferred = test::run_layer(layer, {2, 2}, x, {{0, 5}, {1, 10}, {4, 25}});
  CHECK(test::distance(inferred, std::vector<double>{0, 5, 1, 9}) < tolerance::hand_computed);
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), layer, {{6, 3, 4}, 1U}) <
        tolerance::gradient);
}

TEST_CASE("layer_norm normalizes every row") {
  const auto y =
      test::run_layer(glia::layer_norm{.epsilon = 1e-9}, {2, 2}, {1, 3, 10, 30}, {{1, 2}, {0, 1}});
  CHECK(test::distance(y, std::vector<double>{-1, 3, -1, 3}) < tolerance::hand_computed);
}

TEST_CASE("normalization layers have the right gradients") {
  const glia::cpu<double> device;
  CHECK(glia::testing::layer_gradient_error(device, glia::batch_norm{}, {{6, 3, 4}, 1U}) <
        tolerance::gradient);
  CHECK(glia::testing::layer_gradient_error(device, glia::layer_norm{}, {{6, 3, 4}, 1U}) <
        tolerance::gradient);
  CHECK(glia::testing::layer_gradient_error(device, glia::rms_norm{}, {{6, 3, 4}, 1U}) <
        tolerance::gradient);
  for (const std::size_t groups : {1U, 2U, 4U}) {
    CHECK(glia::testing::layer_gradient_error(device, glia::group_norm{.groups = groups},
                                              {{6, 3, 4}, 1U}) < tolerance::gradient);
  }
}

TEST_CASE("normalization layers say what does not fit") {
  CHECK(test::message_of<glia::shape_error>([] {
          glia::model net{glia::sequential{glia::batch_norm{}}, {}};
        }) == "sequential[0] batch_norm: expected an input (N, ..., C), got (N)");
  CHECK(test::message_of<glia::value_error>([] {
          glia::model net{glia::sequential{glia::layer_norm{.epsilon = 0}}, {4}};
        }) == "sequential[0] layer_norm: expected a finite positive epsilon");
}

TEST_CASE("an infinite epsilon is refused") {
  CHECK_THROWS_AS((glia::model{glia::batch_norm{.epsilon = INFINITY}, {2}}), glia::value_error);
  CHECK_THROWS_AS((glia::model{glia::layer_norm{.epsilon = INFINITY}, {2}}), glia::value_error);
}

TEST_CASE("normalization of equal numbers gives beta") {
  const auto check = [](const auto& layer) {
    constexpr float number = 0.1F;
    const glia::shape batch{7, 5, 4};
    const std::vector<float> x(batch.size(), number);
    const std::vector<float> beta{1, -2, 3, 0.5F};
    std::vector<std::vector<float>> parameters{{2, 1, 3, 5}, beta};
    if (glia::plan_model(layer, {5, 4}).parameters.size() > 2) {
      parameters.insert(parameters.end(), {{0, 0, 0, 0}, {1, 1, 1, 1}});
    }
    const auto y = test::run_layer(layer, batch, x, parameters, glia::run_mode::training);
    for (std::size_t i = 0; i < x.size(); ++i) {
      INFO("element " << i);
      CHECK(static_cast<float>(y[i]) == beta[i % 4]);
    }
  };
  check(glia::batch_norm{});
  check(glia::layer_norm{});
  check(glia::group_norm{.groups = 2});
}

#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::contains;

namespace {

using glia::batch_norm;
using glia::conv2d;
using glia::dense;
using glia::dropout;
using glia::flatten;
using glia::frozen;
using glia::reshape;
using glia::sequential;

template <class Model>
std::vector<std::string> trainable_names(const Model& net) {
  std::vector<std::string> names;
  for (const auto& spec : net.plan().parameters) {
    if (spec.trainable) {
      names.push_back(spec.name);
    }
  }
  return names;
}

/// Which parameters differ from what they were.
template <class Model>
std::vector<std::string> changed_names(const Model& net,
                                       const std::vector<xt::xarray<float>>& initial) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < initial.size(); ++i) {
    const std::string& name = net.parameters()[i].spec.name;
    if (net.get(name) != initial[i]) {
      names.push_back(name);
    }
  }
  return names;
}

template <class Model>
std::vector<xt::xarray<float>> values_of(const Model& net) {
  std::vector<xt::xarray<float>> values;
  for (const auto& p : net.parameters()) {
    values.push_back(net.get(p.spec.name));
  }
  return values;
}

/// One forward and backward pass in training, the parameters being test_values by their number.
struct outcome {
  std::vector<double> output;
  std::vector<std::vector<double>> gradients;  // empty where there is none
};
template <class Description>
outcome pass(const Description& layers, const glia::shape& batch) {
  using B = glia::cpu<double>;
  const B device;
  const glia::model_plan plan = glia::plan_model(layers, glia::sample_of(batch));
  glia::parameter_list parameters;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    const glia::shape& s = plan.parameters[i].shape;
    parameters.push_back(
        {plan.parameters[i],
         test::tensor_of(device, s,
                         glia::testing::test_values(s, static_cast<std::uint32_t>(10 + i)))});
  }
  glia::tape tape(device);
  std::vector<glia::gradient_slot> slots;
  glia::scope s(tape, parameters, slots, glia::run_mode::training, {.seed = 1});
  const auto y = s.run_model(
      layers, tape.constant(test::tensor_of(device, batch, glia::testing::test_values(batch, 1))));
  const auto weights =
      tape.constant(test::tensor_of(device, y.shape(), glia::testing::test_values(y.shape(), 2)));
  tape.backward(glia::ops::sum(y * weights));
  outcome result;
  result.output.resize(y.shape().size());
  device.to_host(y.value(), std::span<double>(result.output));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    auto& gradient = result.gradients.emplace_back();
    if (slots[i]) {
      gradient.resize(plan.parameters[i].shape.size());
      device.to_host(tape.take_gradient(slots[i]), std::span<double>(gradient));
    }
  }
  return result;
}

}  // namespace

TEST_CASE("frozen parameters are not trained, those around them are") {
  glia::model net{
      sequential{dense{6, glia::tanh}, frozen{sequential{dense{5, glia::tanh}, batch_norm{}}},
                 batch_norm{}, dense{4}},
      {2}};
  const std::vector<std::string> trained{"dense_0.kernel",     "dense_0.bias",
                                         "batch_norm_1.gamma", "batch_norm_1.beta",
                                         "dense_2.kernel",     "dense_2.bias"};
  CHECK(trainable_names(net) == trained);
  const auto initial = values_of(net);
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
  trainer.fit(test::quadrants{40}, {.epochs = 2, .batch_size = 10, .progress = nullptr});
  // And the statistics of the batch normalization that is not frozen.
  CHECK(changed_names(net, initial) ==
        std::vector<std::string>{"dense_0.kernel", "dense_0.bias", "batch_norm_1.gamma",
                                 "batch_norm_1.beta", "batch_norm_1.moving_mean",
                                 "batch_norm_1.moving_variance", "dense_2.kernel", "dense_2.bias"});
}

TEST_CASE("what is frozen is left alone also where layers run depth-first") {
  // A batch of 20 images goes through as pieces on 16 lanes; the frozen layers are in the middle of
  // a stretch, which asks for parameters of both kinds.
  glia::model net{sequential{conv2d{.filters = 4, .kernel_size = 3, .activation = glia::relu},
                             frozen{sequential{conv2d{.filters = 4, .kernel_size = 1}, batch_norm{},
                                               dropout{0.5}}},
                             conv2d{.filters = 3, .kernel_size = 1}, flatten{}, dense{2}},
                  {6, 6, 1}};
  const auto initial = values_of(net);
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.1}};
  glia::batch b{.size = 20,
                .input_shape = {20, 6, 6, 1},
                .inputs = glia::testing::test_values({20, 6, 6, 1}, 1),
                .labels = {},
                .target_shape = {20, 2},
                .targets = glia::testing::test_values({20, 2}, 2)};
  trainer.step(b);
  trainer.step(b);
  CHECK(changed_names(net, initial) == std::vector<std::string>{"conv2d_0.kernel", "conv2d_0.bias",
                                                                "conv2d_2.kernel", "conv2d_2.bias",
                                                                "dense_0.kernel", "dense_0.bias"});
}

TEST_CASE("a frozen batch_norm uses its running statistics in training and keeps them") {
  const frozen layer{batch_norm{.epsilon = 1e-9}};
  for (const auto mode : {glia::run_mode::training, glia::run_mode::inference}) {
    const auto y =
        test::run_layer(layer, {2, 2}, {1, 10, 3, 30}, {{2, 1}, {0, 5}, {1, 10}, {4, 25}}, mode);
    CHECK(test::distance(y, std::vector<double>{0, 5, 2, 9}) < tolerance::hand_computed);
  }
  // The one behind it trains: freezing ends with what it holds.
  const sequential both{frozen{batch_norm{.epsilon = 1e-9}}, batch_norm{.epsilon = 1e-9}};
  const auto y = test::run_layer(both, {2, 1}, {1, 3}, {{2}, {0}, {1}, {4}, {1}, {0}, {7}, {9}},
                                 glia::run_mode::training);
  CHECK(test::distance(y, std::vector<double>{-1, 1}) < tolerance::hand_computed);
}

TEST_CASE("frozen dropout is off") {
  const std::vector<float> x = glia::testing::test_values({4, 8}, 1);
  CHECK(test::run_layer(frozen{dropout{0.5}}, {4, 8}, x, {}, glia::run_mode::training) == x);
  const sequential both{frozen{dropout{0.5}}, dropout{0.5}};
  // It draws nothing: the other drops what it would drop alone.
  CHECK(test::run_layer(both, {4, 8}, x, {}, glia::run_mode::training) ==
        test::run_layer(dropout{0.5}, {4, 8}, x, {}, glia::run_mode::training));
}

TEST_CASE("a model knows where what is frozen ends, wherever that is") {
  using glia::shape;
  const auto end = [](const auto& description, const shape& sample = {3}) {
    return glia::model{description, sample}.frozen_output_shape().value_or(shape{});
  };
  const shape no_shape{};
  const frozen body{dense{3}};
  const frozen net{sequential{dense{4, glia::relu}, dropout{0.5}}};
  CHECK(end(sequential{dense{3}, dense{2}}) == no_shape);
  CHECK(end(sequential{flatten{}, glia::relu, dense{2}}) == no_shape);
  CHECK(end(sequential{body, dense{2}}) == shape{3});
  CHECK(end(sequential{flatten{}, body, dense{2}}, {2, 2}) == shape{3});
  CHECK(end(sequential{body, net}) == shape{4});
  // What has no state behind it belongs to it.
  CHECK(end(sequential{body, reshape{{3, 1, 1}}, glia::max_pool2d{1}, glia::avg_pool2d{1},
                       glia::relu, glia::identity{}, flatten{}, dense{2}}) == shape{3});
  CHECK(end(sequential{body, reshape{{1, 1, 3}}, glia::global_avg_pool2d{}, dense{2}}) == shape{3});
  CHECK(end(sequential{body, flatten{}, net, glia::lambda{"double", [](auto x) { return x + x; }},
                       dense{2}, net}) == shape{4});
  // Dropout differs from step to step, and what is trained does.
  CHECK(end(sequential{dropout{0.5}, body, dense{2}}) == no_shape);
  CHECK(end(sequential{body, dropout{0.5}, frozen{dense{5}}, dense{2}}) == shape{3});
  CHECK(end(sequential{dense{2}, body}) == no_shape);
  CHECK(end(sequential{batch_norm{}, body}) == no_shape);
  // Within what holds it, and behind branches that meet again.
  CHECK(end(sequential{sequential{body, flatten{}}, dense{2}}) == shape{3});
  CHECK(end(frozen{sequential{body, dense{2}}}) == shape{2});
  CHECK(end(sequential{glia::residual{body}, dense{2}}) == shape{3});
  CHECK(end(sequential{body, glia::residual{dense{3}}, dense{2}}) == shape{3});
  // The samples go past what is frozen, or each other's.
  CHECK(end(sequential{glia::residual{dense{3}, body}, dense{2}}) == no_shape);
  CHECK(end(sequential{glia::residual{sequential{body, dense{3}}}, dense{2}}) == no_shape);
  CHECK(end(sequential{body,
                       glia::lambda{"centered",
                                    [](auto x) {
                                      const auto& s = x.shape();
                                      return x - glia::ops::sum_to(x, {1, s[1]});
                                    }},
                       dense{2}}) == no_shape);
}

TEST_CASE("gradients pass through frozen layers to what comes before them") {
  const dense first{4, glia::tanh};
  const sequential body{dense{4, glia::sigmoid}, dense{3, glia::tanh}};
  const outcome open = pass(sequential{first, body, dense{2}}, {3, 5});
  const outcome closed = pass(sequential{first, frozen{body}, dense{2}}, {3, 5});
  CHECK(closed.output == open.output);
  REQUIRE(closed.gradients.size() == 8);
  for (const std::size_t i : {0U, 1U, 6U, 7U}) {
    INFO(i);
    REQUIRE_FALSE(closed.gradients[i].empty());
    CHECK(closed.gradients[i] == open.gradients[i]);
  }
  for (const std::size_t i : {2U, 3U, 4U, 5U}) {
    INFO(i);
    CHECK(closed.gradients[i].empty());
    CHECK_FALSE(open.gradients[i].empty());
  }
}

TEST_CASE("frozen convolutions and normalizations have the right gradient to their input") {
  using B = glia::cpu<double>;
  const B device;
  const frozen layers{sequential{
      conv2d{.filters = 3, .kernel_size = 3, .padding = 1, .use_bias = false}, batch_norm{},
      glia::silu, conv2d{.filters = 3, .kernel_size = 3, .groups = 3}, batch_norm{},
      conv2d{.filters = 2, .kernel_size = 1, .activation = glia::tanh}, batch_norm{}}};
  const glia::shape batch{2, 5, 4, 2};
  const glia::model_plan plan = glia::plan_model(layers, glia::sample_of(batch));
  REQUIRE(plan.parameters.size() == 17);
  glia::parameter_list parameters;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    auto values =
        glia::testing::test_values(plan.parameters[i].shape, static_cast<std::uint32_t>(30 + i));
    for (float& value : values) {
      value = plan.parameters[i].name.ends_with("variance") ? value * value + 0.5F : value;
    }
    parameters.push_back(
        {plan.parameters[i], test::tensor_of(device, plan.parameters[i].shape, values)});
  }
  const auto run = [&](const std::vector<glia::variable>& x) {
    std::vector<glia::gradient_slot> slots;
    glia::scope s(x[0].owner(), parameters, slots, glia::run_mode::training, {});
    return s.run_model(layers, x[0]);
  };
  CHECK(glia::testing::gradient_error(device, run, {{batch, 1U}}) < tolerance::gradient);
}

TEST_CASE("frozen layers say what they hold") {
  const sequential layers{frozen{sequential{dense{3, glia::relu}, batch_norm{}}}, dense{2}};
  CHECK(glia::text(layers) ==
        "sequential(frozen(sequential(dense(3, relu), batch_norm)), dense(2))");
  CHECK(layers == sequential{frozen{sequential{dense{3, glia::relu}, batch_norm{}}}, dense{2}});
  CHECK_FALSE(layers ==
              sequential{frozen{sequential{dense{4, glia::relu}, batch_norm{}}}, dense{2}});
  // 2 * 3 + 3 and 4 * 3 are not trained, 3 * 2 + 2 are.
  const std::string summary = glia::model{layers, {2}}.summary();
  CHECK(contains(summary, "8 parameters are trained, 21 are not"));
  CHECK(contains(summary, "dense_1  dense(2)"));
  CHECK(test::message_of<glia::shape_error>([] {
          glia::model net{sequential{frozen{conv2d{.filters = 2, .kernel_size = 1}}}, {4}};
        }) ==
        "sequential[0] frozen[0] conv2d(2, 1x1, valid): expected images (N, H, W, C), got (N, 4); "
        "add reshape{{H, W, C}} before it");
}

#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("a stack of layers known at run time is what a sequential of them is") {
  using namespace glia;
  std::vector<any_layer> layers;
  layers.emplace_back(conv2d{.filters = 3, .kernel_size = 2, .activation = relu});
  layers.emplace_back(max_pool2d{});
  layers.emplace_back(sequential{flatten{}, dropout{0.2}});
  layers.emplace_back(dense{4});
  const layer_stack stack{layers};
  const sequential alike{conv2d{.filters = 3, .kernel_size = 2, .activation = relu}, max_pool2d{},
                         sequential{flatten{}, dropout{0.2}}, dense{4}};
  model net{stack, {7, 7, 2}};
  model expected{alike, {7, 7, 2}};
  const xt::xarray<float> x = xt::ones<float>({5, 7, 7, 2});
  CHECK((net.predict(x) == expected.predict(x)));
  CHECK(net.summary() == expected.summary());
  CHECK(net.prepare({.batch_size = 5}).calls().nodes().size() ==
        expected.prepare({.batch_size = 5}).calls().nodes().size());
  CHECK(stack.description() ==
        "sequential(conv2d(3, 2x2, valid, relu), max_pool2d(2x2, valid), "
        "sequential(flatten, dropout(0.2)), dense(4))");
  CHECK(stack == layer_stack{layers});
  layers.back() = dense{5};
  CHECK(stack != layer_stack{layers});
  layers.back() = relu;
  CHECK(stack != layer_stack{layers});
  layers.pop_back();
  CHECK(stack != layer_stack{layers});
}

TEST_CASE("a stack trains as a sequential does, and its errors name the place") {
  using namespace glia;
  const batch b{.size = 3,
                .input_shape = {3, 4},
                .inputs = {1, 2, 3, 4, 0, 1, 0, 1, 2, 2, 0, 1},
                .labels = {0, 1, 1},
                .target_shape = {},
                .targets = {}};
  const std::vector<any_layer> layers{dense{6, glia::tanh}, dropout{0.5}, dense{2}};
  model net{layer_stack{layers}, {4}};
  model expected{sequential{dense{6, glia::tanh}, dropout{0.5}, dense{2}}, {4}};
  trainer stack_trainer{net, softmax_cross_entropy{}, adam{}};
  trainer expected_trainer{expected, softmax_cross_entropy{}, adam{}};
  for (int step = 0; step < 3; ++step) {
    stack_trainer.step(b);
    expected_trainer.step(b);
  }
  CHECK((net.get("dense_1.kernel") == expected.get("dense_1.kernel")));
  CHECK(test::message_of<shape_error>([&] {
          model wrong{layer_stack{std::vector<any_layer>{relu, dense{2}}}, {2, 2}};
        }) ==
        "sequential[1] dense(2): expected an input (N, I), got (N, 2, 2); add "
        "flatten{} before it, or wrap it in time_distributed{} to apply it to each step");
  CHECK(model{layer_stack{std::vector<any_layer>{}}, {3}}.output_shape() == shape{3});
}

namespace {

/// Asks for its parameters in another order in inference.
struct swapper {
  static constexpr std::string_view type_name = "swapper";

  [[nodiscard]] glia::variable operator()(glia::scope& s, glia::variable x) const {
    const glia::shape channels{x.shape().back()};
    const auto ask = [&](const char* name) {
      return s.parameter(name, channels, glia::constant(1));
    };
    if (s.is_training()) {
      const auto gamma = ask("gamma");
      return x * gamma + ask("beta");
    }
    const auto beta = ask("beta");
    return x * ask("gamma") + beta;
  }
  [[nodiscard]] static std::string description() { return "swapper"; }
};

/// Asks for a parameter less once it has been told so.
struct forgetful {
  std::shared_ptr<bool> forgets = std::make_shared<bool>(false);

  static constexpr std::string_view type_name = "forgetful";

  [[nodiscard]] glia::variable operator()(glia::scope& s, glia::variable x) const {
    const auto y = x * s.parameter("a", {}, glia::constant(1));
    return *forgets ? y : y * s.parameter("b", {}, glia::constant(1));
  }
  [[nodiscard]] static std::string description() { return "forgetful"; }
};

}  // namespace

TEST_CASE("a layer that asks for its parameters in another order is refused") {
  glia::model net{glia::sequential{swapper{}}, {2}};
  CHECK(test::message_of<glia::value_error>([&] {
          (void)net.predict(xt::xarray<float>{{1, 2}});
        }) ==
        "sequential[0] swapper: requests the parameter 'beta' of shape (2,), but earlier "
        "'swapper_0.gamma' of shape (2,) was requested here; request the same parameters in the "
        "same order in every run");
}

TEST_CASE("a training run that asks for fewer parameters than were planned is refused") {
  const forgetful layer;
  glia::model net{glia::sequential{layer}, {2}};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{}};
  *layer.forgets = true;
  const glia::batch b{.size = 1,
                      .input_shape = {1, 2},
                      .inputs = {1, 2},
                      .labels = {},
                      .target_shape = {1, 2},
                      .targets = {1, 2}};
  CHECK(test::message_of<glia::value_error>([&] { trainer.step(b); }) ==
        "the model requested the parameter 'forgetful_0.b' of shape () when it was built, but not "
        "in this run; request the same parameters in every run");
  *layer.forgets = false;
  trainer.step(b);
}

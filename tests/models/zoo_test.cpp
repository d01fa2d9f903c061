#include <glia/models/zoo/inception_v3.hpp>
#include <glia/models/zoo/resnet.hpp>
#include <glia/models/zoo/resnet_v2.hpp>
#include <glia/models/zoo/squeezenet.hpp>
#include <glia/models/zoo/xception.hpp>
#include <glia/testing/gradient_check.hpp>
#include <set>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using glia::zoo_network;

namespace {

struct zoo_counts {
  std::size_t total = 0;
  std::size_t trained = 0;

  friend bool operator==(const zoo_counts&, const zoo_counts&) = default;
  friend std::ostream& operator<<(std::ostream& out, const zoo_counts& c) {
    return out << c.total << ", of which trained " << c.trained;
  }
};

template <class Description>
zoo_counts zoo_count(const Description& net, std::size_t extent = 224) {
  zoo_counts result;
  for (const auto& p : glia::plan_model(net, {extent, extent, 3}).parameters) {
    result.total += p.shape.size();
    result.trained += p.trainable ? p.shape.size() : 0;
  }
  return result;
}

glia::shape zoo_output(const zoo_network& net, std::size_t rows, std::size_t columns) {
  return glia::plan_model(net, {rows, columns, 3}).output;
}

/// The feature maps before the mean over all positions.
glia::shape zoo_maps(const zoo_network& net, std::size_t rows, std::size_t columns) {
  return zoo_output(net.stages(0, net.stage_count() - 1), rows, columns);
}

std::string zoo_error(const zoo_network& net, std::size_t extent) {
  return test::message_of<glia::shape_error>([&] {
    (void)glia::plan_model(glia::sequential{net}, {extent, extent, 3});
  });
}

xt::xarray<float> zoo_images(const glia::shape& s) {
  return xt::adapt(glia::testing::test_values(s, 1), std::vector<std::size_t>(s.begin(), s.end()));
}

/// Three layers in two stages: y = relu(x), then y + x y.
zoo_network small_graph() {
  zoo_network net("small");
  const std::size_t a = net.add("positive", glia::relu, 0);
  const std::size_t b = net.add("sum", glia::join::add{}, {a, 0});
  net.end_stage();
  const std::size_t c = net.add("again", glia::relu, b);
  net.add("both", glia::join::concat{}, {c, b, b});
  net.end_stage();
  return net;
}

}  // namespace

TEST_CASE("networks of the zoo have as many parameters as published") {
  // What Keras 3.3 counts in its applications, with the weights that it does not train.
  const glia::zoo_options whole{.classes = 1000};
  CHECK(zoo_count(glia::xception(whole)) == zoo_counts{22910480, 22855952});
  CHECK(zoo_count(glia::resnet50(whole)) == zoo_counts{25636712, 25583592});
  CHECK(zoo_count(glia::resnet101(whole)) == zoo_counts{44707176, 44601832});
  CHECK(zoo_count(glia::resnet152(whole)) == zoo_counts{60419944, 60268520});
  CHECK(zoo_count(glia::resnet50_v2(whole)) == zoo_counts{25613800, 25568360});
  CHECK(zoo_count(glia::resnet101_v2(whole)) == zoo_counts{44675560, 44577896});
  CHECK(zoo_count(glia::resnet152_v2(whole)) == zoo_counts{60380648, 60236904});
  CHECK(zoo_count(glia::inception_v3(whole)) == zoo_counts{23851784, 23817352});
  // torchvision counts what is trained; its Inception v3 has 3,326,696 more in the auxiliary
  // classifier.
  constexpr auto torchvision = glia::zoo_form::torchvision;
  CHECK(zoo_count(glia::resnet50(whole, torchvision)).trained == 25557032);
  CHECK(zoo_count(glia::resnet101(whole, torchvision)).trained == 44549160);
  CHECK(zoo_count(glia::resnet152(whole, torchvision)).trained == 60192808);
  CHECK(zoo_count(glia::inception_v3(whole, torchvision)).trained == 27161264 - 3326696);
  CHECK(zoo_count(glia::squeezenet1_0(whole)) == zoo_counts{1248424, 1248424});
  CHECK(zoo_count(glia::squeezenet1_1(whole)) == zoo_counts{1235496, 1235496});
}

TEST_CASE("without their tops networks of the zoo have what Keras counts without") {
  CHECK(zoo_count(glia::xception()).total == 20861480);
  CHECK(zoo_count(glia::resnet50()).total == 23587712);
  CHECK(zoo_count(glia::resnet50_v2()).total == 23564800);
  CHECK(zoo_count(glia::resnet152_v2()).total == 58331648);
  CHECK(zoo_count(glia::inception_v3()).total == 21802784);
  CHECK(zoo_count(glia::squeezenet1_1()).total == 1235496 - 513000);
}

TEST_CASE("networks of the zoo give features, or logits, for images of any size") {
  const std::vector<zoo_network> nets{
      glia::xception({.classes = 7}), glia::resnet50({.classes = 7}),
      glia::resnet50_v2({.classes = 7}), glia::inception_v3({.classes = 7}),
      glia::squeezenet1_1({.classes = 7})};
  for (const zoo_network& net : nets) {
    INFO(net);
    CHECK(zoo_output(net, 299, 299) == glia::shape{1, 7});
    CHECK(zoo_output(net, 111, 250) == glia::shape{1, 7});
  }
  CHECK(zoo_output(glia::xception(), 299, 299) == glia::shape{1, 2048});
  CHECK(zoo_output(glia::squeezenet1_0(), 224, 224) == glia::shape{1, 512});

  CHECK(zoo_maps(glia::xception(), 299, 299) == glia::shape{1, 10, 10, 2048});
  CHECK(zoo_maps(glia::xception(), 331, 71) == glia::shape{1, 11, 3, 2048});
  CHECK(zoo_maps(glia::xception(), 7, 7) == glia::shape{1, 1, 1, 2048});
  CHECK(zoo_maps(glia::inception_v3(), 299, 331) == glia::shape{1, 8, 9, 2048});
  CHECK(zoo_maps(glia::inception_v3(), 75, 75) == glia::shape{1, 1, 1, 2048});
  for (const auto form : {glia::zoo_form::keras, glia::zoo_form::torchvision}) {
    CHECK(zoo_maps(glia::resnet50({}, form), 224, 225) == glia::shape{1, 7, 8, 2048});
    CHECK(zoo_maps(glia::resnet50({}, form), 331, 1) == glia::shape{1, 11, 1, 2048});
  }
  CHECK(zoo_maps(glia::resnet50_v2(), 224, 225) == glia::shape{1, 7, 8, 2048});
  CHECK(zoo_maps(glia::resnet50_v2(), 331, 1) == glia::shape{1, 11, 1, 2048});
  CHECK(zoo_maps(glia::squeezenet1_0(), 224, 21) == glia::shape{1, 13, 1, 512});
  CHECK(zoo_maps(glia::squeezenet1_1(), 224, 225) == glia::shape{1, 13, 14, 512});
  CHECK(zoo_maps(glia::squeezenet1_1(), 97, 17) == glia::shape{1, 6, 1, 512});
}

TEST_CASE("images that are too small for a network of the zoo are refused by the layer's name") {
  CHECK(zoo_error(glia::xception(), 6) ==
        "sequential[0] xception[0] block1_conv2: conv2d(64, 3x3, valid): the kernel is larger than "
        "the padded input (N, 2, 2, 32); use a smaller kernel or .padding = same, and check that "
        "the images are (N, H, W, C), channels last");
  CHECK(test::contains(zoo_error(glia::inception_v3(), 74),
                       "sequential[0] inception_v3[9] mixed8.branch3x3_2: conv2d("));
  CHECK(
      test::contains(zoo_error(glia::squeezenet1_0(), 20), "squeezenet1_0[7] pool8: max_pool2d("));
  CHECK(
      test::contains(zoo_error(glia::squeezenet1_1(), 16), "squeezenet1_1[4] pool5: max_pool2d("));
  CHECK(test::message_of<glia::shape_error>([] {
          (void)glia::plan_model(glia::resnet50(), {224, 224});
        }) ==
        "resnet50[0] conv1_conv: conv2d(64, 7x7, padding 3/3/3/3, stride 2x2): expected images "
        "(N, H, W, C), got (N, 224, 224); add reshape{{H, W, C}} before it");
  CHECK(test::contains(test::message_of<glia::shape_error>([] {
                         (void)glia::plan_model(glia::resnet50(), {3, 224, 224});
                       }),
                       "resnet50[0] conv1_conv: conv2d(64, 7x7, padding 3/3/3/3, stride 2x2): "
                       "samples of shape (3, 224, 224) look like images (C, H, W)"));
}

TEST_CASE("the last 24 of Keras's layers are two blocks and the activation behind them") {
  for (const zoo_network& net : {glia::resnet50_v2(), glia::resnet101_v2(), glia::resnet152_v2()}) {
    INFO(net);
    const std::size_t border = net.stage_of("conv5_block2_preact_bn");
    const std::size_t count = net.stage_count();
    CHECK(border == count - 4);
    const zoo_counts whole = zoo_count(net);
    // What Keras counts in the layers [-24:], whatever the depth.
    const zoo_counts cut =
        zoo_count(glia::sequential{glia::frozen{net.stages(0, border)}, net.stages(border, count)});
    CHECK(cut == zoo_counts{whole.total, 8933376});
    const zoo_counts head = zoo_count(glia::sequential{glia::frozen{net.stages(0, border)}});
    CHECK(whole.total - head.total == 8949760);
    // Keras counts the padding before the convolution of 3x3 as well, which is part of it here, and
    // the mean over all positions is none of the 24.
    std::size_t layers = 0;
    for (std::size_t n = 0; n < net.nodes().size(); ++n) {
      layers += net.stages(border, count - 1).has(n) ? 1 : 0;
    }
    CHECK(layers + 2 == 24);
  }
  CHECK(glia::resnet152_v2().stage_count() == 53);
}

TEST_CASE("stages of networks of the zoo one after the other are the whole") {
  const glia::zoo_options narrow{.classes = 4, .width = 1.0 / 16};
  const std::vector<zoo_network> nets{glia::xception(narrow), glia::resnet({1, 2, 1, 1}, narrow),
                                      glia::resnet_v2({1, 2, 1, 1}, narrow),
                                      glia::inception_v3(narrow), glia::squeezenet1_1(narrow)};
  const xt::xarray<float> x = zoo_images({2, 75, 80, 3});
  for (const zoo_network& net : nets) {
    INFO(net);
    glia::model whole{net, {75, 80, 3}};
    const auto expected = whole.predict(x);
    for (const std::size_t border : {std::size_t{1}, net.stage_count() / 2, net.stage_count()}) {
      glia::model cut{glia::sequential{glia::frozen{net.stages(0, border)},
                                       net.stages(border, net.stage_count())},
                      {75, 80, 3}};
      // Parameters keep their names, whatever the stages.
      for (const auto& p : whole.parameters()) {
        cut.set(p.spec.name, whole.get(p.spec.name));
      }
      CHECK(test::distance(cut.predict(x), expected) < tolerance::float_kernel);
    }
  }
}

TEST_CASE("the first pools of residual networks see zeros or nothing around negative numbers") {
  // A convolution that gives -1 everywhere, 5 x 5 of it: the windows at the border see the padding.
  const glia::shape image{9, 9, 3};
  const auto pooled = [&](const zoo_network& net) {
    glia::model stem{net.stages(0, 1), image};
    stem.set("conv1_conv.kernel", xt::zeros<float>({7, 7, 3, 1}));
    stem.set("conv1_conv.bias", -xt::ones<float>({1}));
    return stem.predict(zoo_images({1, 9, 9, 3}));
  };
  const glia::zoo_options narrow{.width = 1.0 / 64};
  const xt::xarray<float> second = pooled(glia::resnet_v2({1, 1, 1, 1}, narrow));
  CHECK(test::distance(second, std::vector<float>{0, 0, 0, 0, -1, 0, 0, 0, 0}) == 0);
  // The activation before the pool leaves nothing negative.
  CHECK(test::distance(pooled(glia::resnet({1, 1, 1, 1}, narrow)), std::vector<float>(9)) == 0);
}

TEST_CASE("networks of the zoo in training are what the reference computes") {
  const glia::zoo_options narrow{.classes = 3, .width = 1.0 / 16};
  const glia::shape batch{2, 75, 80, 3};
  for (const zoo_network& net :
       {glia::xception(narrow), glia::resnet({1, 1, 1, 1}, narrow),
        glia::resnet_v2({1, 1, 1, 1}, narrow), glia::inception_v3(narrow)}) {
    INFO(net);
    const zoo_network features = net.stages(0, net.stage_count() / 2);
    const auto forward = [&](const auto& device) {
      glia::model model{features, glia::sample_of(batch), device};
      glia::tape tape(device);
      std::vector<glia::gradient_slot> slots;
      const auto x =
          tape.constant(test::tensor_of(device, batch, glia::testing::test_values(batch, 1)));
      const auto y = model.forward(x, slots, glia::run_mode::training, {.seed = 1});
      CHECK(y.needs_gradient());
      return test::values_of(device, y.value());
    };
    const auto expected = forward(glia::reference<float>());
    CHECK(test::distance(forward(glia::cpu<float>()), expected) < 20 * tolerance::float_kernel);
  }
}

TEST_CASE("a network of the zoo is trained behind its frozen stages") {
  const zoo_network net = glia::resnet_v2({1, 1, 1, 2}, {.width = 1.0 / 16});
  const std::size_t border = net.stage_of("conv5_block2_preact_bn");
  glia::model model{glia::sequential{glia::frozen{net.stages(0, border)},
                                     net.stages(border, net.stage_count()), glia::dense{2}},
                    {33, 33, 3}};
  const auto frozen = model.get("conv5_block1_1_conv.kernel");
  const auto trained = model.get("conv5_block2_1_conv.kernel");
  const xt::xarray<float> x = zoo_images({8, 33, 33, 3});
  const xt::xarray<int> labels{0, 1, 0, 1, 0, 1, 0, 1};
  glia::trainer trainer{model, glia::softmax_cross_entropy{}, glia::adam{}};
  const glia::labeled_arrays data{x, labels};
  trainer.fit(data, {.epochs = 2, .batch_size = 8, .progress = nullptr});
  CHECK((model.get("conv5_block1_1_conv.kernel") == frozen));
  CHECK_FALSE((model.get("conv5_block2_1_conv.kernel") == trained));
}

TEST_CASE("a network of the zoo has its layers' names in its summary and before its parameters") {
  const glia::model_plan plan =
      glia::plan_model(glia::sequential{glia::named{"features", glia::resnet50()}}, {64, 64, 3});
  std::set<std::string> parameters;
  for (const auto& p : plan.parameters) {
    parameters.insert(p.name);
  }
  CHECK(parameters.contains("features.conv1_conv.kernel"));
  CHECK(parameters.contains("features.conv2_block1_0_bn.moving_variance"));
  CHECK(parameters.contains("features.conv5_block3_3_conv.bias"));
  std::set<std::string> layers;
  for (const auto& layer : plan.layers) {
    layers.insert(layer.name);
  }
  CHECK(layers.size() == glia::resnet50().nodes().size());
  CHECK(layers.contains("features.conv2_block1_add"));
  CHECK(layers.contains("features.conv2_block1_1_relu"));
  CHECK(layers.contains("features.avg_pool"));
}

TEST_CASE("widths of networks of the zoo are rounded to channels, at least one") {
  const auto filters = [](double width) {
    const zoo_network net = glia::xception({.width = width});
    for (const glia::zoo_node& node : net.nodes()) {
      if (node.name == "block2_sepconv1") {
        return std::get<glia::separable_conv2d>(node.layer).filters;
      }
    }
    return std::size_t{0};
  };
  CHECK(filters(1) == 128);
  CHECK(filters(0.3) == 38);
  CHECK(filters(1e-6) == 1);
  CHECK(zoo_output(glia::xception({.width = 1.5}), 71, 71) == glia::shape{1, 3072});
  CHECK(test::message_of<glia::value_error>([] { (void)glia::xception({.width = 0}); }) ==
        "xception: expected a finite width above 0, got 0");
  CHECK_THROWS_AS(glia::resnet50({.width = -1}), glia::value_error);
  CHECK_THROWS_AS(glia::resnet50_v2({.width = NAN}), glia::value_error);
  CHECK_THROWS_AS(glia::inception_v3({.width = INFINITY}), glia::value_error);
  CHECK_THROWS_AS(glia::squeezenet1_0({.width = 0}), glia::value_error);
}

TEST_CASE("a graph put together while the program runs gives what its layers give") {
  const zoo_network net = small_graph();
  // The sum is x + relu(x): -1 and 4.
  const auto y = test::run_layer(net, {1, 2}, {-1, 2}, {});
  CHECK(y == std::vector<float>{0, 4, -1, 4, -1, 4});
  CHECK(test::run_layer(net.stages(0, 1), {1, 2}, {-1, 2}, {}) == std::vector<float>{-1, 4});
  CHECK(test::run_layer(net.stages(1, 1), {1, 2}, {-1, 2}, {}) == std::vector<float>{-1, 2});
  zoo_network other = small_graph();
  other.add("unused", glia::relu, 4);  // behind the last stage
  CHECK(test::run_layer(other, {1, 2}, {-1, 2}, {}) == y);
}

TEST_CASE("a graph put together while the program runs has the right gradients") {
  zoo_network net("branches");
  const std::size_t a =
      net.add("a", glia::conv2d{.filters = 2, .kernel_size = 3, .padding = glia::same}, 0);
  const std::size_t b = net.add("b", glia::separable_conv2d{.filters = 2, .kernel_size = 1}, 0);
  net.add("sum", glia::join::add{}, {a, b});
  const std::size_t c = net.add("norm", glia::batch_norm{.scale = false}, a);
  net.add("both", glia::join::concat{}, {c, 3, 0});
  net.end_stage();
  net.add("mean", glia::global_avg_pool2d{}, 5);
  net.end_stage();
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), net, {{3, 4, 3, 2}, 1U}) <
        tolerance::gradient);
}

TEST_CASE("a network of the zoo says what it is and what it does not have") {
  const zoo_network net = glia::resnet50();
  const auto error = [](const auto& call) { return test::message_of<glia::value_error>(call); };
  CHECK(glia::text(net) == "resnet50");
  CHECK(glia::text(net.stages(4, 9)) == "resnet50(stages 4 to 9)");
  CHECK(error([&] { (void)net.stages(3, 20); }) ==
        "resnet50: expected stages within 0 to 18, got 3 to 20");
  CHECK(error([&] { (void)net.stages(4, 9).stages(3, 9); }) ==
        "resnet50: expected stages within 4 to 9, got 3 to 9");
  CHECK(error([&] { (void)net.stage_of("conv6_block1_out"); }) ==
        "resnet50: there is no layer 'conv6_block1_out'");
  CHECK(net.stage_of("conv1_conv") == 0);
  CHECK(net.stage_of("pool1_pool") == 0);
  CHECK(net.stage_of("conv2_block1_1_conv") == 1);
  CHECK(net.stage_of("avg_pool") == 17);
  CHECK(net == glia::resnet50());
  CHECK(net.stages(0, 18) == net);
  CHECK_FALSE(net.stages(0, 17) == net);
  CHECK_FALSE(net == glia::resnet50({}, glia::zoo_form::torchvision));
  CHECK_FALSE(net == glia::resnet50({.classes = 1000}));
}

TEST_CASE("what does not fit into a graph is refused when it is put together") {
  zoo_network net = small_graph();
  const auto error = [&](const std::string& name, const glia::zoo_layer& layer,
                         const std::vector<std::size_t>& inputs) {
    return test::message_of<glia::value_error>([&] { net.add(name, layer, inputs); });
  };
  CHECK(error("", glia::relu, {4}) == "small: expected a name for the layer, got an empty one");
  CHECK(error("late", glia::relu, {5}) ==
        "small: 'late': expected inputs from this stage, 4 to 4, got 5");
  CHECK(error("early", glia::join::add{}, {4, 2}) ==
        "small: 'early': expected inputs from this stage, 4 to 4, got 2");
  CHECK(error("two", glia::relu, {4, 4}) ==
        "small: 'two': expected one input, or several for a join, got 2");
  CHECK(error("none", glia::join::concat{}, {}) ==
        "small: 'none': expected one input, or several for a join, got 0");
  zoo_network part = net.stages(0, 1);
  CHECK(test::message_of<glia::value_error>([&] { part.add("more", glia::relu, 4); }) ==
        "small: 'more' cannot be added to a network that has only some of its stages");
  net.add("again", glia::dense{2}, 4);
  net.add("more", glia::dense{2}, 5);
  net.end_stage();
  CHECK(test::contains(test::message_of<glia::shape_error>([] {
                         zoo_network sum("sum");
                         const std::size_t a = sum.add("a", glia::dense{3}, 0);
                         sum.add("b", glia::join::add{}, {a, 0});
                         sum.end_stage();
                         (void)glia::plan_model(glia::sequential{sum}, {2});
                       }),
                       "sequential[0] sum[0] b: add: expected branches with outputs of the same "
                       "shape, since they are added or multiplied; branch [0] ends in (N, 3), "
                       "branch [1] in (N, 2)"));
}

#include <glia/io/npy.hpp>
#include <glia/io/safetensors.hpp>
#include <glia/models/zoo/mobilenet_v2.hpp>
#include <glia/models/zoo/mobilenet_v2_names.hpp>
#include <glia/testing/values.hpp>
#include <set>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using glia::mobilenet_v2;
using test::contains;
using test::message_of;

namespace {

struct counts {
  std::size_t total = 0;
  std::size_t trained = 0;
  std::size_t kernels = 0;  // of convolutions
  double multiplications = 0;
};

counts count(const glia::mobilenet_v2_options& options, std::size_t extent = 224) {
  const glia::model_plan plan = glia::plan_model(mobilenet_v2{options}, {extent, extent, 3});
  counts result;
  for (const glia::parameter_spec& p : plan.parameters) {
    result.total += p.shape.size();
    result.trained += p.trainable ? p.shape.size() : 0;
    result.kernels += p.name.ends_with(".kernel") && p.shape.rank() == 4 ? p.shape.size() : 0;
  }
  for (const glia::layer_summary& layer : plan.layers) {
    if (layer.description.starts_with("conv2d(") || layer.description.starts_with("dense(")) {
      result.multiplications += layer.flops / 2;
    }
  }
  return result;
}

/// The outputs of the stem, of every stage's last block and of the head.
std::vector<std::size_t> channels(double width) {
  std::vector<std::size_t> result;
  for (const std::size_t stage : std::vector<std::size_t>{0, 1, 3, 6, 10, 13, 16, 17, 18}) {
    const mobilenet_v2 net{{.width = width}};
    result.push_back(net.stages(stage, stage + 1).units().back().convolution.filters);
  }
  return result;
}

std::vector<std::size_t> extents(const glia::shape& s) { return {s.begin(), s.end()}; }

/// Numbers with which activations neither die nor all run into the 6: kernels by their fan-in,
/// scales near 1, variances positive.
template <class Model>
void set_all(Model& net) {
  std::uint32_t stream = 0;
  for (const auto& p : net.parameters()) {
    const glia::parameter_spec spec = p.spec;
    auto values = glia::testing::test_values(spec.shape, ++stream);
    const std::size_t fan_in = spec.shape.size() / spec.shape.back();
    for (float& v : values) {
      if (spec.name.ends_with(".kernel")) {
        v *= 2.4F / std::sqrt(static_cast<float>(fan_in));
      } else if (spec.name.ends_with(".gamma") || spec.name.ends_with("variance")) {
        v = 1 + 0.5F * v;
      } else {
        v *= 0.3F;
      }
    }
    net.set(spec.name, xt::adapt(values, extents(spec.shape)));
  }
}

xt::xarray<float> images(const glia::shape& s) {
  return xt::adapt(glia::testing::test_values(s, 1), extents(s));
}

double largest(const xt::xarray<float>& values) {
  double result = 0;
  for (const float value : values) {
    result = std::max(result, std::abs(static_cast<double>(value)));
  }
  return result;
}

/// A tensor of numbers that no other tensor of the map has.
void add(glia::tensor_map& map, const std::string& name, const std::vector<std::size_t>& s) {
  const float first = static_cast<float>(map.size() + 1);
  xt::xarray<float> values(xt::xarray<float>::shape_type(s.begin(), s.end()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values.data()[i] = first + 0.9F * static_cast<float>(i) / static_cast<float>(values.size());
  }
  map.emplace(name, std::move(values));
}

void add_normalized(glia::tensor_map& map, const std::string& convolution, const std::string& norm,
                    const std::vector<std::size_t>& kernel) {
  add(map, convolution + ".weight", kernel);
  for (const char* name : {".weight", ".bias", ".running_mean", ".running_var"}) {
    add(map, norm + name, {kernel[0]});
  }
  add(map, norm + ".num_batches_tracked", {});
}

/// The state_dict of torchvision.models.mobilenet_v2(), its names and shapes, written down from the
/// paper's table and torchvision's modules: ConvBNReLU(conv, bn, relu6), and blocks whose
/// projection has none.
glia::tensor_map torchvision_state() {
  glia::tensor_map map;
  add_normalized(map, "features.0.0", "features.0.1", {32, 3, 3, 3});
  add_normalized(map, "features.1.conv.0.0", "features.1.conv.0.1", {32, 1, 3, 3});
  add_normalized(map, "features.1.conv.1", "features.1.conv.2", {16, 32, 1, 1});
  const std::vector<std::size_t> outputs{16, 24, 24, 32, 32,  32,  64,  64, 64,
                                         64, 96, 96, 96, 160, 160, 160, 320};
  for (std::size_t i = 1; i < outputs.size(); ++i) {
    const std::string block = "features." + std::to_string(i + 1) + ".conv.";
    const std::size_t inner = 6 * outputs[i - 1];
    add_normalized(map, block + "0.0", block + "0.1", {inner, outputs[i - 1], 1, 1});
    add_normalized(map, block + "1.0", block + "1.1", {inner, 1, 3, 3});
    add_normalized(map, block + "2", block + "3", {outputs[i], inner, 1, 1});
  }
  add_normalized(map, "features.18.0", "features.18.1", {1280, 320, 1, 1});
  add(map, "classifier.1.weight", {1000, 1280});
  add(map, "classifier.1.bias", {1000});
  return map;
}

/// Folded weights for a network: kernels OIHW.
glia::tensor_map folded_state(const mobilenet_v2& net, std::size_t channels = 3) {
  glia::tensor_map map;
  std::uint32_t stream = 0;
  for (const mobilenet_v2::unit& unit : net.units()) {
    const glia::conv2d& c = unit.convolution;
    const glia::shape kernel{c.filters, channels / c.groups, c.kernel_size.height,
                             c.kernel_size.width};
    auto values = glia::testing::test_values(kernel, ++stream);
    for (float& v : values) {
      v *= 2.4F / std::sqrt(static_cast<float>(kernel.size() / c.filters));
    }
    map.emplace(unit.name + ".weight", xt::adapt(values, extents(kernel)));
    map.emplace(unit.name + ".bias", images({c.filters}) * 0.3F);
    channels = c.filters;
  }
  return map;
}

}  // namespace

TEST_CASE("MobileNetV2 has as many parameters as Keras's and torchvision's") {
  // glia counts running statistics among the parameters, as Keras does: two for each of the 17,056
  // channels that are normalized. Keras's summary without a classifier: 2,257,984 in total, 34,112
  // of them not trainable.
  const counts features = count({});
  CHECK(features.total == 2257984);
  CHECK(features.total - features.trained == 34112);
  CHECK(glia::model{mobilenet_v2{}, {32, 32, 3}}.parameter_count() == 2257984);
  // torchvision counts what is trained: 3,504,872. The classifier is 1280 * 1000 + 1000 of it.
  const counts whole = count({.classes = 1000});
  CHECK(whole.trained == 3504872);
  CHECK(whole.total == 3504872 + 34112);
  CHECK(whole.total - features.total == 1281000);
  // Folded: one bias in place of gamma, beta and two statistics.
  const counts folded = count({.use_batch_norm = false});
  CHECK(folded.total == 2257984 - 3 * 17056);
  CHECK(folded.trained == folded.total);
  CHECK(folded.kernels == features.kernels);
}

TEST_CASE("MobileNetV2 of other widths is as large as published") {
  // The table in Keras's documentation of mobilenet_v2 (keras.io/api/applications/mobilenet, the
  // module's comment): millions of multiplications at 224x224 and of parameters, batch
  // normalization not counted, for 1000 classes.
  struct published {
    double width, multiplications, parameters;
  };
  for (const published& p :
       {published{1.4, 582, 6.06}, published{1.3, 509, 5.34}, published{1.0, 300, 3.47},
        published{0.75, 209, 2.61}, published{0.5, 97, 1.95}, published{0.35, 59, 1.66}}) {
    INFO(p.width);
    const counts c = count({.width = p.width, .classes = 1000});
    const std::size_t features = p.width > 1 ? (p.width > 1.35 ? 1792 : 1664) : 1280;
    const auto parameters = static_cast<double>(c.kernels + 1000 * features + 1000);
    CHECK(std::abs(parameters / 1e6 - p.parameters) < 0.006);
    CHECK(std::abs(c.multiplications / 1e6 - p.multiplications) < 1);
  }
  // Keras's totals without a classifier, running statistics included.
  CHECK(count({.width = 0.35}).total == 410208);
  CHECK(count({.width = 0.5}).total == 706224);
  CHECK(count({.width = 0.75}).total == 1382064);
  CHECK(count({.width = 1.3}).total == 3766048);
  CHECK(count({.width = 1.4}).total == 4363712);
}

TEST_CASE("channels of MobileNetV2 are multiples of 8, not rounded down by more than a tenth") {
  using list = std::vector<std::size_t>;
  CHECK(channels(1) == list{32, 16, 24, 32, 64, 96, 160, 320, 1280});
  CHECK(channels(0.35) == list{16, 8, 8, 16, 24, 32, 56, 112, 1280});
  CHECK(channels(0.5) == list{16, 8, 16, 16, 32, 48, 80, 160, 1280});
  CHECK(channels(1.4) == list{48, 24, 32, 48, 88, 136, 224, 448, 1792});
  CHECK(message_of<glia::value_error>([] { (void)mobilenet_v2{{.width = 0}}; }) ==
        "mobilenet_v2: expected a positive width of at most 1000, got 0");
  CHECK_THROWS_AS(mobilenet_v2({.width = 1e300}), glia::value_error);
  CHECK_THROWS_AS(mobilenet_v2({.width = NAN}), glia::value_error);
}

TEST_CASE("MobileNetV2 halves images five times") {
  for (const std::size_t extent : {224U, 96U}) {
    const auto output = [&](std::size_t end) {
      return glia::plan_model(mobilenet_v2{}.stages(0, end), {extent, extent, 3}).output;
    };
    const std::vector<std::size_t> halved{1, 2, 4, 7, 14, 18};
    for (std::size_t i = 0; i + 1 < halved.size(); ++i) {
      const std::size_t expected = extent >> (i + 1);
      for (std::size_t end = i == 0 ? 1 : halved[i] + 1; end <= halved[i + 1]; ++end) {
        INFO(extent << " after stage " << end);
        CHECK(output(end)[1] == expected);
        CHECK(output(end)[2] == expected);
      }
    }
    CHECK(output(18) == glia::shape{1, extent / 32, extent / 32, 320});
    CHECK(output(19) == glia::shape{1, 1280});
    CHECK(glia::plan_model(mobilenet_v2{{.classes = 7}}, {extent, extent, 3}).output ==
          glia::shape{1, 7});
    CHECK(glia::plan_model(mobilenet_v2{{.padding = glia::same}}, {extent, extent, 3}).output ==
          glia::shape{1, 1280});
  }
}

TEST_CASE("MobileNetV2 in inference is what the reference computes") {
  const xt::xarray<float> x = images({3, 32, 32, 3});
  for (const bool normalized : {true, false}) {
    INFO(normalized);
    // At 0.25 the first block has as many inputs as outputs, and with them a shortcut.
    for (const double width : {0.35, 0.25}) {
      const mobilenet_v2 layers{{.width = width, .classes = 10, .use_batch_norm = normalized}};
      glia::model net{layers, {32, 32, 3}};
      glia::model oracle{layers, {32, 32, 3}, glia::reference<float>()};
      set_all(net);
      set_all(oracle);
      const auto expected = oracle.predict(x);
      REQUIRE(largest(expected) > 0.01);
      CHECK(test::distance(net.predict(x), expected) < tolerance::float_kernel * largest(expected));
    }
  }
}

TEST_CASE("MobileNetV2 in training is what the reference computes") {
  // Images so large that the last stages normalize over more than the batch.
  const mobilenet_v2 layers{{.width = 0.25, .classes = 4}};
  const glia::shape batch{4, 64, 64, 3};
  const auto forward = [&](const auto& device) {
    glia::model net{layers, glia::sample_of(batch), device};
    set_all(net);
    glia::tape tape(device);
    std::vector<glia::gradient_slot> slots;
    const auto x =
        tape.constant(test::tensor_of(device, batch, glia::testing::test_values(batch, 1)));
    const auto y = net.forward(x, slots, glia::run_mode::training, {.seed = 1});
    CHECK(y.needs_gradient());
    auto values = test::values_of(device, y.value());
    const auto mean = net.get("head.conv.normalization.moving_mean");
    values.insert(values.end(), mean.begin(), mean.end());
    return values;
  };
  const auto expected = forward(glia::reference<float>());
  CHECK(test::distance(forward(glia::cpu<float>()), expected) < 20 * tolerance::float_kernel);
}

TEST_CASE("blocks of MobileNetV2 with a shortcut pass their input on where they add nothing") {
  const auto shortcut = [](double width, std::size_t stage) {
    const mobilenet_v2 block = mobilenet_v2{{.width = width}}.stages(stage, stage + 1);
    const std::size_t inputs =
        stage == 1 ? mobilenet_v2{{.width = width}}.units().front().convolution.filters
                   : mobilenet_v2{{.width = width}}
                         .stages(stage - 1, stage)
                         .units()
                         .back()
                         .convolution.filters;
    glia::model net{block, {6, 6, inputs}};
    set_all(net);
    const std::string last = block.units().back().name + ".normalization";
    const auto channels = block.units().back().convolution.filters;
    net.set(last + ".gamma", xt::zeros<float>({channels}));
    net.set(last + ".beta", xt::zeros<float>({channels}));
    const xt::xarray<float> x = images({2, 6, 6, inputs});
    return net.predict(x) == x;
  };
  for (const std::size_t stage : std::vector<std::size_t>{1, 2, 4, 7, 11, 14, 17}) {
    CHECK_FALSE(shortcut(1, stage));
  }
  for (const std::size_t stage : std::vector<std::size_t>{3, 5, 6, 8, 9, 10, 12, 13, 15, 16}) {
    CHECK(shortcut(1, stage));
  }
  CHECK(shortcut(0.25, 1));
  CHECK_FALSE(shortcut(0.35, 1));
}

TEST_CASE("stages of MobileNetV2 one after the other are the whole") {
  const mobilenet_v2 whole{{.width = 0.35, .classes = 4}};
  const xt::xarray<float> x = images({2, 32, 32, 3});
  glia::model net{whole, {32, 32, 3}};
  set_all(net);
  const auto parameters = glia::parameters_of(net);
  const auto expected = net.predict(x);
  const auto check = [&](const auto& layers) {
    glia::model cut{layers, {32, 32, 3}};
    glia::load_parameters(cut, parameters, glia::same_names(cut));
    CHECK(test::distance(cut.predict(x), expected) < tolerance::float_kernel);
  };
  check(glia::sequential{glia::frozen{whole.stages(0, 16)}, whole.stages(16, 19)});
  check(glia::sequential{whole.stages(0, 1), whole.stages(1, 2), whole.stages(2, 19)});
  check(glia::sequential{whole.stages(0, 18).stages(0, 7), whole.stages(7, 18),
                         whole.stages(18, 19)});
  check(glia::sequential{whole.stages(0, 0), whole, whole.stages(19, 19)});
}

TEST_CASE("MobileNetV2 says what it is and which stages it does not have") {
  const mobilenet_v2 net{{.width = 0.5}};
  const auto error = [](const mobilenet_v2& description, std::size_t first, std::size_t end) {
    return message_of<glia::value_error>([&] { (void)description.stages(first, end); });
  };
  CHECK(error(net, 3, 20) == "mobilenet_v2: expected stages within 0 to 19, got 3 to 20");
  CHECK(error(net, 5, 4) == "mobilenet_v2: expected stages within 0 to 19, got 5 to 4");
  CHECK(error(net.stages(4, 9), 3, 9) == "mobilenet_v2: expected stages within 4 to 9, got 3 to 9");
  CHECK(error(net.stages(4, 9), 4, 10) ==
        "mobilenet_v2: expected stages within 4 to 9, got 4 to 10");
  CHECK(glia::text(net) == "mobilenet_v2(0.5)");
  CHECK(glia::text(net.stages(4, 9)) == "mobilenet_v2(0.5, stages 4 to 9)");
  CHECK(net == mobilenet_v2{{.width = 0.5}});
  CHECK(net.stages(0, 19) == net);
  CHECK_FALSE(net.stages(0, 18) == net);
  CHECK_FALSE(mobilenet_v2{} == net);
  std::vector<std::string> names;
  for (const auto& unit : net.stages(0, 3).units()) {
    names.push_back(unit.name);
  }
  CHECK(names == std::vector<std::string>{"stem.conv", "blocks.0.depthwise", "blocks.0.project",
                                          "blocks.1.expand", "blocks.1.depthwise",
                                          "blocks.1.project"});
  CHECK(message_of<glia::shape_error>([] {
          (void)glia::plan_model(glia::sequential{mobilenet_v2{}}, {32, 32});
        }) ==
        "sequential[0] mobilenet_v2[0] stem.conv: conv2d(32, 3x3, padding 1/1/1/1, stride 2x2): "
        "expected images (N, H, W, C), got (N, 32, 32); add reshape{{H, W, C}} before it");
}

TEST_CASE("weights under torchvision's names land where they belong") {
  const mobilenet_v2 layers{{.classes = 1000}};
  const glia::tensor_map state = torchvision_state();
  REQUIRE(state.size() == 52 * 6 + 2);
  glia::model net{layers, {32, 32, 3}};
  glia::load_parameters(net, state, glia::torchvision_names(layers));

  // Every parameter has one tensor's numbers: a whole part of its own.
  std::set<int> used;
  for (const auto& p : net.parameters()) {
    INFO(p.spec.name);
    const auto values = net.get(p.spec.name);
    std::set<int> whole;
    for (const float value : values) {
      whole.insert(static_cast<int>(value));
    }
    REQUIRE(whole.size() == 1);
    CHECK(*whole.begin() > 0);
    CHECK(used.insert(*whole.begin()).second);
  }
  CHECK(used.size() == 52 * 5 + 2);

  const auto same = [&](const char* parameter, const char* tensor) {
    return net.get(parameter) == state.at(tensor);
  };
  CHECK(same("stem.conv.normalization.gamma", "features.0.1.weight"));
  CHECK(same("stem.conv.normalization.beta", "features.0.1.bias"));
  CHECK(same("stem.conv.normalization.moving_mean", "features.0.1.running_mean"));
  CHECK(same("stem.conv.normalization.moving_variance", "features.0.1.running_var"));
  CHECK(same("blocks.0.depthwise.normalization.beta", "features.1.conv.0.1.bias"));
  CHECK(same("blocks.0.project.normalization.beta", "features.1.conv.2.bias"));
  CHECK(same("blocks.1.expand.normalization.beta", "features.2.conv.0.1.bias"));
  CHECK(same("blocks.1.depthwise.normalization.beta", "features.2.conv.1.1.bias"));
  CHECK(same("blocks.1.project.normalization.beta", "features.2.conv.3.bias"));
  CHECK(same("blocks.16.project.normalization.gamma", "features.17.conv.3.weight"));
  CHECK(same("head.conv.normalization.gamma", "features.18.1.weight"));
  CHECK(same("classifier.bias", "classifier.1.bias"));
  CHECK((net.get("classifier.kernel") == xt::transpose(state.at("classifier.1.weight"))));
  CHECK((net.get("stem.conv.kernel") ==
         xt::transpose(state.at("features.0.0.weight"), {2, 3, 1, 0})));
  CHECK(net.get("blocks.0.depthwise.kernel")(2, 1, 0, 31) ==
        state.at("features.1.conv.0.0.weight")(31, 0, 2, 1));
  CHECK(net.get("blocks.0.project.kernel")(0, 0, 31, 15) ==
        state.at("features.1.conv.1.weight")(15, 31, 0, 0));
  CHECK(net.get("head.conv.kernel")(0, 0, 319, 7) ==
        state.at("features.18.0.weight")(7, 319, 0, 0));
}

TEST_CASE("torchvision's weights go into a network without a classifier, and only a whole one") {
  const mobilenet_v2 layers;
  glia::tensor_map state = torchvision_state();
  glia::model net{glia::sequential{glia::frozen{layers}, glia::dense{5}}, {32, 32, 3}};
  glia::load_parameters(net, state, glia::torchvision_names(layers));
  CHECK((net.get("head.conv.normalization.gamma") == state.at("features.18.1.weight")));
  state.erase("features.7.conv.2.weight");
  CHECK(contains(message_of<glia::data_error>(
                     [&] { glia::load_parameters(net, state, glia::torchvision_names(layers)); }),
                 "1 tensors of the name map: features.7.conv.2.weight;"));
  state = torchvision_state();
  state["features.19.0.weight"] = xt::zeros<float>({1});
  CHECK(contains(message_of<glia::data_error>(
                     [&] { glia::load_parameters(net, state, glia::torchvision_names(layers)); }),
                 "1 tensors that the name map does not list: features.19.0.weight;"));
  CHECK(message_of<glia::value_error>(
            [] { (void)glia::torchvision_names(mobilenet_v2{{.use_batch_norm = false}}); }) ==
        "torchvision_names: torchvision's weights contain batch normalization; make the network "
        "with use_batch_norm = true");
}

TEST_CASE("folded weights give the same outputs with batch normalization and without") {
  const mobilenet_v2 plain{{.width = 0.35, .use_batch_norm = false}};
  // Its epsilon is large, so that not to account for it would show.
  const mobilenet_v2 normalized{{.width = 0.35, .normalization = {.epsilon = 0.1}}};
  const glia::tensor_map state = folded_state(plain);
  REQUIRE(state.size() == 52 * 2);
  glia::model net{plain, {32, 32, 3}};
  glia::model other{normalized, {32, 32, 3}};
  glia::load_parameters(net, state, glia::folded_names(plain));
  glia::load_parameters(other, state, glia::folded_names(normalized));
  CHECK((net.get("blocks.2.depthwise.bias") == state.at("blocks.2.depthwise.bias")));
  CHECK(
      (other.get("blocks.2.depthwise.normalization.beta") == state.at("blocks.2.depthwise.bias")));
  const xt::xarray<float> x = images({2, 32, 32, 3});
  const auto expected = net.predict(x);
  REQUIRE(largest(expected) > 0.01);
  CHECK(test::distance(other.predict(x), expected) < tolerance::float_kernel * largest(expected));
}

TEST_CASE("MobileNetV2 with trained weights gives the features that others computed") {
  const std::filesystem::path folder = GLIA_SHARED_DATA "/mobilenet_v2";
  if (!std::filesystem::exists(folder)) {
    GLIA_SKIP("no weights in " + folder.string());
  }
  // Weights with the batch normalization folded in, an image and its features; see the README
  // beside the folder for how they were made.
  const auto state = glia::read_safetensors(folder / "mobilenet_v2_features.safetensors");
  const xt::xarray<float> x = xt::expand_dims(
      xt::transpose(glia::read_npy(folder / "golden_input_nchw.npy"), {1, 2, 0}), 0);
  const auto expected = glia::read_npy(folder / "golden_features.npy");
  REQUIRE(expected.size() == 1280);
  for (const bool normalized : {false, true}) {
    INFO(normalized);
    const mobilenet_v2 layers{{.use_batch_norm = normalized}};
    glia::model net{layers, {224, 224, 3}};
    glia::load_parameters(net, state, glia::folded_names(layers));
    CHECK(test::distance(net.predict(x), expected) < tolerance::trained_features);
  }
}

#include <glia/distributed.hpp>
#include <glia/models/zoo/mobilenet_v2.hpp>
#include <glia/onnx/onnx_model.hpp>
#include <glia/pjrt.hpp>
#include <glia/testing/gradient_check.hpp>
#include <glia/training/profiler.hpp>
#include <glia/training/terminate_on_nan.hpp>
#include <sstream>

#include "catch.hpp"
#include "distributed/thread_ranks.hpp"
#include "helpers.hpp"
#include "onnx/models.hpp"
#include "pjrt/plugins.hpp"
#include "tolerances.hpp"

namespace {

/// A recurrent layer of tanh units, written out step by step: (N, T, D) to (N, units).
struct simple_recurrence {
  std::size_t units = 0;
  static constexpr std::string_view type_name = "simple_recurrence";

  [[nodiscard]] glia::variable operator()(glia::scope& s, glia::variable x) const {
    const glia::shape shape = x.shape();
    const auto from_input = s.parameter("input", {shape[2], units}, glia::glorot_uniform());
    const auto from_state = s.parameter("state", {units, units}, glia::glorot_uniform());
    const auto bias = s.parameter("bias", {units}, glia::constant(0));
    std::optional<glia::variable> state;
    for (std::size_t t = 0; t < shape[1]; ++t) {
      const auto input = glia::ops::reshape(
          glia::ops::slice(x, {.axis = 1, .begin = t, .extent = 1}), {shape[0], shape[2]});
      auto sum = glia::ops::dense(input, from_input, std::optional(bias));
      if (state) {
        sum = sum + glia::ops::matmul(*state, from_state);
      }
      state = glia::ops::tanh(sum);
    }
    return *state;
  }
  [[nodiscard]] std::string description() const { return "simple_recurrence"; }
  friend bool operator==(const simple_recurrence&, const simple_recurrence&) = default;
};

xt::xarray<float> noise(const std::vector<std::size_t>& extents) {
  xt::xarray<float> x = xt::zeros<float>(extents);
  glia::random_stream random({.seed = 3});
  for (float& v : x) {
    v = static_cast<float>(random.normal());
  }
  return x;
}

/// Ten steps on ten batches, and then all parameters, one after the other.
template <class Network, class Data, class Loss>
std::vector<std::vector<float>> ten_steps(const glia::device& device, const Network& network,
                                          const glia::shape& sample, const Data& data,
                                          const Loss& loss) {
  glia::model net{network, sample, device};
  glia::trainer trainer{net, loss, glia::sgd{.learning_rate = 0.01, .momentum = 0.9}};
  trainer.fit(data, {.batch_size = data.size() / 10, .progress = nullptr});
  REQUIRE(trainer.step_count() == 10);
  std::vector<std::vector<float>> result;
  for (const auto& p : net.parameters()) {
    result.push_back(test::values_of(device, p.value));
  }
  return result;
}

template <class T, class Network, class Data, class Loss>
void require_same_steps(const std::string& plugin, const Network& network,
                        const glia::shape& sample, const Data& data, const Loss& loss) {
  const auto expected = ten_steps(glia::cpu<T>(), network, sample, data, loss);
  const auto actual =
      ten_steps(glia::pjrt<T>(test::without_cache(plugin)), network, sample, data, loss);
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    float largest = 1e-3F;
    for (const float v : expected[i]) {
      largest = std::max(largest, std::abs(v));
    }
    INFO("parameter " << i);
    CHECK(test::distance(actual[i], expected[i]) <= 1e-4 * largest);
  }
}

}  // namespace

TEST_CASE("MobileNetV2's features take ten steps on a device as on the cpu") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  const glia::mobilenet_v2 features({.width = 0.35});
  const glia::sequential frozen{glia::frozen{features}, glia::dense{5}};
  const glia::sequential tuned{glia::frozen{features.stages(0, 12)}, features.stages(12, 19),
                               glia::dense{5}};
  xt::xarray<std::int32_t> y = xt::zeros<std::int32_t>({80});
  for (std::size_t i = 0; i < y.size(); ++i) {
    y(i) = i % 2 == 0 ? 0 : static_cast<std::int32_t>(i % 5);  // so that no bias is near 0
  }
  const glia::labeled_arrays data(noise({80, 64, 64, 3}), y);
  for (const std::string& plugin : plugins) {
    INFO(plugin);
    const glia::softmax_cross_entropy loss;
    require_same_steps<float>(plugin, frozen, {64, 64, 3}, data, loss);
    // Batch normalizations of some dozen numbers make much of the last digit of a float.
    require_same_steps<double>(plugin, tuned, {64, 64, 3}, data, loss);
  }
}

TEST_CASE("networks of ONNX files take ten steps on a device as on the cpu") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  xt::xarray<std::int32_t> y = xt::zeros<std::int32_t>({80});
  for (std::size_t i = 0; i < y.size(); ++i) {
    y(i) = i % 2 == 0 ? 0 : static_cast<std::int32_t>(i % 5);
  }
  for (const std::string& plugin : plugins) {
    INFO(plugin);
    const glia::softmax_cross_entropy loss;
    require_same_steps<double>(plugin, glia::onnx_model{test::onnx_folder() / "torch_resnet.onnx"},
                               {3, 17, 16}, glia::labeled_arrays(noise({80, 3, 17, 16}), y), loss);
    require_same_steps<double>(plugin, glia::onnx_model{test::onnx_folder() / "torch_lstm.onnx"},
                               {5, 16}, glia::labeled_arrays(noise({80, 5, 16}), y), loss);
  }
}

TEST_CASE("a recurrent network takes ten steps on a device as on the cpu") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  const glia::sequential network{simple_recurrence{16}, glia::dense{2}};
  const glia::target_arrays data(noise({100, 12, 3}), noise({100, 2}));
  for (const std::string& plugin : plugins) {
    INFO(plugin);
    require_same_steps<float>(plugin, network, {12, 3}, data, glia::mean_squared_error{});
  }
}

TEST_CASE("words, sequences, noise and several outputs take ten steps on a device as on the cpu") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  // Words of which 0 only fills up, beside frames; their likeness is that of a shared layer.
  constexpr std::size_t samples = 60;
  const glia::shared tower{"tower", glia::dense{6, glia::tanh}};
  const glia::sequential network{
      glia::inputs{
          glia::input{
              "words",
              {5},
              glia::sequential{glia::embedding{.input_dim = 7, .output_dim = 4, .mask_zero = true},
                               glia::bidirectional(glia::gru{.units = 3, .return_sequences = true}),
                               glia::multi_head_attention{.num_heads = 2, .key_dim = 2},
                               glia::lstm{.units = 6}, tower}},
          glia::input{"frames",
                      {4, 2},
                      glia::sequential{
                          glia::gaussian_noise{0.3},
                          glia::conv1d{.filters = 6, .kernel_size = 2, .padding = glia::causal},
                          glia::global_max_pool1d{}, glia::dropout{0.2}, tower}}},
      glia::outputs{
          glia::output{"kind", glia::dense{3}},
          glia::output{"steps", glia::sequential{glia::dense{8}, glia::reshape{{4, 2}}}}}};
  xt::xarray<float> words = xt::zeros<float>({samples, std::size_t{5}});
  xt::xarray<float> kinds = xt::zeros<float>({samples});
  xt::xarray<float> steps = xt::zeros<float>({samples, std::size_t{4}});
  for (std::size_t n = 0; n < samples; ++n) {
    for (std::size_t t = 0; t < 5 - n % 3; ++t) {
      words(n, t) = static_cast<float>(1 + (n * 5 + t * 3) % 6);
    }
    kinds(n) = static_cast<float>(n % 3);
    for (std::size_t t = 0; t < 4; ++t) {
      steps(n, t) = static_cast<float>((n + t) % 3) - 1;
    }
  }
  const glia::named_arrays data({{"words", words}, {"frames", noise({samples, 4, 2})}},
                                {{"kind", kinds}, {"steps", steps}});
  const glia::output_losses losses{glia::output_loss{"kind", glia::softmax_cross_entropy{}},
                                   glia::output_loss{"steps", glia::softmax_cross_entropy{}, 0.5}};
  for (const std::string& plugin : plugins) {
    INFO(plugin);
    require_same_steps<double>(plugin, network, network.sample_shape(), data, losses);
  }
}

TEST_CASE("ranks train together on devices as on the cpu") {
  const auto network =
      glia::sequential{glia::dense{64, glia::relu}, glia::dropout{0.3}, glia::dense{4}};
  const auto train = [&](const auto& device, const glia::distribution& distribution) {
    glia::model net{network, {2}, device, {.seed = 3}};
    glia::trainer trainer{net,
                          glia::softmax_cross_entropy{},
                          glia::adam{},
                          {.seed = 3, .distribution = distribution}};
    trainer.fit(test::quadrants{45}, test::quadrants{30},
                {.epochs = 2, .batch_size = 20, .progress = nullptr});
    return test::parameters_of(net);
  };
  const std::vector<float> alone = train(glia::cpu<float>({.threads = 1}), {});
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  for (const std::string& plugin : plugins) {
    const glia::pjrt device(test::without_cache(plugin));
    for (const bool reproducible : {false, true}) {
      const glia::distributed_options options{.reproducible = reproducible};
      const std::vector<float> lone = train(device, {std::make_shared<glia::lone_rank>(), options});
      std::vector<std::vector<float>> results(2);
      test::thread_ranks group(results.size());
      group.run([&](glia::rank_group& member) {
        const std::shared_ptr<glia::rank_group> ranks(&member, [](glia::rank_group*) {});
        results[member.rank()] = train(device, {ranks, options});
      });
      CHECK(results[0] == results[1]);
      CHECK(test::distance(results[0], alone) < 1e-4);
      CHECK((!reproducible || results[0] == lone));
    }
  }
}

TEST_CASE("gradients on a device are those of differences") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  for (const std::string& plugin : plugins) {
    INFO(plugin);
    const glia::pjrt<double> device(test::without_cache(plugin));
    using glia::testing::layer_gradient_error;
    CHECK(layer_gradient_error(device, glia::dense{3, glia::tanh}, {{2, 4}, 1}) <
          tolerance::gradient);
    CHECK(layer_gradient_error(
              device, glia::conv2d{.filters = 2, .kernel_size = {2, 2}, .padding = glia::same},
              {{2, 4, 4, 2}, 1}) < tolerance::gradient);
    CHECK(layer_gradient_error(device, glia::batch_norm{}, {{4, 3}, 1}) < tolerance::gradient);
    CHECK(layer_gradient_error(device, simple_recurrence{3}, {{2, 3, 2}, 1}) < tolerance::gradient);
    const std::vector<std::int32_t> classes{0, 2};
    CHECK(glia::testing::loss_gradient_error(device, glia::softmax_cross_entropy{}, {{2, 3}, 1},
                                             classes) < tolerance::gradient);
  }
}

TEST_CASE("short batches are scored and predicted as they are on the cpu") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  const glia::pjrt device(test::without_cache(plugins.front()));
  const glia::target_arrays data(noise({23, 3}), noise({23, 2}));
  const glia::sequential network{glia::dense{5, glia::tanh}, glia::dense{2}};
  const glia::model host_model{network, {3}};
  const glia::model device_model{network, {3}, device};
  // On the host, where each sample counts.
  const glia::evaluate_options options{
      .batch_size = 10, .metrics = glia::metric_list{{glia::mae(), glia::r2_score()}}};
  const auto expected = glia::evaluate(host_model, data, glia::mean_squared_error{}, options);
  const auto actual = glia::evaluate(device_model, data, glia::mean_squared_error{}, options);
  CHECK(actual.loss == Approx(expected.loss).epsilon(1e-6));
  CHECK(actual["mae"] == Approx(expected["mae"]).epsilon(1e-6));
  CHECK(actual["r2_score"] == Approx(expected["r2_score"]).epsilon(1e-5));
  CHECK(device.compilations().compiled == 1);
  CHECK(test::distance(glia::predict(device_model, data, {.batch_size = 10}),
                       glia::predict(host_model, data, {.batch_size = 10})) < 1e-6);
  CHECK(device.compilations().compiled == 2);
  const xt::xarray<float> x = noise({23, 3});
  CHECK(test::distance(device_model.predict(x, {.batch_size = 10}),
                       host_model.predict(x, {.batch_size = 10})) < 1e-6);
  CHECK(device.compilations().compiled == 2);
}

TEST_CASE("where samples of a batch meet, in a layer or in a loss, short batches stay short") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  const glia::pjrt device(test::without_cache(plugins.front()));
  const glia::target_arrays data(noise({23, 3}), noise({23, 2}));
  const glia::lambda centered{"centered", [](auto&, auto v) {
                                const auto mean = glia::ops::mean(v, {0});
                                return v - mean;
                              }};
  // Whatever such a layer is called.
  const glia::sequential meeting{glia::dense{2}, glia::named{"metrics", centered}};
  const glia::model host_model{meeting, {3}};
  const glia::model device_model{meeting, {3}, device};
  CHECK(
      glia::evaluate(device_model, data, glia::mean_squared_error{}, {.batch_size = 10}).loss ==
      Approx(glia::evaluate(host_model, data, glia::mean_squared_error{}, {.batch_size = 10}).loss)
          .epsilon(1e-6));
  CHECK(device.compilations().compiled == 2);
  CHECK(test::distance(glia::predict(device_model, data, {.batch_size = 10}),
                       glia::predict(host_model, data, {.batch_size = 10})) < 1e-6);
  for (const bool meets : {false, true}) {
    const glia::lambda rest{"rest", [](auto&, auto v) { return v * 2.0F; }};
    const auto train = [&](auto target_device) {
      glia::model net{glia::sequential{glia::dense{2}, rest}, {3}, target_device};
      const auto distance = [meets](const auto& y, const auto& t) {
        const auto targets = y.owner().constant(t.values);
        const auto losses = glia::ops::mean((y - targets) * (y - targets), {1});
        return meets ? losses - losses * glia::ops::mean(losses) : losses;
      };
      glia::trainer trainer{net, distance, glia::sgd{0.01}};
      const auto h = trainer.fit(data, {.epochs = 2, .batch_size = 10, .progress = nullptr});
      return std::pair{h.epochs.back().training.loss, h.compilations.compiled};
    };
    INFO(meets);
    const auto on_device = train(device);
    CHECK(on_device.first == Approx(train(glia::cpu<>()).first).epsilon(1e-5));
    CHECK(on_device.second == (meets ? 2 : 1));
  }
}

TEST_CASE("a prediction leaves nothing behind that a step would have to keep") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  glia::model net{glia::dense{4}, {2}, glia::pjrt(test::without_cache(plugins.front()))};
  const xt::xarray<float> x = xt::ones<float>({3, 2});
  const xt::xarray<float> initial = net.predict(x);
  CHECK(net.parameters()[0].value.unique());
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{0.1}};
  trainer.fit(test::quadrants{20}, {.batch_size = 10, .progress = nullptr});
  CHECK(test::distance(net.predict(x), initial) > 1e-3);
}

TEST_CASE("a number that is not finite is traced on a device") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  const glia::lambda overflows{"overflows",
                               [](auto&, auto v) { return glia::ops::exp(v * 100.0F); }};
  glia::model net{
      glia::sequential{glia::dense{3}, glia::named{"middle", overflows}, glia::dense{1}},
      {2},
      glia::pjrt(test::without_cache(plugins.front()))};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{1e-9}};
  const auto h =
      trainer.fit(glia::target_arrays(xt::ones<float>({12, 2}) * 100, xt::ones<float>({12, 1})),
                  {.batch_size = 4, .progress = nullptr, .callbacks = {glia::terminate_on_nan(1)}});
  CHECK(h.stop_reason ==
        "the loss is not finite: step 1 of epoch 1, first in middle, forward (unary)");
}

TEST_CASE("a profile on a device has the compiled program's time") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  const test::temporary_folder folder;
  glia::model net{glia::dense{4}, {2}, glia::pjrt(test::without_cache(plugins.front()))};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{0.1}};
  std::ostringstream printed;
  const glia::profiler watch(folder.path(), {.print = &printed});
  trainer.fit(test::quadrants{100},
              {.epochs = 2, .batch_size = 10, .progress = nullptr, .callbacks = {watch}});
  CHECK(test::contains(printed.str(), "compiled program"));
}

#include <glia/backends/program.hpp>
#include <glia/backends/recorder.hpp>
#include <glia/pjrt.hpp>

#include "catch.hpp"
#include "conforming.hpp"
#include "helpers.hpp"
#include "pjrt/plugins.hpp"

namespace {

struct trained {
  std::vector<std::vector<float>> parameters;
  glia::history history;
};

/// Trains on noise, for two epochs with a validation after each.
template <class B, class Network>
trained train(const B& device, const Network& network, const glia::shape& sample,
              std::size_t samples, std::size_t batch) {
  std::vector<std::size_t> extents(sample.begin(), sample.end());
  extents.insert(extents.begin(), samples);
  xt::xarray<float> x = xt::zeros<float>(extents);
  glia::random_stream random({.seed = 3});
  for (float& v : x) {
    v = static_cast<float>(random.normal());
  }
  xt::xarray<std::int32_t> y = xt::zeros<std::int32_t>({samples});
  for (std::int32_t& v : y) {
    v = static_cast<std::int32_t>(random.integer(10));
  }
  const glia::labeled_arrays data(x, y);
  glia::model net{network, sample, device};
  glia::trainer trainer{net, glia::softmax_cross_entropy{},
                        glia::adam{.learning_rate = glia::cosine_decay(1e-3, 20)}};
  trained result;
  result.history = trainer.fit(data, data, {.epochs = 2, .batch_size = batch, .progress = nullptr});
  for (const auto& p : net.parameters()) {
    result.parameters.push_back(test::values_of(device, p.value));
  }
  return result;
}

/// Holds a training on the device to the same on the cpu, and returns how many programs it took.
template <class Network>
std::size_t require_parity(const std::string& plugin, const Network& network,
                           const glia::shape& sample, std::size_t samples, std::size_t batch) {
  const trained expected = train(glia::cpu<float>(), network, sample, samples, batch);
  const glia::pjrt device(test::without_cache(plugin));
  const trained actual = train(device, network, sample, samples, batch);
  REQUIRE(actual.parameters.size() == expected.parameters.size());
  for (std::size_t i = 0; i < expected.parameters.size(); ++i) {
    const auto size = [](float a, float b) { return std::abs(a) < std::abs(b); };
    const std::vector<float>& values = expected.parameters[i];
    const float largest = std::abs(*std::max_element(values.begin(), values.end(), size));
    CHECK(test::distance(actual.parameters[i], values) <= 1e-4 * (largest + 1e-3));
  }
  for (std::size_t e = 0; e < 2; ++e) {
    CHECK(actual.history.epochs[e].training.loss ==
          Approx(expected.history.epochs[e].training.loss).epsilon(1e-5));
    CHECK(actual.history.epochs[e].validation->loss ==
          Approx(expected.history.epochs[e].validation->loss).epsilon(1e-5));
    CHECK(actual.history.epochs[e].training.metric_values ==
          expected.history.epochs[e].training.metric_values);
  }
  CHECK(actual.history.compilations == device.compilations());
  return device.compilations().compiled;
}

}  // namespace

TEST_CASE("what XLA compiles conforms in float and double, with plugins of two versions") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  const glia::pjrt_options options = test::without_cache(plugins.front());
  const glia::pjrt<float> in_float(options);
  const glia::pjrt<double> in_double(options);
  // Together, since the reference takes most of the time.
  std::vector<glia::device> devices{in_float, in_double};
  if (plugins.size() > 1) {
    devices.push_back(glia::pjrt<float>(test::without_cache(plugins.back())));
  }
  test::require_conformance(devices);
}

TEST_CASE("a training on a device is that on the cpu, in a few programs") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  for (const std::string& plugin : plugins) {
    INFO(plugin);
    using glia::dense;
    const glia::sequential perceptron{dense{40, glia::relu}, dense{30, glia::tanh}, dense{10}};
    // A step and a validation, with a shorter last batch as well.
    CHECK(require_parity(plugin, perceptron, {20}, 50, 10) == 2);
    CHECK(require_parity(plugin, perceptron, {20}, 55, 10) == 2);
    const glia::conv2d convolution{.filters = 8, .kernel_size = {3, 3}, .activation = glia::relu};
    const glia::sequential network{convolution, glia::max_pool2d{{2, 2}}, glia::batch_norm{},
                                   convolution, glia::dropout{0.3},       glia::flatten{},
                                   dense{10}};
    // Where samples mix, a shorter batch takes a program of its own.
    CHECK(require_parity(plugin, network, {12, 12, 2}, 96, 32) == 2);
    CHECK(require_parity(plugin, network, {12, 12, 2}, 80, 32) == 3);
  }
}

TEST_CASE("elements are read in rows, whatever layout a device has chosen for them") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  // The older of the two hands out its own layout, which by itself is always that of rows.
  const std::string& plugin = plugins.back();
  const glia::pjrt_options options = test::without_cache(plugin);
  const auto client =
      std::make_shared<const glia::detail::pjrt_client>(glia::detail::pjrt_plugin(plugin), options);
  // The result's columns lie next to each other, as on TPUs.
  const auto transposing = glia::detail::pjrt_executable::compile(client, R"(module @m {
  func.func public @main(%0: tensor<2x3xf32>) -> (tensor<2x3xf32> {mhlo.layout_mode = "{0,1}"}) {
    %1 = "stablehlo.add"(%0, %0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    "func.return"(%1) : (tensor<2x3xf32>) -> ()
  }
}
)",
                                                                  1);
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const auto x = glia::detail::copy_to_devices(client, std::as_bytes(std::span(values)),
                                               glia::pjrt_api::buffer_type::f32, {2, 3},
                                               glia::detail::device_layout::everywhere);
  const glia::detail::pjrt_buffer* const arguments[] = {x.get()};
  const auto begun = transposing->run(arguments, {});
  std::vector<float> doubled(6);
  glia::detail::copy_to_host(*begun.results[0], {2, 3}, std::as_writable_bytes(std::span(doubled)));
  CHECK(doubled == std::vector<float>{2, 4, 6, 8, 10, 12});
  for (glia::pjrt_api::event* const event : begun.events) {
    glia::detail::wait_for(*client, event, "run a program");
  }
}

TEST_CASE("a tensor that others hold stays as it is when a program writes over it") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  const glia::pjrt device(test::without_cache(plugins.front()));
  const glia::recorder rec;
  const auto p = rec.input("p", glia::real_of({3}));
  const auto doubled = rec.run(kernels::binary{}, p, p);
  rec.next(p, doubled);
  const glia::program doubling(rec.recorded(), device);
  glia::tensor state = test::tensor_of(device, {3}, {1, 2, 3});
  const glia::tensor held = state;
  glia::tensor* const input = &state;
  doubling.run(std::span(&input, 1), {});
  CHECK(test::values_of(device, held) == std::vector<float>{1, 2, 3});
  CHECK(test::values_of(device, state) == std::vector<float>{2, 4, 6});
  doubling.run(std::span(&input, 1), {});  // and now it is given up
  CHECK(test::values_of(device, state) == std::vector<float>{4, 8, 12});
  glia::tensor foreign =
      test::tensor_of(glia::pjrt(test::without_cache(plugins.back())), {3}, {1, 2, 3});
  glia::tensor* const of_another = &foreign;
  CHECK(test::contains(
      test::message_of<glia::value_error>([&] { doubling.run(std::span(&of_another, 1), {}); }),
      "belongs to another device"));
  glia::tensor wrong = test::tensor_of(device, {2}, {1, 2});
  glia::tensor* const other = &wrong;
  CHECK(test::contains(
      test::message_of<glia::shape_error>([&] { doubling.run(std::span(&other, 1), {}); }),
      "'p' a tensor of shape (3,), got (2,)"));
}

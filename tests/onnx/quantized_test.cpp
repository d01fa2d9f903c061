#include <onnx/checker.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <glia/io/safetensors.hpp>
#include <glia/models/calibrate.hpp>
#include <glia/onnx.hpp>
#include <glia/testing/values.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "messages.hpp"
#include "onnx/other_runtimes.hpp"
#include "onnx/small_graph.hpp"
#include "run_python.hpp"
#include "temporary_folder.hpp"

using test::small_graph;

namespace {

using P = ::onnx::TensorProto;

xt::xarray<float> values_of(const glia::shape& s, std::uint32_t stream) {
  return xt::adapt(glia::testing::test_values(s, stream),
                   std::vector<std::size_t>(s.begin(), s.end()));
}

std::size_t nodes_of(const ::onnx::ModelProto& message, const std::string& operation) {
  const auto& nodes = message.graph().node();
  return static_cast<std::size_t>(std::count_if(
      nodes.begin(), nodes.end(), [&](const auto& node) { return node.op_type() == operation; }));
}

auto network() {
  return glia::sequential{
      glia::conv2d{.filters = 12, .kernel_size = 3, .padding = glia::same},
      glia::batch_norm{},
      glia::relu6,
      glia::depthwise_conv2d{.kernel_size = 3, .strides = 2, .padding = glia::same},
      glia::batch_norm{},
      glia::relu6,
      glia::conv2d{8, 1},
      glia::max_pool2d{},
      glia::flatten{},
      glia::dense{20, glia::relu},
      glia::dense{5}};
}

}  // namespace

TEST_CASE("a quantized model is a file with bytes, which others and glia compute with") {
  const glia::shape sample{13, 10, 3};
  glia::model net{network(), sample, glia::cpu<float>{}, {.seed = 3}};
  const xt::xarray<float> x = values_of({32, 13, 10, 3}, 5);
  const glia::quantization quantization = glia::calibrate(net, x);
  REQUIRE(quantization.products.size() == 5);
  const test::temporary_folder scratch;
  const auto file = scratch.path() / "net.onnx";
  glia::write_onnx(net, file, {.quantization = quantization});

  const glia::onnx_model description{file};
  const ::onnx::ModelProto& message = description.content().message();
  ::onnx::checker::check_model(message);
  CHECK(nodes_of(message, "QuantizeLinear") == 5);
  CHECK(nodes_of(message, "DequantizeLinear") == 10);
  std::size_t with_signs = 0;
  for (const auto& initializer : message.graph().initializer()) {
    with_signs += initializer.data_type() == P::INT8 && initializer.dims_size() > 1 ? 1 : 0;
  }
  CHECK(with_signs == 5);

  const xt::xarray<float> y = net.prepare(quantization, {.batch_size = 32})(x);
  glia::model reread{description};
  const auto ready = reread.prepare({.batch_size = 32});
  CHECK(test::kernel_count(ready.calls(), "quantized_chain") == 3);
  CHECK(test::kernel_count(ready.calls(), "fake_quantize") == 0);
  CHECK(test::distance(ready(x), y) == 0);
  CHECK(test::distance(reread.predict(x), y) == 0);
  CHECK(reread.get("conv2d_0.kernel").size() == 3 * 3 * 3 * 12);

  SECTION("on a backend without integers") {
    const glia::model plain{description, glia::reference<float>()};
    CHECK(test::relative_change(plain.predict(x), y) < quantization.error / 2);
  }
  SECTION("by other runtimes") {
    for (const std::string runtime : {"onnxruntime", "openvino"}) {
      const auto python = test::python_with(runtime);
      if (!python) {
        continue;
      }
      INFO(runtime);
      CHECK(test::relative_change(test::run_by(runtime, *python, file, x), y) < quantization.error);
    }
  }
  SECTION("it is trained on, through the rounding") {
    xt::xarray<std::int32_t> classes = xt::zeros<std::int32_t>({32});
    for (std::size_t i = 0; i < 32; ++i) {
      classes(i) = static_cast<std::int32_t>(i % 5);
    }
    const glia::labeled_arrays data(x, classes);
    const glia::softmax_cross_entropy loss;
    const double initial_loss = glia::evaluate(reread, data, loss)["loss"];
    glia::trainer trainer{reread, loss, glia::adam{1e-3}};
    trainer.fit(data, {.epochs = 5, .batch_size = 8, .progress = nullptr});
    CHECK(glia::evaluate(reread, data, loss)["loss"] < initial_loss);
    const auto trained = scratch.path() / "trained.onnx";
    glia::write_onnx(reread, trained);
    const glia::model third{glia::onnx_model{trained}};
    CHECK(test::relative_change(third.predict(x), reread.predict(x)) < 1e-6);
  }
}

TEST_CASE("recurrent layers that are quantized are written as ONNX") {
  const auto check = [](const std::string& name, const auto& description, std::size_t nodes) {
    INFO(name);
    const glia::shape sample{6, 4};
    const glia::model net{description, sample, glia::cpu<float>{}, {.seed = 4}};
    const xt::xarray<float> x = values_of({48, 6, 4}, 7);
    const glia::quantization quantization = glia::calibrate(net, x, {.tolerance = 1e9});
    REQUIRE(quantization.products.size() > 1);
    const test::temporary_folder scratch;
    const auto file = scratch.path() / "net.onnx";
    glia::write_onnx(net, file, {.quantization = quantization});
    const glia::onnx_model written{file};
    ::onnx::checker::check_model(written.content().message());
    CHECK(nodes_of(written.content().message(), "QuantizeLinear") == quantization.products.size());
    CHECK(nodes_of(written.content().message(), "GRU") +
              nodes_of(written.content().message(), "LSTM") +
              nodes_of(written.content().message(), "RNN") ==
          nodes);
    const xt::xarray<float> y = net.prepare(quantization, {.batch_size = 48})(x);
    CHECK(test::relative_change(glia::model{written}.predict(x), y) < 0.02);
    if (const auto python = test::python_with("onnxruntime")) {
      CHECK(test::relative_change(test::run_by("onnxruntime", *python, file, x), y) < 0.02);
    }
  };
  using glia::sequential;
  check("gru", sequential{glia::gru{.units = 8}, glia::dense{3}}, 1);
  check("lstm", sequential{glia::lstm{.units = 8}, glia::dense{3}}, 1);
  check("rnn",
        sequential{glia::simple_rnn{.units = 8, .return_sequences = true}, glia::gru{.units = 5}},
        2);
  check("both directions",
        sequential{glia::bidirectional(glia::gru{.units = 8, .return_sequences = true}),
                   glia::flatten{}, glia::dense{3}},
        1);
}

TEST_CASE("networks that ONNX Runtime has quantized are computed with integers") {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::onnx_folder() / "quantized")) {
    if (entry.path().extension() != ".onnx") {
      continue;
    }
    INFO(entry.path());
    ++count;
    auto samples = glia::read_safetensors(
        std::filesystem::path(entry.path()).replace_extension(".safetensors"));
    const xt::xarray<float> x = samples.at("x");
    const xt::xarray<float> y = samples.at("y");
    const glia::model net{glia::onnx_model{entry.path()}};
    const auto ready = net.prepare({.batch_size = x.shape()[0]});
    for (const char* const in_float :
         {"packed_dense", "conv2d", "conv2d_chain", "dense", "packed_conv2d_max_pool2d"}) {
      CHECK(test::kernel_count(ready.calls(), in_float) == 0);
    }
    CHECK(test::kernel_count(ready.calls(), "quantized_chain") > 1);
    const xt::xarray<float> actual = ready(x);
    // As it was quantized there; halves may be rounded otherwise.
    CHECK(test::relative_change(actual, y) < 0.5 * test::relative_change(y, samples.at("float")));
  }
  CHECK(count == 6);
}

TEST_CASE("weights of an ONNX file that are whole numbers stand for others") {
  // y = x w + b with w (3, 2) in several ways.
  const xt::xarray<float> x = values_of({4, 3}, 1);
  const auto expect = [&](const std::vector<double>& w, const std::vector<double>& b,
                          const glia::onnx_model& description, bool integers) {
    const glia::model net{description};
    const xt::xarray<float> y = net.predict(x);
    const auto ready = net.prepare({.batch_size = 4});
    CHECK(test::kernel_count(ready.calls(), "quantized_chain") == (integers ? 1 : 0));
    for (std::size_t n = 0; n < 4; ++n) {
      for (std::size_t o = 0; o < 2; ++o) {
        double sum = b[o];
        for (std::size_t i = 0; i < 3; ++i) {
          sum += std::clamp(std::nearbyint(x(n, i) / 0.25), -8.0, 247.0) * 0.25 * w[2 * i + o];
        }
        CHECK(y(n, o) == Approx(sum).margin(1e-5));
      }
    }
  };
  const std::vector<std::int32_t> whole{1, -2, 3, 4, -128, 127};
  const auto begun = [&](P::DataType type) {
    small_graph graph({3});
    graph.weights("scale", {}, {0.25F});
    graph.bytes("zero", {}, {8}, P::UINT8);
    graph.node("QuantizeLinear", {"x", "scale", "zero"}, {"bytes"});
    graph.node("DequantizeLinear", {"bytes", "scale", "zero"}, {"near"});
    graph.bytes("whole", {3, 2},
                type == P::UINT8 ? std::vector<std::int32_t>{1, 2, 3, 4, 0, 255} : whole, type);
    return graph;
  };
  SECTION("by one scale") {
    small_graph graph = begun(P::INT8);
    graph.weights("step", {}, {0.5F});
    graph.node("DequantizeLinear", {"whole", "step"}, {"w"});
    graph.node("MatMul", {"near", "w"}, {"y"});
    expect({0.5, -1, 1.5, 2, -64, 63.5}, {0, 0}, graph.read(), true);
  }
  SECTION("by one for each output, with a bias of 32 bits") {
    small_graph graph = begun(P::INT8);
    graph.weights("step", {2}, {0.5F, 0.25F});
    graph.bytes("none", {2}, {0, 0});
    auto& node = graph.node("DequantizeLinear", {"whole", "step", "none"}, {"w"});
    small_graph::set_flag(node, "axis", true);
    graph.bytes("whole bias", {2}, {1000, -3}, P::INT32);
    graph.weights("step of bias", {2}, {0.01F, 2});
    auto& bias = graph.node("DequantizeLinear", {"whole bias", "step of bias"}, {"b"});
    small_graph::set_flag(bias, "axis", false);
    graph.node("Gemm", {"near", "w", "b"}, {"y"});
    expect({0.5, -0.5, 1.5, 1, -64, 31.75}, {10, -6}, graph.read(), true);
  }
  SECTION("by one for each input: as numbers") {
    small_graph graph = begun(P::INT8);
    graph.weights("step", {3}, {1, 0.5F, 0.25F});
    graph.bytes("none", {3}, {0, 0, 0});
    auto& node = graph.node("DequantizeLinear", {"whole", "step", "none"}, {"w"});
    small_graph::set_flag(node, "axis", false);
    graph.node("MatMul", {"near", "w"}, {"y"});
    expect({1, -2, 1.5, 2, -32, 31.75}, {0, 0}, graph.read(), false);
  }
  SECTION("without signs: as numbers") {
    small_graph graph = begun(P::UINT8);
    graph.weights("step", {}, {0.5F});
    graph.bytes("middle", {}, {100}, P::UINT8);
    graph.node("DequantizeLinear", {"whole", "step", "middle"}, {"w"});
    graph.node("MatMul", {"near", "w"}, {"y"});
    expect({-49.5, -49, -48.5, -48, -50, 77.5}, {0, 0}, graph.read(), false);
  }
}

TEST_CASE("whole numbers that no number is made of again are numbers") {
  const xt::xarray<float> x = values_of({2, 3}, 1);
  small_graph graph({3});
  graph.weights("scale", {}, {0.125F});
  graph.bytes("zero", {}, {-3});
  graph.node("QuantizeLinear", {"x", "scale", "zero"}, {"bytes"});
  SECTION("given as they are") {
    graph.message.mutable_graph()->mutable_output(0)->set_name("bytes");
    const xt::xarray<float> y = glia::model{graph.read()}.predict(x);
    for (std::size_t i = 0; i < y.size(); ++i) {
      CHECK(y.flat(i) == std::nearbyint(x.flat(i) / 0.125F) - 3);
    }
  }
  SECTION("by other steps") {
    graph.weights("steps", {3}, {1, 2, 3});
    graph.bytes("zeros", {3}, {0, 1, 2});
    graph.node("DequantizeLinear", {"bytes", "steps", "zeros"}, {"y"});
    const xt::xarray<float> y = glia::model{graph.read()}.predict(x);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto channel = static_cast<float>(i % 3);
      CHECK(y.flat(i) ==
            Approx((std::nearbyint(x.flat(i) / 0.125F) - 3 - channel) * (channel + 1)));
    }
  }
}

TEST_CASE("quantized along another axis than the last") {
  // (N, 2, 3), quantized by one scale for each of 2.
  const xt::xarray<float> x = values_of({2, 2, 3}, 1);
  small_graph graph({2, 3});
  graph.weights("scales", {2}, {0.125F, 0.5F});
  graph.bytes("zeros", {2}, {0, 0});
  for (const std::string name : {"QuantizeLinear", "DequantizeLinear"}) {
    auto& node = graph.node(name, {name == "QuantizeLinear" ? "x" : "bytes", "scales", "zeros"},
                            {name == "QuantizeLinear" ? "bytes" : "y"});
    small_graph::set_flag(node, "axis", true);
  }
  const xt::xarray<float> y = glia::model{graph.read()}.predict(x);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float scale = i / 3 % 2 == 0 ? 0.125F : 0.5F;
    CHECK(y.flat(i) == Approx(std::nearbyint(x.flat(i) / scale) * scale).margin(1e-6));
  }
}

TEST_CASE("quantized nodes that glia does not take are named") {
  const auto message = [&](const auto& change) {
    small_graph graph({3});
    graph.weights("scale", {}, {0.25F});
    graph.bytes("zero", {}, {8}, P::UINT8);
    auto& node = graph.node("QuantizeLinear", {"x", "scale", "zero"}, {"bytes"});
    graph.node("DequantizeLinear", {"bytes", "scale", "zero"}, {"y"});
    change(graph, node);
    return test::message_of<glia::data_error>(
        [&] { static_cast<void>(glia::model{graph.read()}); });
  };
  const auto initializer = [](small_graph& graph, int i) -> ::onnx::TensorProto& {
    return *graph.message.mutable_graph()->mutable_initializer(i);
  };
  CHECK(message([](small_graph&, ::onnx::NodeProto&) {}).empty());
  CHECK(test::contains(message([&](small_graph& graph, ::onnx::NodeProto&) {
                         initializer(graph, 0).set_float_data(0, 0);
                       }),
                       "has the scale 0; expected numbers above 0"));
  CHECK(test::contains(message([&](small_graph& graph, ::onnx::NodeProto&) {
                         initializer(graph, 1).set_data_type(P::INT32);
                       }),
                       "quantizes to INT32; glia supports INT8, UINT8, INT16 and UINT16"));
  CHECK(test::contains(message([](small_graph&, ::onnx::NodeProto& node) {
                         small_graph::set_flag(node, "block_size", true);
                       }),
                       "quantizes in blocks"));
  CHECK(test::contains(message([&](small_graph& graph, ::onnx::NodeProto&) {
                         initializer(graph, 0).add_dims(2);
                         initializer(graph, 0).add_float_data(1);
                       }),
                       "2 scales and 1 zero points"));
}

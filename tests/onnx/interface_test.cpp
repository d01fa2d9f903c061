#include <onnx/checker.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <glia/onnx.hpp>
#include <glia/testing/values.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "messages.hpp"
#include "onnx/models.hpp"
#include "onnx/other_runtimes.hpp"
#include "onnx/small_graph.hpp"
#include "run_python.hpp"
#include "temporary_folder.hpp"

// The inputs and outputs of ONNX files: inner outputs by the names of tensors and layers, and the
// names, order and layout of inputs and outputs in files that glia writes.

using glia::onnx_model;
using glia::sequential;
using test::small_graph;

namespace {

xt::xarray<float> batch_for(const glia::shape& sample, std::size_t rows = 3) {
  const glia::shape s = glia::batch_of(rows, sample);
  return xt::adapt(glia::testing::test_values(s, 7), std::vector<std::size_t>(s.begin(), s.end()));
}

xt::xarray<float> outputs_of(const onnx_model& file, const xt::xarray<float>& x) {
  return glia::model{file}.predict(x);
}

std::vector<float> sorted(const xt::xarray<float>& x) {
  std::vector<float> elements(x.begin(), x.end());
  std::sort(elements.begin(), elements.end());
  return elements;
}

using value_info = google::protobuf::RepeatedPtrField<::onnx::ValueInfoProto>;

/// The names and shapes of inputs or outputs: x(N,3).
std::vector<std::string> described(const value_info& tensors) {
  std::vector<std::string> result;
  for (const auto& tensor : tensors) {
    std::string line = tensor.name() + '(';
    for (const auto& extent : tensor.type().tensor_type().shape().dim()) {
      line += line.back() == '(' ? "" : ",";
      line += extent.has_dim_value() ? std::to_string(extent.dim_value()) : extent.dim_param();
    }
    result.push_back(line + ')');
  }
  return result;
}

using texts = std::vector<std::string>;

std::size_t transposes_in(const ::onnx::ModelProto& message) {
  return static_cast<std::size_t>(
      std::count_if(message.graph().node().begin(), message.graph().node().end(),
                    [](const auto& node) { return node.op_type() == "Transpose"; }));
}

void describe(::onnx::ValueInfoProto& info, const std::string& name,
              const std::vector<std::int64_t>& sample) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(::onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_param("N");
  for (const std::int64_t extent : sample) {
    type.mutable_shape()->add_dim()->set_dim_value(extent);
  }
}

/// A file with two inputs and two outputs, of which one each is an image (N, C, H, W).
small_graph two_inputs() {
  small_graph graph{{3, 4, 5}};
  ::onnx::GraphProto& g = *graph.message.mutable_graph();
  g.set_name("two_inputs");
  g.mutable_input(0)->set_name("images");
  describe(*g.add_input(), "ages", {2});
  g.clear_output();
  describe(*g.add_output(), "scores", {2});
  describe(*g.add_output(), "masks", {2, 4, 5});
  std::vector<float> kernel(6);
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    kernel[i] = static_cast<float>(i) - 2;
  }
  graph.weights("conv.weight", {2, 3, 1, 1}, kernel);
  graph.node("Conv", {"images", "conv.weight"}, {"masks"});
  graph.node("GlobalAveragePool", {"masks"}, {"means"});
  graph.node("Flatten", {"means"}, {"rows"});
  graph.node("Add", {"rows", "ages"}, {"scores"});
  auto& entry = *graph.message.add_metadata_props();
  entry.set_key("classes");
  entry.set_value("cat\ndog\n");
  return graph;
}

}  // namespace

TEST_CASE("an output of an ONNX file can have the name that the summary shows") {
  for (const std::string name : {"torch_cnn_legacy", "torch_mlp", "torch_inception_legacy",
                                 "torch_transfer_unoptimized", "keras_mlp", "keras_cnn"}) {
    INFO(name);
    const auto path = test::onnx_folder() / (name + ".onnx");
    const glia::model net{onnx_model{path}};
    const xt::xarray<float> x = batch_for(net.sample_shape());
    std::size_t compared = 0;
    for (const glia::layer_summary& layer : net.plan().layers) {
      INFO(layer.name);
      const auto same_name = [&](const glia::layer_summary& other) {
        return other.name == layer.name;
      };
      if (std::count_if(net.plan().layers.begin(), net.plan().layers.end(), same_name) > 1 ||
          layer.name.starts_with("transpose") || layer.name.starts_with("dropout")) {
        continue;  // glia permutes outputs, and a prediction has no dropout
      }
      const onnx_model inner{path, {.outputs = {layer.name}}};
      // The file and glia order the axes differently.
      CHECK(test::distance(sorted(outputs_of(inner, x)),
                           sorted(glia::layer_output(net, layer.name, x))) < 1e-4);
      ++compared;
    }
    CHECK(compared > 2);
  }
}

TEST_CASE("a layer of an ONNX file that was merged from several nodes ends with the last of them") {
  small_graph graph{{3}};
  graph.weights("fc.weight", {3, 2}, {1, -2, 3, 4, -5, 6});
  graph.weights("fc.bias", {2}, {0.5F, -1});
  graph.node("MatMul", {"x", "fc.weight"}, {"product"});
  graph.node("Add", {"product", "fc.bias"}, {"sum"});
  graph.node("Sigmoid", {"sum"}, {"gate"});
  graph.node("Mul", {"sum", "gate"}, {"swish"});
  graph.node("Softmax", {"swish"}, {"y"});
  const test::temporary_folder scratch;
  const auto path = scratch.path() / "merged.onnx";
  test::write_message(graph.message, path);
  const xt::xarray<float> x = batch_for({3});
  const auto same = [&](const std::string& layer, const std::string& tensor) {
    INFO(layer);
    const onnx_model by_layer{path, {.outputs = {layer}}};
    const onnx_model by_tensor{path, {.outputs = {tensor}}};
    CHECK(test::distance(outputs_of(by_layer, x), outputs_of(by_tensor, x)) == 0);
    CHECK(by_layer.output_kind() == by_tensor.output_kind());
  };
  same("fc", "sum");
  same("silu_0", "swish");
  same("softmax_0", "y");
  const onnx_model probabilities{path, {.outputs = {"softmax_0"}}};
  CHECK(glia::model{probabilities}.plan().gives == glia::output_kind::softmax);
  const onnx_model both{path, {.outputs = {"fc", "swish"}}};
  const auto y = glia::model{both};
  CHECK(y.plan().outputs[0].name == "fc");
  CHECK(y.plan().outputs[1].name == "swish");
}

TEST_CASE("names of outputs of an ONNX file that mean several things mean one of them") {
  const test::temporary_folder scratch;
  const auto path = scratch.path() / "net.onnx";
  const xt::xarray<float> x = batch_for({2});
  const auto output_of = [&](const small_graph& graph, const std::string& name) {
    test::write_message(graph.message, path);
    return outputs_of(onnx_model{path, {.outputs = {name}}}, x);
  };
  // A tensor before a layer.
  small_graph negative{{2}};
  negative.node("Neg", {"x"}, {"relu_0"});
  negative.node("Relu", {"relu_0"}, {"y"});
  CHECK(test::distance(output_of(negative, "relu_0"), xt::xarray<float>(-x)) == 0);
  CHECK(test::distance(output_of(negative, "neg_0"), xt::xarray<float>(-x)) == 0);

  // The last of several layers.
  small_graph normalized{{2}};
  normalized.weights("norm.weight", {2}, {2, 3});
  normalized.weights("norm.bias", {2}, {-1, 1});
  normalized.node("Mul", {"x", "norm.weight"}, {"scaled"});
  normalized.node("Add", {"scaled", "norm.bias"}, {"shifted"});
  normalized.node("Relu", {"shifted"}, {"y"});
  const xt::xarray<float> shifted = output_of(normalized, "shifted");
  CHECK(test::distance(output_of(normalized, "norm"), shifted) == 0);
  CHECK(test::distance(output_of(normalized, "scaled"), shifted) > 0.5);
}

TEST_CASE("an output that the file does not have is refused with the names that there are") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "few.onnx";
  const auto error_of = [](const std::filesystem::path& file, const std::string& name) {
    return test::message_of<glia::data_error>([&] {
      (void)glia::model{onnx_model{file, {.outputs = {name}}}};
    });
  };
  glia::write_onnx(
      glia::model{sequential{glia::dense{4, glia::relu}, glia::dense{3, glia::relu}}, {2}}, path);
  CHECK(test::contains(
      error_of(path, "relu_7"),
      "few.onnx: the file has no tensor or layer named 'relu_7'; the layers are: dense_0, relu_0, "
      "dense_1, relu_1; the tensors are: dense_0/Gemm, dense_0/Relu, dense_1/Gemm, dense_1/Relu, "
      "outputs"));

  small_graph many{{2}};
  for (std::size_t i = 0; i < 25; ++i) {
    many.node("Neg", {i == 0 ? "x" : "t" + std::to_string(i - 1)},
              {i == 24 ? "y" : "t" + std::to_string(i)});
  }
  test::write_message(many.message, path);
  const std::string error = error_of(path, "neg_25");
  CHECK(test::contains(error, "neg_18, neg_19, ...; the tensors are: t0, t1,"));
  CHECK(error.ends_with("t18, t19, ..."));

  // Tensors before an operator that glia cannot read have names, but layers do not.
  small_graph unread{{2}};
  unread.node("Neg", {"x"}, {"negative"});
  unread.node("Det", {"negative"}, {"y"});
  test::write_message(unread.message, path);
  CHECK(outputs_of(onnx_model{path, {.outputs = {"negative"}}}, batch_for({2})).size() == 6);
  const std::string reason = error_of(path, "neg_0");
  CHECK(test::contains(reason, "the tensors are: negative, y; glia cannot read the whole file"));
  CHECK(test::contains(reason, "Det"));
}

TEST_CASE("a model with named inputs and outputs is an ONNX file with these names") {
  const glia::inputs parts{
      glia::input{"image", {4, 5, 3}, sequential{glia::conv2d{2, 3}, glia::flatten{}}},
      glia::input{"age", {1}},
      glia::input{"unused", {2}, glia::lambda{"none", [](auto x) { return x * 0.0; }}}};
  const glia::outputs heads{glia::output{"class", glia::dense{3, glia::softmax}},
                            glia::output{"map", sequential{glia::dense{8}, glia::reshape{{2, 4}}}}};
  const glia::model net{sequential{parts, glia::dense{6, glia::relu}, heads}};
  const test::temporary_folder scratch;
  const auto path = scratch.path() / "net.onnx";
  glia::write_onnx(net, path);
  const ::onnx::ModelProto message = test::onnx_message_in(path);
  ::onnx::checker::check_model(message);
  CHECK(described(message.graph().input()) == texts{"image(N,4,5,3)", "age(N,1)", "unused(N,2)"});
  CHECK(described(message.graph().output()) == texts{"class(N,3)", "map(N,2,4)"});
  const auto is_used = [&](const std::string& operation) {
    return std::any_of(message.graph().node().begin(), message.graph().node().end(),
                       [&](const auto& node) { return node.op_type() == operation; });
  };
  CHECK_FALSE(is_used("Slice"));

  const glia::model read{onnx_model{path}};
  const xt::xarray<float> x = batch_for(net.sample_shape());
  CHECK(test::distance(read.predict(x), net.predict(x)) == 0);
  const std::vector<glia::named_array> arrays{
      {"image", batch_for({4, 5, 3})}, {"age", batch_for({1})}, {"unused", batch_for({2})}};
  const auto named = glia::predict(read, arrays);
  const auto expected = glia::predict(net, arrays);
  CHECK(named.size() == 2);
  CHECK(test::distance(named.at("class"), expected.at("class")) == 0);
  CHECK(named.at("map").shape() == xt::xarray<float>::shape_type{3, 2, 4});
  CHECK(test::distance(named.at("map"), expected.at("map")) == 0);

  const auto python = test::python_with("onnxruntime");
  if (!python) {
    GLIA_SKIP(test::no_python_with("onnxruntime"));
    return;
  }
  CHECK(test::distance(test::run_by("onnxruntime", *python, path, x), net.predict(x)) < 1e-5);
}

TEST_CASE("inputs and outputs that are not at the ends of a model are rows of an ONNX file") {
  const auto described_ends = [](const auto& description, const glia::shape& sample) {
    const auto message = glia::onnx::message_of(glia::model{description, sample}, {});
    texts result = described(message.graph().input());
    for (const std::string& output : described(message.graph().output())) {
      result.push_back(output);
    }
    return result;
  };
  const glia::inputs two{glia::input{"a", {2}}, glia::input{"b", {3}}};
  CHECK(described_ends(sequential{glia::dense{5}, two}, {5}) ==
        texts{"inputs(N,5)", "outputs(N,5)"});
  CHECK(described_ends(sequential{glia::outputs{glia::output{"a", glia::dense{2}},
                                                glia::output{"b", glia::dense{3}}},
                                  glia::dense{5}},
                       {4}) == texts{"inputs(N,4)", "outputs(N,5)"});
  CHECK(described_ends(sequential{glia::inputs{glia::input{"only", {2, 2}}},
                                  glia::outputs{glia::output{"same", glia::identity{}}}},
                       {4}) == texts{"only(N,2,2)", "same(N,2,2)"});
}

TEST_CASE("more outputs than one concatenation takes have their names in an ONNX file") {
  const auto head = [](const char* name, std::size_t units) {
    return glia::output{name, glia::dense{units}};
  };
  const glia::model net{
      glia::outputs{head("a", 1), head("b", 2), head("c", 1), head("d", 1), head("e", 3),
                    head("f", 1), head("g", 1), head("h", 1), head("i", 2), head("j", 1)},
      {2}};
  const auto message = glia::onnx::message_of(net, {});
  CHECK(described(message.graph().output()) == texts{"a(N,1)", "b(N,2)", "c(N,1)", "d(N,1)",
                                                     "e(N,3)", "f(N,1)", "g(N,1)", "h(N,1)",
                                                     "i(N,2)", "j(N,1)"});
}

TEST_CASE("names of inputs and outputs of an ONNX file are options") {
  const glia::model net{sequential{glia::dense{4, glia::relu}, glia::dense{2}}, {3}};
  const auto message = glia::onnx::message_of(
      net, {.input_names = {"dense_0.kernel"}, .output_names = {"dense_0/Gemm"}});
  // Other tensors with these names get new ones.
  CHECK_NOTHROW(::onnx::checker::check_model(message));
  CHECK(described(message.graph().input()) == texts{"dense_0.kernel(N,3)"});
  CHECK(described(message.graph().output()) == texts{"dense_0/Gemm(N,2)"});
  const test::temporary_folder scratch;
  const auto path = scratch.path() / "net.onnx";
  test::write_message(message, path);
  const xt::xarray<float> x = batch_for({3});
  CHECK(test::distance(outputs_of(onnx_model{path}, x), net.predict(x)) == 0);

  const auto error_of = [](const auto& model, const glia::onnx_options& options) {
    return test::message_of<glia::value_error>(
        [&] { static_cast<void>(glia::onnx::message_of(model, options)); });
  };
  CHECK(error_of(net, {.input_names = {"a", "b"}}) ==
        "write_onnx: expected 1 name in .input_names, for inputs; got 2: a, b");
  CHECK(test::contains(error_of(net, {.output_names = {""}}), "has an empty name"));
  CHECK(test::contains(error_of(net, {.input_names = {"x"}, .output_names = {"x"}}),
                       "two of the inputs and outputs of the file have the name 'x'"));
  const glia::inputs two{glia::input{"a", {2}}, glia::input{"b", {3}}};
  const glia::model joined{two};
  CHECK(error_of(joined, {.input_names = {"a"}}) ==
        "write_onnx: expected 2 names in .input_names, for a, b; got 1: a");
  CHECK(test::contains(error_of(joined, {.input_names = {"a", "a"}}), "have the name 'a'"));
  CHECK(test::contains(error_of(joined, {.output_names = {"b"}}), "have the name 'b'"));
}

TEST_CASE("images of an ONNX file are channels first if the options say so") {
  const glia::conv2d convolution{.filters = 4, .kernel_size = 3};
  const glia::model net{sequential{convolution, glia::batch_norm{}, convolution}, {8, 9, 3}};
  const test::temporary_folder scratch;
  const auto path = scratch.path() / "net.onnx";
  glia::write_onnx(net, path, {.channels_first = true});
  const ::onnx::ModelProto message = test::onnx_message_in(path);
  ::onnx::checker::check_model(message);
  CHECK(described(message.graph().input()) == texts{"inputs(N,3,8,9)"});
  CHECK(described(message.graph().output()) == texts{"outputs(N,4,4,5)"});
  CHECK(transposes_in(message) == 0);
  CHECK(transposes_in(glia::onnx::message_of(net, {})) == 2);

  const xt::xarray<float> x = batch_for({8, 9, 3});
  const xt::xarray<float> y = net.predict(x);
  const onnx_model channels_last{path, {.channels_last = true}};
  CHECK(test::distance(outputs_of(channels_last, x), y) == 0);
  const xt::xarray<float> first = xt::transpose(x, {0, 3, 1, 2});
  const xt::xarray<float> y_first = xt::transpose(y, {0, 3, 1, 2});
  CHECK(test::distance(outputs_of(onnx_model{path}, first), y_first) == 0);

  // Sequences and rows keep their order.
  const glia::model steps{glia::conv1d{.filters = 2, .kernel_size = 2}, {5, 3}};
  const auto with_steps = glia::onnx::message_of(steps, {.channels_first = true});
  CHECK(described(with_steps.graph().input()) == texts{"inputs(N,5,3)"});

  const auto python = test::python_with("onnxruntime");
  if (!python) {
    GLIA_SKIP(test::no_python_with("onnxruntime"));
    return;
  }
  CHECK(test::distance(test::run_by("onnxruntime", *python, path, first), y_first) < 1e-5);
}

TEST_CASE("an ONNX file that is read and written again has the same inputs and outputs") {
  const test::temporary_folder scratch;
  const auto path = scratch.path() / "net.onnx";
  const auto copy_path = scratch.path() / "copy.onnx";
  test::write_message(two_inputs().message, path);
  for (const bool channels_last : {false, true}) {
    INFO("channels_last " << channels_last);
    const onnx_model file{path, {.channels_last = channels_last}};
    const glia::model net{file};
    glia::write_onnx(net, copy_path, file.write_options());
    const ::onnx::ModelProto copy = test::onnx_message_in(copy_path);
    ::onnx::checker::check_model(copy);
    CHECK(copy.graph().name() == "two_inputs");
    CHECK(described(copy.graph().input()) == texts{"images(N,3,4,5)", "ages(N,2)"});
    CHECK(described(copy.graph().output()) == texts{"scores(N,2)", "masks(N,2,4,5)"});
    CHECK(transposes_in(copy) == 0);
    CHECK(onnx_model{copy_path}.metadata() == file.metadata());
    const xt::xarray<float> x = batch_for({62});
    CHECK(test::distance(outputs_of(onnx_model{copy_path}, x), outputs_of(onnx_model{path}, x)) <
          1e-6);
    if (const auto python = test::python_with("onnxruntime")) {
      CHECK(test::distance(test::run_by("onnxruntime", *python, copy_path, x),
                           xt::adapt(test::run_by("onnxruntime", *python, path, x))) < 1e-5);
    }
  }

  // The exports of other programs.
  for (const std::string name : {"torch_cnn", "torch_transfer", "keras_cnn", "torch_gru"}) {
    INFO(name);
    const auto source = test::onnx_folder() / (name + ".onnx");
    const auto original = test::onnx_message(name);
    const onnx_model file{source, {.channels_last = true}};
    glia::write_onnx(glia::model{file}, copy_path, file.write_options());
    const ::onnx::ModelProto copy = test::onnx_message_in(copy_path);
    const auto without_batch = [](const texts& lines) {
      texts result;
      for (const std::string& line : lines) {
        const auto begin = line.find('(') + 1;
        result.push_back(line.substr(0, begin) + line.substr(line.find(',')));
      }
      return result;
    };
    CHECK(without_batch(described(copy.graph().input())) ==
          without_batch(described(original.graph().input())));
    CHECK(without_batch(described(copy.graph().output())) ==
          without_batch(described(original.graph().output())));
    const xt::xarray<float> x = batch_for(onnx_model{source}.sample_shape());
    CHECK(test::distance(outputs_of(onnx_model{copy_path}, x), outputs_of(onnx_model{source}, x)) <
          1e-5);
  }
}

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <glia/compression/gzip.hpp>
#include <glia/data/mnist.hpp>
#include <glia/io/npz.hpp>
#include <glia/io/safetensors.hpp>
#include <glia/onnx.hpp>
#include <glia/testing/values.hpp>
#include <set>
#include <string>
#include <vector>
#include <xtensor/xview.hpp>

#include <glia/core/utf8_path.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "messages.hpp"
#include "onnx/models.hpp"
#include "posix.hpp"
#include "temporary_folder.hpp"

using glia::onnx_model;
using glia::sequential;

namespace {

/// The loss before and after some steps towards outputs a little beside those that a model gives.
template <class Model>
std::pair<double, double> losses_of(Model& net, const xt::xarray<float>& x,
                                    const xt::xarray<float>& y) {
  // By a factor, so that probabilities can come closer, too.
  const xt::xarray<float> targets = y * 0.9F;
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::adam{.learning_rate = 1e-4}};
  const auto history =
      trainer.fit(glia::target_arrays{x, targets},
                  {.epochs = 4, .batch_size = x.shape()[0], .shuffle = false, .progress = nullptr});
  return {history.epochs.front().training.loss, history.epochs.back().training.loss};
}

std::vector<std::string> kernels_of(const glia::prepared& ready) {
  std::vector<std::string> names;
  for (const auto& node : ready.calls().nodes()) {
    names.emplace_back(node.kernel.name());
  }
  return names;
}

}  // namespace

TEST_CASE("networks that PyTorch and Keras export give what they gave there, and can be trained") {
  std::size_t count = 0;
  for (const std::string& name : test::onnx_models()) {
    if (name == "torch_attention_opset23") {
      continue;
    }
    INFO(name);
    ++count;
    const auto samples = glia::read_safetensors(test::onnx_folder() / (name + ".safetensors"));
    const xt::xarray<float>& x = samples.at("x");
    const xt::xarray<float>& y = samples.at("y");
    glia::model net{onnx_model{test::onnx_folder() / (name + ".onnx")}};
    const xt::xarray<float> actual = net.predict(x);
    REQUIRE(actual.shape() == y.shape());
    CHECK(test::distance(actual, y) < 1e-5);
    const auto [initial, trained] = losses_of(net, x, y);
    CHECK(trained < initial);
  }
  CHECK(count == 41);
}

TEST_CASE("networks of PyTorch and Keras learn from an epoch of digits") {
  const auto sets = glia::load_mnist(GLIA_EXAMPLE_DATA "/mnist", glia::gzip_files{});
  for (const char* const name : {"torch_mlp", "torch_cnn", "torch_cnn_legacy"}) {
    INFO(name);
    glia::model net{onnx_model{test::onnx_folder() / (std::string(name) + ".onnx")}};
    const auto train = glia::image_bytes(sets.train).reshaped(net.sample_shape());
    const auto unseen = glia::image_bytes(sets.test).reshaped(net.sample_shape());
    const glia::softmax_cross_entropy loss;
    const auto initial = glia::evaluate(net, unseen, loss);
    glia::trainer trainer{net, loss, glia::adam{3e-3}};
    trainer.fit(train, {.epochs = 1, .batch_size = 20, .progress = nullptr});
    const auto trained = glia::evaluate(net, unseen, loss);
    CHECK(trained["loss"] < 0.7 * initial["loss"]);
    CHECK(trained["accuracy"] > initial["accuracy"]);
  }
}

TEST_CASE("recurrent and branched networks of PyTorch and Keras learn from an epoch") {
  for (const char* const name : {"torch_gru", "torch_lstm", "keras_gru", "torch_inception",
                                 "keras_inception", "torch_transfer", "keras_transfer"}) {
    INFO(name);
    glia::model net{onnx_model{test::onnx_folder() / (std::string(name) + ".onnx")}};
    const glia::shape s = glia::batch_of(192, net.sample_shape());
    const xt::xarray<float> x =
        xt::adapt(glia::testing::test_values(s, 9), std::vector<std::size_t>(s.begin(), s.end()));
    const xt::xarray<float> targets = net.predict(x) * 0.9F;
    const glia::target_arrays data{x, targets};
    const glia::mean_squared_error loss;
    glia::trainer trainer{net, loss, glia::adam{.learning_rate = 1e-4}};
    const auto first = trainer.fit(data, {.epochs = 2, .batch_size = 16, .progress = nullptr});
    CHECK(first.epochs[1].training.loss < first.epochs[0].training.loss);
  }
}

TEST_CASE("an ONNX file's network conforms on the reference backend and in double") {
  for (const char* const name : {"torch_cnn", "torch_gru", "torch_transfer_legacy_norms"}) {
    INFO(name);
    const auto samples =
        glia::read_safetensors(test::onnx_folder() / (std::string(name) + ".safetensors"));
    const onnx_model file{test::onnx_folder() / (std::string(name) + ".onnx")};
    const glia::model slow{file, glia::reference<float>{}};
    CHECK(test::distance(slow.predict(samples.at("x")), samples.at("y")) < 1e-5);
    const glia::model wide{file, glia::cpu<double>{}};
    CHECK(test::distance(wide.predict(samples.at("x")), samples.at("y")) < 1e-5);
  }
}

TEST_CASE("a network in ONNX's oldest opset, of one image at a time, takes any number") {
  const std::filesystem::path folder = std::filesystem::path(GLIA_SHARED_DATA) / "mnist_onnx";
  if (!std::filesystem::exists(folder)) {
    GLIA_SKIP("shared/data/mnist_onnx is not there");
  }
  glia::model net{onnx_model{folder / "model.onnx"}};
  CHECK(net.sample_shape() == glia::shape{1, 28, 28});
  CHECK(net.parameter_count() == 5994);
  for (int i = 0; i < 3; ++i) {
    const auto arrays = glia::read_npz(folder / ("test_data_" + std::to_string(i) + ".npz"));
    xt::xarray<float> x = arrays.at("inputs");
    x.reshape({std::size_t{1}, 1, 28, 28});
    const xt::xarray<float>& y = arrays.at("outputs");
    const xt::xarray<float> actual = net.predict(x);
    CHECK(test::distance(actual, y) < 1e-4 * xt::amax(xt::abs(y))());
    const xt::xarray<float> three = net.predict(xt::concatenate(xt::xtuple(x, x * 0.5F, x)));
    CHECK(test::distance(xt::view(three, 2), xt::view(actual, 0)) == 0);
  }
}

TEST_CASE("images of an ONNX file are turned where they come in, and not between") {
  const auto file = [](const char* name) { return test::onnx_folder() / name; };
  const auto count = [](const std::vector<std::string>& kernels) {
    return std::count(kernels.begin(), kernels.end(), "permute_axes");
  };
  const glia::model first{onnx_model{file("torch_transfer.onnx")}};
  CHECK(count(kernels_of(first.prepare({.batch_size = 2}))) == 1);
  const glia::model last{onnx_model{file("torch_transfer.onnx"), {.channels_last = true}}};
  CHECK(last.sample_shape() == glia::shape{16, 16, 3});
  CHECK(count(kernels_of(last.prepare({.batch_size = 2}))) == 0);
  const auto samples = glia::read_safetensors(file("torch_transfer.safetensors"));
  const xt::xarray<float> x = xt::transpose(samples.at("x"), {0, 2, 3, 1});
  CHECK(test::distance(last.predict(x), samples.at("y")) < 1e-5);
}

TEST_CASE("weights of an ONNX file have glia's order, and the names that they have there") {
  const glia::model net{onnx_model{test::onnx_folder() / "torch_cnn_legacy.onnx"}};
  std::set<std::string> names;
  for (const auto& p : net.parameters()) {
    names.insert(p.spec.name);
  }
  CHECK(names == std::set<std::string>{"0.weight", "0.bias", "3.weight", "3.bias", "7.weight",
                                       "7.bias", "10.weight", "10.bias"});
  CHECK(net.get("0.weight").shape() == xt::xarray<float>::shape_type{5, 5, 1, 8});
  CHECK(test::contains(net.summary(), "Conv 5x5"));
}

TEST_CASE("the features of an ONNX file's network carry another head") {
  const onnx_model features{test::onnx_folder() / "torch_transfer_legacy_norms.onnx",
                            {.channels_last = true, .outputs = {"/4/GlobalAveragePool_output_0"}}};
  const auto samples =
      glia::read_safetensors(test::onnx_folder() / "torch_transfer_legacy_norms.safetensors");
  const xt::xarray<float> x = xt::transpose(samples.at("x"), {0, 2, 3, 1});
  glia::model net{sequential{glia::frozen{features}, glia::flatten{}, glia::dense{3}}};
  REQUIRE(net.frozen_output_shape().has_value());
  const auto initial = test::parameters_of(net);
  const xt::xarray<float> y = xt::ones<float>({x.shape()[0], std::size_t{3}});
  const auto [first, last] = losses_of(net, x, y);
  CHECK(last < first);
  const auto trained = test::parameters_of(net);
  REQUIRE(initial.size() == trained.size());
  const std::size_t head = 3 * net.get("dense_0.kernel").shape()[0] + 3;
  CHECK(std::equal(initial.begin(), initial.end() - static_cast<std::ptrdiff_t>(head),
                   trained.begin()));
  CHECK_FALSE(std::equal(initial.end() - static_cast<std::ptrdiff_t>(head), initial.end(),
                         trained.end() - static_cast<std::ptrdiff_t>(head)));
}

TEST_CASE("batch normalizations of an ONNX file follow the batches that it is trained on") {
  glia::model net{onnx_model{test::onnx_folder() / "torch_transfer_legacy_norms.onnx"}};
  const auto samples =
      glia::read_safetensors(test::onnx_folder() / "torch_transfer_legacy_norms.safetensors");
  std::size_t statistics = 0;
  std::vector<std::pair<std::string, xt::xarray<float>>> initial;
  for (const auto& p : net.parameters()) {
    if (!p.spec.trainable) {
      initial.emplace_back(p.spec.name, net.get(p.spec.name));
    }
  }
  static_cast<void>(losses_of(net, samples.at("x"), samples.at("y")));
  for (const auto& [name, values] : initial) {
    INFO(name);
    CHECK(test::distance(net.get(name), values) > 0);
    ++statistics;
  }
  CHECK(statistics == 16);
}

TEST_CASE("what an ONNX file's network does in training is what is predicted, without batches") {
  // Gradients through recurrences that the cpu has a kernel for, and step by step.
  const onnx_model file{test::onnx_folder() / "torch_gru.onnx"};
  const auto samples = glia::read_safetensors(test::onnx_folder() / "torch_gru.safetensors");
  glia::model fast{file};
  glia::model slow{file, glia::reference<float>{}};
  const auto a = losses_of(fast, samples.at("x"), samples.at("y"));
  const auto b = losses_of(slow, samples.at("x"), samples.at("y"));
  CHECK(a.second == Approx(b.second).epsilon(1e-4));
}

TEST_CASE("ONNX files that glia does not read are told of by name") {
  const auto reading = [](const std::filesystem::path& path) {
    return test::message_of<glia::data_error>([&] { glia::model net{onnx_model{path}}; });
  };
  CHECK(test::contains(reading("/nowhere/net.onnx"), "/nowhere/net.onnx"));
  CHECK(test::contains(reading(test::onnx_folder()), "is a folder"));
  const std::string newer = reading(test::onnx_folder() / "torch_attention_opset23.onnx");
  CHECK(test::contains(newer, "opset 23"));
  CHECK(test::contains(newer, "to 21"));

  const test::temporary_folder scratch;
  const auto message_with = [&](const std::function<void(::onnx::ModelProto&)>& change) {
    ::onnx::ModelProto message = test::onnx_message("torch_mlp");
    change(message);
    test::write_message(message, scratch.path() / "changed.onnx");
    return reading(scratch.path() / "changed.onnx");
  };
  const std::string missing = message_with([](auto& m) {
    m.mutable_graph()->mutable_node(1)->set_op_type("TopK");
    m.mutable_graph()->mutable_node(3)->set_op_type("Einsum");
  });
  CHECK(test::contains(missing, "changed.onnx"));
  CHECK(test::contains(missing, "glia does not support the operator 'TopK' (opset 20)"));
  CHECK(test::contains(missing, "1 other operators are not supported either: Einsum"));
  CHECK(test::contains(
      message_with([](auto& m) { m.mutable_graph()->mutable_node(1)->set_input(0, "ghost"); }),
      "has the input 'ghost', which no earlier node computes"));
  CHECK(test::contains(
      message_with([](auto& m) { m.mutable_graph()->mutable_initializer(0)->add_dims(7); }),
      "bytes; expected"));
  CHECK(test::contains(message_with([](auto& m) { m.mutable_graph()->clear_input(); }),
                       "has no input"));
}

TEST_CASE("samples of another shape than an ONNX file's are told of") {
  const auto path = test::onnx_folder() / "torch_cnn.onnx";
  const std::string message = test::message_of<glia::shape_error>([&] {
    glia::model net{onnx_model{path}, {28, 28, 1}};
  });
  CHECK(test::contains(message, "takes samples (1, 28, 28), got (28, 28, 1)"));
  CHECK(test::contains(message, "channels_last"));
}

TEST_CASE("a network is read from the bytes of an ONNX file") {
  const glia::model net{sequential{glia::dense{4, glia::relu}, glia::dense{2}}, {3}};
  const test::temporary_folder scratch;
  const auto path = scratch.path() / "net.onnx";
  glia::write_onnx(net, path);
  auto bytes = test::file_content<std::vector<std::uint8_t>>(path);
  const glia::model read{onnx_model{bytes}, {3}};
  const xt::xarray<float> x{{1, 2, 3}, {-1, 0.5F, 2}};
  CHECK((read.predict(x) == net.predict(x)));
  CHECK(onnx_model{bytes}.description() == "onnx_model(bytes in memory)");
  bytes.resize(bytes.size() / 2);
  CHECK(test::message_of<glia::data_error>([&] { onnx_model file{bytes}; }) ==
        "bytes in memory: is not an ONNX model or is damaged, because its content cannot be "
        "parsed");
  const auto external = test::file_content<std::vector<std::uint8_t>>(
      test::onnx_folder() / "torch_embedding_external.onnx");
  CHECK(test::contains(test::message_of<glia::data_error>([&] { onnx_model file{external}; }),
                       "but a model in memory has no folder; write the weights into the model"));
}

TEST_CASE("weights in a file beside the model are read there, and nowhere else") {
  const test::temporary_folder scratch;
  const std::string name = "torch_embedding_external.onnx";
  for (const char* const end : {"", ".data"}) {
    std::filesystem::copy(test::onnx_folder() / (name + end), scratch.path() / (name + end));
  }
  const auto reading = [&] {
    return test::message_of<glia::data_error>([&] { onnx_model file{scratch.path() / name}; });
  };
  CHECK(reading().empty());
  std::filesystem::resize_file(scratch.path() / (name + ".data"), 100);
  CHECK(test::contains(reading(), "0.weight"));
  std::filesystem::remove(scratch.path() / (name + ".data"));
  CHECK(test::contains(reading(), name + ".data"));
  ::onnx::ModelProto message = test::onnx_message("torch_embedding_external");
  for (auto& initializer : *message.mutable_graph()->mutable_initializer()) {
    for (auto& entry : *initializer.mutable_external_data()) {
      if (entry.key() == "location") {
        entry.set_value("../../etc/passwd");
      }
    }
  }
  test::write_message(message, scratch.path() / name);
  CHECK(test::contains(reading(), "expected a file in the folder of the model"));

  const auto reading_from = [&](const std::string& location) {
    for (auto& initializer : *message.mutable_graph()->mutable_initializer()) {
      for (auto& entry : *initializer.mutable_external_data()) {
        if (entry.key() == "location") {
          entry.set_value(location);
        }
      }
    }
    test::write_message(message, scratch.path() / name);
    return reading();
  };
  const std::string letters = "größe 数字.data";
  std::filesystem::copy(test::onnx_folder() / (name + ".data"),
                        scratch.path() / glia::detail::utf8_path(letters));
  CHECK(reading_from(letters).empty());
#if GLIA_TEST_HAS_POSIX
  const test::temporary_folder other;
  const std::string data = name + ".data";
  std::filesystem::copy(test::onnx_folder() / data, other.path() / data);
  std::filesystem::create_symlink(other.path() / data, scratch.path() / "link");
  std::filesystem::create_directory_symlink(other.path(), scratch.path() / "folder");
  CHECK(test::contains(reading_from("link"), "leads out of the folder of the model"));
  CHECK(test::contains(reading_from("folder/" + data), "leads out of the folder of the model"));
  // Links inside of it are as good as files; a pipe is not waited for.
  std::filesystem::create_directory(scratch.path() / "inner");
  std::filesystem::copy(test::onnx_folder() / data, scratch.path() / "inner" / data);
  std::filesystem::create_symlink(scratch.path() / "inner" / data, scratch.path() / "near");
  CHECK(reading_from("near").empty());
  REQUIRE(mkfifo((scratch.path() / "pipe").c_str(), 0600) == 0);
  CHECK(test::contains(reading_from("pipe"), "is not a regular file"));
  CHECK(test::contains(reading_from("inner"), "is not a regular file"));
  // A model that is itself a link, as caches of downloads have them, with its weights beside it.
  std::filesystem::create_directory(other.path() / "cache");
  std::filesystem::create_symlink(scratch.path() / name, other.path() / "cache" / "model.onnx");
  std::filesystem::create_symlink(scratch.path() / "inner" / data, other.path() / "cache" / "near");
  CHECK(reading_from("near").empty());
  CHECK(test::message_of<glia::data_error>([&] {
          onnx_model file{other.path() / "cache" / "model.onnx"};
        }).empty());
#else
  for (const char* location :
       {"C:/data", "C:data", "\\data", "\\\\server\\data", "a\\..\\..\\data"}) {
    CAPTURE(location);
    CHECK(test::contains(reading_from(location), "expected a file in the folder of the model"));
  }
#endif
}

TEST_CASE("float16 weights of an ONNX file are the numbers that they stand for") {
  ::onnx::ModelProto message = test::onnx_message("torch_mlp");
  for (auto& initializer : *message.mutable_graph()->mutable_initializer()) {
    if (initializer.data_type() == ::onnx::TensorProto::FLOAT) {
      const std::vector<float> numbers = glia::onnx::floats_of({&initializer, {}});
      std::string bytes;
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        bytes += std::string("\0\x3C", 2);  // 1
      }
      initializer.set_data_type(::onnx::TensorProto::FLOAT16);
      initializer.set_raw_data(bytes);
    }
  }
  const test::temporary_folder scratch;
  test::write_message(message, scratch.path() / "half.onnx");
  const glia::model net{onnx_model{scratch.path() / "half.onnx"}};
  const xt::xarray<float> y = net.predict(xt::xarray<float>(xt::ones<float>({1, 1, 28, 28})));
  CHECK(y(0, 0) == (784 + 1) * 24 + 1);
}

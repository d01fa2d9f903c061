#include <onnx/checker.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <glia/onnx.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "messages.hpp"
#include "onnx/other_runtimes.hpp"
#include "run_python.hpp"
#include "temporary_folder.hpp"

namespace {

::onnx::ModelProto read_message(const std::filesystem::path& path) {
  ::onnx::ModelProto message;
  std::ifstream file(path, std::ios::binary);
  REQUIRE(message.ParseFromIstream(&file));
  return message;
}

std::vector<std::string> operations_of(const ::onnx::ModelProto& message) {
  std::vector<std::string> result;
  for (const auto& node : message.graph().node()) {
    result.push_back(node.op_type());
  }
  return result;
}

xt::xarray<float> drawn(const glia::shape& s, std::size_t integers) {
  xt::xarray<float> x = xt::zeros<float>(std::vector<std::size_t>(s.begin(), s.end()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double number =
        glia::detail::random_bits({.seed = 9}, static_cast<std::uint32_t>(i)) * 0x1p-32;
    x.data()[i] = static_cast<float>(
        integers > 0 ? std::floor(number * static_cast<double>(integers)) : 2 * number - 1);
  }
  return x;
}

const std::optional<std::string>& python_with_runtime() {
  static const auto python = test::python_with("onnxruntime");
  return python;
}

/// A model as a file, which ONNX's checker accepts, glia reads again to the same bits, and ONNX
/// Runtime, where it is there, runs to the same numbers, for batches of several sizes.
template <class Description>
void check_written(const std::string& name, const Description& description,
                   const glia::shape& sample, std::size_t integers = 0,
                   double largest_distance = 0) {
  INFO(name);
  const auto& python = python_with_runtime();
  const test::temporary_folder scratch;
  glia::model net{description, sample, glia::cpu<float>{}, {.seed = 3}};
  for (auto& p : net.parameters()) {  // such as statistics, which begin as 0 and 1
    std::vector<float> numbers(p.spec.shape.size());
    net.device().to_host(p.value, std::span<float>(numbers));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] += 0.1F + 0.05F * static_cast<float>(i % 3);
    }
    p.value = net.device().from_host(std::span<const float>(numbers), p.spec.shape);
  }
  const auto file = scratch.path() / "net.onnx";
  glia::write_onnx(net, file);
  ::onnx::checker::check_model(read_message(file));
  const glia::model reread{glia::onnx_model{file}};
  for (const std::size_t rows : {5U, 1U}) {
    const xt::xarray<float> x = drawn(glia::batch_of(rows, sample), integers);
    const xt::xarray<float> y = net.predict(x);
    const xt::xarray<float> read_again = reread.predict(x);
    REQUIRE(read_again.shape() == y.shape());
    CHECK(test::distance(read_again, y) <= largest_distance);
    if (!python) {
      continue;
    }
    const std::vector<float> other = test::run_by("onnxruntime", *python, file, x);
    REQUIRE(other.size() == y.size());
    float largest = 0;
    for (std::size_t i = 0; i < other.size(); ++i) {
      largest = std::max(largest, std::abs(other[i] - y.data()[i]) / (1 + std::abs(y.data()[i])));
    }
    CHECK(largest < 1e-5F);
  }
}

}  // namespace

using glia::sequential;

TEST_CASE("models are written as ONNX files that ONNX Runtime runs to the same numbers") {
  const glia::conv2d convolution{
      .filters = 4, .kernel_size = 3, .padding = glia::same, .activation = glia::relu};
  check_written(
      "convolutions",
      sequential{convolution, glia::batch_norm{}, glia::max_pool2d{},
                 glia::conv2d{.filters = 6, .kernel_size = 3, .strides = 2, .padding = glia::same},
                 glia::flatten{}, glia::dropout{0.2}, glia::dense{5, glia::relu},
                 glia::layer_norm{}, glia::softmax},
      {12, 13, 3});
  check_written(
      "branches",
      sequential{
          glia::parallel{
              glia::conv2d{.filters = 3, .kernel_size = 1},
              sequential{glia::avg_pool2d{.pool_size = 3, .strides = 1, .padding = glia::same},
                         convolution}},
          glia::separable_conv2d{.filters = 4, .kernel_size = 3},
          glia::conv2d_transpose{.filters = 2, .kernel_size = 3, .strides = 2}, glia::flatten{}},
      {8, 9, 3});
  check_written("residual",
                sequential{glia::residual{sequential{
                               glia::conv2d{.filters = 4, .kernel_size = 3, .padding = glia::same},
                               glia::group_norm{2}}},
                           glia::global_avg_pool2d{}, glia::dense{3, glia::silu}},
                {8, 7, 4}, 0, 1e-6);  // channels are read group by group, and summed in that order
  check_written("sequences",
                sequential{glia::gru{.units = 6, .return_sequences = true},
                           glia::bidirectional(glia::lstm{.units = 5, .return_sequences = true}),
                           glia::simple_rnn{.units = 4}, glia::dense{2}},
                {4, 3});
  check_written("steps of recurrences",
                sequential{glia::gru{.units = 4, .return_sequences = true, .reset_after = false},
                           glia::lstm{.units = 3, .activation = glia::relu}},
                {4, 3});
  // Read again, these are steps, and not the kernel for all of them.
  check_written(
      "masked steps",
      sequential{glia::lambda{"cut",
                              [](auto x) {
                                return x * (x.device().run(
                                               kernels::binary{glia::binary_function::greater},
                                               x.value(), x.device().run(kernels::full{{}, -0.2})));
                              }},
                 glia::masking{}, glia::gru{.units = 6, .return_sequences = true},
                 glia::lstm{.units = 5, .return_sequences = true, .go_backwards = true},
                 glia::simple_rnn{.units = 3}, glia::dense{2}},
      {7, 1}, 0, 1e-6);
  check_written("normalizations",
                sequential{glia::dense{4}, glia::batch_norm{}, glia::reshape{{2, 2}},
                           glia::batch_norm{.scale = false}, glia::flatten{}},
                {3});
  check_written("attention",
                sequential{glia::positional_encoding{},
                           glia::multi_head_attention{.num_heads = 2, .key_dim = 4},
                           glia::layer_norm{}, glia::global_avg_pool1d{}},
                {4, 8}, 0, 1e-6);
  check_written("causal attention",
                glia::multi_head_attention{.num_heads = 3,
                                           .key_dim = 4,
                                           .value_dim = 5,
                                           .use_causal_mask = true,
                                           .use_rotary_embedding = true},
                {5, 8}, 0, 1e-6);
  check_written("words",
                sequential{glia::embedding{7, 4}, glia::conv1d{.filters = 3, .kernel_size = 2},
                           glia::flatten{}, glia::dense{2, glia::gelu}},
                {6}, 7);
  const glia::inputs columns{
      glia::input{"numbers", {2}, glia::standardize{.missing_indicator = true}},
      glia::input{"class", {1}, glia::one_hot{.num_classes = 4, .ignore_unknown = true}},
      glia::input{"day", {1}, glia::periodic_encoding{7}}};
  check_written("columns of a table", sequential{columns, glia::dense{3}}, {4}, 5);
  check_written("missing values",
                sequential{glia::lambda{"sqrt", [](auto x) { return glia::ops::sqrt(x); }},
                           glia::standardize{.missing_indicator = true}},
                {5});
  check_written("a unit of targets", sequential{glia::dense{3}, glia::standardize{.invert = true}},
                {5});
  check_written(
      "volumes",
      sequential{glia::conv3d{.filters = 4, .kernel_size = {2, 3, 3}, .padding = glia::same},
                 glia::max_pool3d{}, glia::flatten{}, glia::dense{2}},
      {4, 5, 6, 2});
  check_written("largest values and sums of steps",
                sequential{glia::lambda{"cumsum", [](auto x) { return glia::ops::cumsum(x, 1); }},
                           glia::lambda{"max", [](auto x) { return glia::ops::max(x, {1}); }}},
                {5, 3});
  check_written("of one's own",
                sequential{glia::dense{4}, glia::lambda{"halve", [](auto x) { return x * 0.5; }}},
                {3});
  check_written("axes in another order",
                sequential{glia::conv2d{.filters = 4, .kernel_size = 3},
                           glia::lambda{"turn",
                                        [](auto x) {
                                          return glia::ops::permute(x, {0, 2, 3, 1});
                                        }},
                           glia::conv2d{.filters = 2, .kernel_size = 3}, glia::flatten{}},
                {8, 9, 3});
  if (!python_with_runtime()) {
    GLIA_SKIP(test::no_python_with("onnxruntime"));
  }
}

TEST_CASE("activations are written as ONNX's, to the same numbers") {
  const auto check = [](const std::string& name, glia::activation activation) {
    check_written(name, sequential{glia::dense{4, activation}}, {3});
  };
  check("elu", glia::elu);
  check("gelu", glia::gelu);
  check("leaky relu", glia::leaky_relu);
  check("relu6", glia::relu6);
  check("sigmoid", glia::sigmoid);
  check("swish", glia::silu);
  check("tanh", glia::tanh);
  if (!python_with_runtime()) {
    GLIA_SKIP(test::no_python_with("onnxruntime"));
  }
}

TEST_CASE("images in an ONNX file stay channels first from one convolution to the next") {
  const glia::conv2d convolution{.filters = 4, .kernel_size = 3, .activation = glia::relu};
  glia::model net{sequential{convolution, glia::batch_norm{}, glia::max_pool2d{}, convolution,
                             glia::global_avg_pool2d{}, glia::dense{5}},
                  {20, 20, 3}};
  const auto message = glia::onnx::message_of(net, {});
  const auto operations = operations_of(message);
  CHECK(std::count(operations.begin(), operations.end(), "Transpose") == 1);
  CHECK(std::count(operations.begin(), operations.end(), "Conv") == 2);
}

TEST_CASE("an ONNX file has the names of parameters and layers, any batch, and metadata") {
  glia::model net{sequential{glia::named{"first", glia::dense{4, glia::relu}}, glia::dense{2}},
                  {3}};
  const auto message =
      glia::onnx::message_of(net, {.name = "digits", .metadata = {{"classes", "even odd"}}});
  CHECK(message.graph().name() == "digits");
  REQUIRE(message.metadata_props_size() == 1);
  CHECK(message.metadata_props(0).key() == "classes");
  CHECK(message.metadata_props(0).value() == "even odd");
  CHECK(message.opset_import(0).version() == 17);
  std::set<std::string> weights;
  for (const auto& initializer : message.graph().initializer()) {
    weights.insert(initializer.name());
  }
  CHECK(weights ==
        std::set<std::string>{"first.kernel", "first.bias", "dense_0.kernel", "dense_0.bias"});
  CHECK(message.graph().node(0).name() == "first/Gemm");
  REQUIRE(message.graph().input_size() == 1);
  const auto& shape = message.graph().input(0).type().tensor_type().shape();
  CHECK(shape.dim(0).dim_param() == "N");
  CHECK(shape.dim(1).dim_value() == 3);
  CHECK(message.graph().output(0).type().tensor_type().shape().dim(1).dim_value() == 2);
}

TEST_CASE("numbers that print alike are different ones in an ONNX file") {
  const glia::model net{
      sequential{glia::lambda{"scale", [](auto x) { return x * 0.7071067 + x * 0.7071071; }}}, {3}};
  const auto message = glia::onnx::message_of(net, {});
  std::set<float> numbers;
  for (const auto& initializer : message.graph().initializer()) {
    REQUIRE(initializer.raw_data().size() == sizeof(float));
    float number = 0;
    std::copy(initializer.raw_data().begin(), initializer.raw_data().end(),
              reinterpret_cast<char*>(&number));
    numbers.insert(number);
  }
  CHECK(numbers == std::set<float>{0.7071067F, 0.7071071F});
}

TEST_CASE(
    "batch normalization keeps its parameters in an ONNX file, and constants are no weights") {
  glia::model net{sequential{glia::conv2d{.filters = 3, .kernel_size = 3}, glia::batch_norm{},
                             glia::flatten{}, glia::reshape{{27, 1}}, glia::positional_encoding{}},
                  {5, 5, 2}};
  const test::temporary_folder scratch;
  glia::write_onnx(net, scratch.path() / "net.onnx");
  const glia::model reread{glia::onnx_model{scratch.path() / "net.onnx"}};
  std::vector<std::string> names;
  std::vector<std::string> read;
  for (const auto& p : net.parameters()) {
    names.push_back(p.spec.name + (p.spec.trainable ? "" : ", not trained"));
  }
  for (const auto& p : reread.parameters()) {
    read.push_back(p.spec.name + (p.spec.trainable ? "" : ", not trained"));
    CHECK(test::distance(reread.get(p.spec.name), net.get(p.spec.name)) == 0);
  }
  CHECK(names == read);
}

TEST_CASE(
    "weights of a large model lie beside its ONNX file, and take the place of older ones whole") {
  const test::temporary_folder scratch;
  const auto path = scratch.path() / "net.onnx";
  const xt::xarray<float> x = xt::ones<float>({2, 30});
  const auto files = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch.path())) {
      names.insert(entry.path().filename().string());
    }
    return names;
  };
  const auto check = [&](std::uint64_t seed, std::size_t largest,
                         const std::set<std::string>& expected) {
    const glia::model net{
        sequential{glia::dense{40}, glia::dense{2}}, {30}, glia::cpu<float>{}, {.seed = seed}};
    glia::write_onnx(net, path, {.max_file_bytes = largest});
    CHECK(files() == expected);
    ::onnx::checker::check_model(path.string());
    CHECK(test::distance(glia::model{glia::onnx_model{path}}.predict(x), net.predict(x)) == 0);
  };
  check(1, 1000, {"net.onnx", "net.onnx.data"});
  // The old file's weights are there until the new one has its name.
  check(2, 1000, {"net.onnx", "net.onnx.data2"});
  check(3, 1000, {"net.onnx", "net.onnx.data"});
  check(4, 1 << 20, {"net.onnx"});
  CHECK(std::filesystem::file_size(path) > 4800);
}

TEST_CASE("large weights beside an ONNX file are used where they lie, and changed elsewhere") {
  const test::temporary_folder scratch;
  const auto path = scratch.path() / "net.onnx";
  constexpr std::size_t weights = 200 * 300 * sizeof(float);
  const glia::model original{
      sequential{glia::dense{300}, glia::relu, glia::dense{2}}, {200}, glia::cpu<float>{}};
  glia::write_onnx(original, path, {.max_file_bytes = 1000});
  const auto data_file = scratch.path() / "net.onnx.data";
  const std::string content = test::file_content(data_file);
  const xt::xarray<float> x = drawn({6, 200}, 0);

  const glia::onnx_model file{path};
  const glia::cpu<float> device;
  glia::model net{file, {200}, device};
  CHECK(net.predict(x).shape() == original.predict(x).shape());
  const glia::cpu<float> other_device;
  const glia::model same{file, {200}, other_device};
  CHECK(other_device.memory().reserved_bytes() < weights);
  CHECK(test::distance(same.predict(x), original.predict(x)) == 0);

  const xt::xarray<float> y = xt::ones<float>({6, 2});
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.1}};
  trainer.fit(glia::target_arrays{x, y}, {.epochs = 2, .batch_size = 3, .progress = nullptr});
  CHECK(test::distance(net.predict(x), original.predict(x)) > 0.01);
  CHECK(test::distance(same.predict(x), original.predict(x)) == 0);
  CHECK(test::file_content(data_file) == content);

  // A file that takes the other's place leaves what is used alone.
  glia::write_onnx(net, path, {.max_file_bytes = 1000});
  CHECK_FALSE(std::filesystem::exists(data_file));
  CHECK(test::distance(same.predict(x), original.predict(x)) == 0);
  CHECK(test::distance(glia::model{glia::onnx_model{path}}.predict(x), net.predict(x)) == 0);
}

TEST_CASE("what a program has to know of a network is kept in its ONNX file") {
  const glia::model_info info{.class_names = {"a rose", "", "tulip"},
                              .mean = {0.485F, 0.456F, 0.406F},
                              .std = {0.229F, 0.224F, 0.1F},
                              .crop = true,
                              .seed = 18446744073709551615U,
                              .accuracy = 0.1,
                              .description = "of flowers"};
  const test::temporary_folder scratch;
  const glia::model net{glia::dense{3}, {2}};
  std::map<std::string, std::string> metadata = info.to_metadata();
  metadata["license"] = "free";
  glia::write_onnx(net, scratch.path() / "net.onnx", {.metadata = metadata});
  const auto read = glia::onnx_model{scratch.path() / "net.onnx"}.metadata();
  CHECK(read == metadata);
  CHECK(glia::model_info::from_metadata(read) == info);

  CHECK(glia::model_info{}.to_metadata().empty());
  CHECK(glia::model_info::from_metadata({}) == glia::model_info{});
  CHECK_THROWS_AS(glia::model_info{.class_names = {"a\nb"}}.to_metadata(), glia::value_error);
  const std::map<std::string, std::string> unreadable{
      {"mean", "0 1"}, {"std", "1 0 1"}, {"seed", "-1"}, {"accuracy", "good"}};
  for (const auto& entry : unreadable) {
    INFO(entry.first);
    const std::string message = test::message_of<glia::data_error>(
        [&] { static_cast<void>(glia::model_info::from_metadata({entry})); });
    CHECK(test::contains(message, "'" + entry.first + "' is '" + entry.second + "'"));
  }
}

TEST_CASE("a layer that ONNX has no counterpart for is told by name, and nothing is written") {
  const test::temporary_folder scratch;
  const auto scattered = [](auto x) {
    const auto rows = glia::ops::reshape(x, {x.shape()[0]});
    const auto indices = x.device().run(kernels::to_index{}, rows.value());
    return glia::ops::gather(glia::ops::segment_sum(x, indices, 3), indices);
  };
  const glia::model net{sequential{glia::lambda{"scattered", scattered}}, {1}};
  const std::string message = test::message_of<glia::value_error>(
      [&] { glia::write_onnx(net, scratch.path() / "net.onnx"); });
  CHECK(test::contains(message, "lambda_0"));
  CHECK(test::contains(message, "scatter_add"));
  CHECK_FALSE(std::filesystem::exists(scratch.path() / "net.onnx"));
}

TEST_CASE("numbers that depend on how many samples there are cannot be written as ONNX") {
  const test::temporary_folder scratch;
  const auto path = scratch.path() / "net.onnx";
  const auto message_for = [&](const auto& layer) {
    const glia::model net{sequential{layer}, {3}};
    return test::message_of<glia::value_error>([&] { glia::write_onnx(net, path); });
  };
  const char* const says = "computes with numbers that depend on the batch size";
  const std::string of_mean =
      message_for(glia::lambda{"center", [](auto x) { return x - glia::ops::mean(x); }});
  CHECK(test::contains(of_mean, says));
  CHECK(test::contains(of_mean, "lambda_0"));
  CHECK(test::contains(message_for(glia::lambda{"share",
                                                [](auto x) {
                                                  const auto count =
                                                      static_cast<double>(x.shape()[0]);
                                                  return x * (1 / count);
                                                }}),
                       says));
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("numbers that are NaN are the same for any number of samples in an ONNX file") {
  const test::temporary_folder scratch;
  const auto path = scratch.path() / "net.onnx";
  const auto check = [&](const auto& layer) {
    glia::write_onnx(glia::model{sequential{layer}, {3}}, path);
    const xt::xarray<float> y =
        glia::model{glia::onnx_model{path}}.predict(xt::xarray<float>(xt::ones<float>({2, 3})));
    CHECK(std::isnan(y(0, 0)));
    CHECK(std::isnan(y(1, 2)));
  };
  check(glia::lambda{"odd", [](auto x) {
                       const std::vector<double> odd{std::nan(""), 1, std::nan("")};
                       return x + x.owner().constant(
                                      x.device().from_host(std::span<const double>(odd), {3}));
                     }});
  check(glia::lambda{
      "full", [](auto x) {
        return x + x.owner().constant(x.device().run(kernels::full{{3}, std::nan("")}));
      }});
}

TEST_CASE("an rms_norm is written without the beta that it does not have") {
  const test::temporary_folder scratch;
  const auto path = scratch.path() / "net.onnx";
  glia::write_onnx(glia::model{sequential{glia::rms_norm{}}, {3}}, path);
  std::set<std::string> used;
  const ::onnx::ModelProto message = read_message(path);
  for (const auto& node : message.graph().node()) {
    used.insert(node.input().begin(), node.input().end());
  }
  for (const auto& initializer : message.graph().initializer()) {
    INFO(initializer.name());
    CHECK(used.contains(initializer.name()));
  }
}

TEST_CASE("an ONNX file that was written for any batch is read for a single sample") {
  const auto check = [](const std::string& name, const auto& description) {
    check_written(name, description, {7, 4}, 0, 1e-6);
  };
  check("rms_norm", sequential{glia::simple_rnn{.units = 8}, glia::rms_norm{}, glia::dense{3}});
  check("group_norm", sequential{glia::gru{.units = 8}, glia::group_norm{1}});
  check("norms of steps",
        sequential{glia::lstm{.units = 8}, glia::layer_norm{}, glia::rms_norm{}, glia::dense{3}});
}

TEST_CASE("two directions are one node of an ONNX file however they are joined") {
  const auto check = [](const std::string& name, const auto& description) {
    check_written(name, description, {5, 3}, 0, 1e-6);
    const test::temporary_folder scratch;
    glia::write_onnx(glia::model{description, {5, 3}}, scratch.path() / "net.onnx");
    const auto operations = operations_of(read_message(scratch.path() / "net.onnx"));
    CHECK(std::count(operations.begin(), operations.end(), "GRU") == 1);
  };
  const glia::gru sequences{.units = 4, .return_sequences = true};
  check("added", glia::bidirectional(sequences, glia::join::add{}));
  check("multiplied", glia::bidirectional(sequences, glia::join::multiply{}));
  check("the last steps", sequential{glia::bidirectional(glia::gru{.units = 4}), glia::dense{2}});
}

TEST_CASE("axes in pieces meet others in other pieces in an ONNX file") {
  const auto rnn = glia::simple_rnn{.units = 7, .return_sequences = true};
  const auto check = [](const std::string& name, const auto& description) {
    check_written(name, glia::time_distributed{description}, {4, 2, 3}, 0, 1e-6);
  };
  check("residual of a recurrence",
        glia::residual{sequential{rnn, glia::conv1d{.filters = 3, .kernel_size = 1}}});
  check("with positions", glia::residual{sequential{rnn, glia::positional_encoding{},
                                                    glia::conv1d{.filters = 3, .kernel_size = 1}}});
  check("joined", glia::parallel{glia::join::add{}, glia::identity{},
                                 sequential{rnn, glia::conv1d{.filters = 3, .kernel_size = 1}}});
}

TEST_CASE("axes in more pieces than a tensor has are put together in an ONNX file") {
  // Upsampling leaves six pieces, beside which another operand has an axis of extent 1.
  check_written(
      "upsampled rows",
      sequential{glia::upsample2d{.size = 2},
                 glia::time_distributed{sequential{
                     glia::reshape{{12, 1}}, glia::parallel{glia::join::add{}, glia::identity{},
                                                            glia::frozen{glia::batch_norm{}}}}}},
      {3, 2, 3}, 0, 1e-6);
}

TEST_CASE("an ONNX file that cannot be written is told of") {
  const glia::model net{sequential{glia::dense{2}}, {3}};
  CHECK(test::contains(
      test::message_of<glia::data_error>([&] { glia::write_onnx(net, "/nowhere/net.onnx"); }),
      "/nowhere/net.onnx"));
}

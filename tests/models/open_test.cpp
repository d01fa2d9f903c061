#include <glia/models/model_file.hpp>
#include <glia/models/open.hpp>
#include <glia/models/stream.hpp>
#include <glia/models/zoo/gpt.hpp>
#include <glia/models/zoo/mobilenet_v2.hpp>
#include <glia/models/zoo/resnet_v2.hpp>
#include <glia/models/zoo/u_net.hpp>
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "damage.hpp"
#include "helpers.hpp"
#include "temporary_folder.hpp"

using test::contains;
using test::message_of;

namespace {

/// Returns the layer that a file with this description has.
glia::any_layer read_back(const std::string& description,
                          const std::vector<glia::layer_type>& types = {}) {
  return glia::detail::read_network("f", {{"glia.network", description}}, types).layers;
}

/// The error for a description with this layer.
std::string error_of(const std::string& layer, const std::vector<glia::layer_type>& types = {}) {
  return message_of<glia::data_error>([&] {
    static_cast<void>(read_back(R"({"version":1,"sample":[4],"layer":)" + layer + "}", types));
  });
}

/// A number for each element that differs from its neighbors.
xt::xarray<float> samples_of(const glia::shape& sample, std::size_t count = 3) {
  const glia::shape batch = glia::batch_of(count, sample);
  xt::xarray<float> x(std::vector<std::size_t>(batch.begin(), batch.end()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.flat(i) = static_cast<float>(i * 7 % 11) / 4 - 1;
  }
  return x;
}

/// Saves a model of random parameters, opens the file, and compares all.
template <class Layers>
void check_file(const Layers& layers, const glia::shape& sample,
                const std::vector<glia::layer_type>& types = {}) {
  const test::temporary_folder folder;
  const auto path = folder.path() / "net.safetensors";
  const glia::model saved{layers, sample, glia::cpu({.threads = 1}), {.seed = 3}};
  glia::save(saved, path);
  const auto opened = glia::open(path, {.device = glia::cpu({.threads = 1}), .layers = types});
  CHECK(opened.plan().description == saved.plan().description);
  CHECK(opened.summary() == saved.summary());
  CHECK(opened.sample_shape() == sample);
  const auto x = samples_of(sample);
  CHECK((opened.predict(x) == saved.predict(x)));
  const glia::model<glia::any_layer> copy(opened);  // clang once searched for layers without an end
  CHECK((copy.predict(x) == opened.predict(x)));
  // The opened model is saved as the same bytes.
  const auto again = folder.path() / "again.safetensors";
  glia::save(opened, again);
  CHECK(test::file_content<std::string>(again) == test::file_content<std::string>(path));
}

/// Layers with options that are not the default.
std::vector<glia::any_layer> layers_with_options() {
  using namespace glia;
  return {
      avg_pool1d{.pool_size = 3, .strides = 2, .padding = same},
      avg_pool2d{.pool_size = {3, 2}, .strides = {2, 1}, .padding = {1, 2, 0, 3}},
      avg_pool3d{.pool_size = {3, 2, 1}, .strides = {2, 1, 1}, .padding = same},
      batch_norm{.momentum = 0.5, .epsilon = 1e-2, .scale = false},
      conv1d{.filters = 3,
             .kernel_size = 5,
             .strides = 2,
             .padding = {2, 1},
             .dilation_rate = 3,
             .groups = 2,
             .activation = relu6,
             .use_bias = false},
      conv1d_transpose{.filters = 3,
                       .kernel_size = 4,
                       .strides = 2,
                       .padding = causal,
                       .dilation_rate = 2,
                       .output_padding = 1,
                       .activation = silu,
                       .use_bias = false},
      conv2d{.filters = 3,
             .kernel_size = {1, 2},
             .strides = {3, 4},
             .padding = same,
             .dilation_rate = {5, 6},
             .groups = 7,
             .activation = elu(0.5),
             .use_bias = false},
      conv2d_transpose{.filters = 3,
                       .kernel_size = {1, 2},
                       .strides = {3, 4},
                       .padding = {1, 2, 3, 4},
                       .dilation_rate = {5, 6},
                       .output_padding = {1, 2},
                       .activation = gelu,
                       .use_bias = false},
      conv3d{.filters = 3,
             .kernel_size = {1, 2, 3},
             .strides = {3, 4, 5},
             .padding = {1, 2, 3, 4, 5, 6},
             .dilation_rate = {5, 6, 7},
             .activation = sigmoid,
             .use_bias = false},
      crop2d{.cropping = {1, 2, 3, 4}},
      dense{.units = 3, .activation = leaky_relu(0.3), .use_bias = false},
      depthwise_conv2d{.kernel_size = {1, 2},
                       .strides = {3, 4},
                       .padding = same,
                       .dilation_rate = {5, 6},
                       .depth_multiplier = 2,
                       .activation = softmax,
                       .use_bias = false},
      dropout{0.25},
      embedding{.input_dim = 7, .output_dim = 3, .mask_zero = true},
      gaussian_noise{.stddev = 0.125},
      gpt{.vocabulary_size = 11,
          .sequence_length = 12,
          .num_layers = 2,
          .num_heads = 3,
          .embedding_dim = 12,
          .dropout = 0.1,
          .use_rotary_embedding = true,
          .use_tanh_gelu = true},
      group_norm{.groups = 4, .epsilon = 1e-2},
      glia::gru{.units = 3,
                .return_sequences = true,
                .go_backwards = true,
                .reset_after = false,
                .activation = relu,
                .recurrent_activation = glia::tanh,
                .use_bias = false,
                .dropout = 0.1,
                .recurrent_dropout = 0.2,
                .zero_output_for_mask = true},
      layer_norm{.epsilon = 1e-2},
      lstm{.units = 3,
           .return_sequences = true,
           .go_backwards = true,
           .activation = relu,
           .recurrent_activation = glia::tanh,
           .use_bias = false,
           .unit_forget_bias = false,
           .dropout = 0.1,
           .recurrent_dropout = 0.2,
           .zero_output_for_mask = true},
      masking{.mask_value = -1.5},
      max_pool1d{.pool_size = 3, .strides = 2, .padding = {1, 2}},
      max_pool2d{.pool_size = {3, 2}, .strides = {2, 1}, .padding = same},
      max_pool3d{.pool_size = {3, 2, 1}, .strides = {2, 1, 1}, .padding = same},
      mobilenet_v2({.width = 0.5,
                    .classes = 3,
                    .use_batch_norm = false,
                    .padding = same,
                    .normalization = {.momentum = 0.5}})
          .stages(2, 5),
      multi_head_attention{.num_heads = 2,
                           .key_dim = 4,
                           .value_dim = 3,
                           .use_causal_mask = true,
                           .dropout = 0.1,
                           .use_bias = false,
                           .context = "source",
                           .use_rotary_embedding = true,
                           .max_wavelength = 100},
      one_hot{.num_classes = 4, .ignore_unknown = true},
      periodic_encoding{.period = 24},
      position_embedding{.sequence_length = 9},
      positional_encoding{.max_wavelength = 100},
      reshape{{2, 3, 4}},
      rms_norm{.epsilon = 1e-2},
      separable_conv2d{.filters = 3,
                       .kernel_size = {1, 2},
                       .strides = {3, 4},
                       .padding = same,
                       .dilation_rate = {5, 6},
                       .depth_multiplier = 2,
                       .activation = glia::tanh,
                       .use_bias = false},
      simple_rnn{.units = 3,
                 .return_sequences = true,
                 .go_backwards = true,
                 .activation = relu,
                 .use_bias = false,
                 .dropout = 0.1,
                 .recurrent_dropout = 0.2,
                 .zero_output_for_mask = true},
      spatial_dropout{.rate = 0.25},
      standardize{.missing_indicator = true, .invert = true},
      u_net{.classes = 2, .filters = 3, .depth = 2, .use_batch_norm = true, .use_transpose = false},
      unembedding{.input_dim = 7, .output_dim = 3},
      upsample2d{.size = {2, 3}, .interpolation = interpolation::bilinear},
      zero_pad2d{.padding = {1, 2, 3, 4}},
      flatten{},
      global_avg_pool1d{},
      global_avg_pool2d{},
      global_avg_pool3d{},
      global_max_pool1d{},
      global_max_pool2d{},
      global_max_pool3d{},
      identity{},
      detail::gelu_tanh{},
      relu,
      resnet50_v2({.classes = 3, .width = 0.125}).stages(3, 5),
  };
}

/// A layer of a program.
struct scale {
  double factor = 1;
  std::vector<double> more = {};
  std::string name = {};

  static constexpr std::string_view type_name = "scale";

  [[nodiscard]] glia::variable operator()(glia::scope&, const glia::variable& x) const {
    return x * factor;
  }
  [[nodiscard]] std::string description() const { return glia::text("scale(", factor, ')'); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("factor", self.factor);
    visit("more", self.more);
    visit("name", self.name);
  }
  friend bool operator==(const scale&, const scale&) = default;
};

}  // namespace

TEST_CASE("files keep all options of all layers") {
  std::set<std::string> seen;
  for (const glia::any_layer& layer : layers_with_options()) {
    const std::string stored = glia::detail::network_text(layer, {4});
    INFO(stored);
    const auto json = nlohmann::json::parse(stored)["layer"];
    const std::string type = json.is_string() ? "activation" : json["type"].get<std::string>();
    const glia::any_layer read = read_back(stored);
    CHECK(glia::detail::network_text(read, {4}) == stored);
    // Networks of the zoo have initializers, which are not stored.
    CHECK((read == layer || type == "zoo_network"));
    seen.insert(type);
  }
  // No layer that files can describe is missing above.
  for (const glia::layer_type& type : glia::detail::known_layer_types()) {
    CHECK(seen.contains(std::string(type.name())));
  }
}

TEST_CASE("no layer of glia is unknown to files") {
  std::set<std::string> known{"activation", "lambda", "concat", "add",
                              "multiply",   "branch", "onnx"};
  for (const glia::layer_type& type : glia::detail::known_layer_types()) {
    known.insert(std::string(type.name()));
  }
  std::size_t found = 0;
  for (const char* folder : {"layers", "models/zoo", "models"}) {
    for (const auto& file :
         std::filesystem::directory_iterator(std::filesystem::path(GLIA_INCLUDE) / folder)) {
      if (!file.is_regular_file()) {
        continue;
      }
      const auto content = test::file_content<std::string>(file.path());
      for (const char* member : {" type_name = \"", " stored_type = \""}) {
        for (std::size_t place = content.find(member); place != std::string::npos;
             place = content.find(member, place + 1)) {
          const std::size_t begin = place + std::string_view(member).size();
          const std::string name = content.substr(begin, content.find('"', begin) - begin);
          INFO(file.path() << ": " << name);
          CHECK((known.contains(name) || glia::detail::is_known_composition(name)));
          ++found;
        }
      }
    }
  }
  CHECK(found > 60);
}

TEST_CASE("an opened model is the model that was saved") {
  using namespace glia;
  check_file(dense{3}, {4});
  check_file(sequential{dense{8, relu}, dropout{0.5}, dense{3}, softmax}, {4});
  check_file(layer_stack{{dense{8, leaky_relu(0.25)}, dense{3}}}, {4});
  check_file(sequential{conv2d{.filters = 4, .kernel_size = 3, .padding = same}, batch_norm{}, relu,
                        max_pool2d{}, flatten{}, dense{2}},
             {8, 6, 3});
  check_file(sequential{residual{sequential{dense{4, relu}, dense{4}}},
                        residual{dense{5}, dense{5}, relu}, residual{dense{5}}},
             {4});
  check_file(parallel{dense{3}, sequential{dense{4}, glia::tanh}, identity{}}, {4});
  check_file(parallel{join::add{}, dense{4}, identity{}}, {4});
  check_file(parallel{join::multiply{}, dense{4}, identity{}}, {4});
  check_file(parallel{join::branch{1}, dense{4}, dense{5}}, {4});
  check_file(parallel{join::concat{1}, identity{}, identity{}}, {4, 2});
  check_file(sequential{named{"first \"one\" \\ \n Größe", dense{4}},
                        frozen{named{"second", sequential{dense{4}, relu}}},
                        shared{"twice", dense{4}}, shared{"twice", dense{4}}},
             {4});
  check_file(sequential{time_distributed{dense{4}}, bidirectional(glia::gru{.units = 3}), dense{2}},
             {5, 3});
  check_file(sequential{masking{}, lstm{.units = 3, .return_sequences = true}, simple_rnn{2}},
             {5, 3});
  const sequential decoder{
      multi_head_attention{.num_heads = 2, .key_dim = 4, .use_causal_mask = true},
      multi_head_attention{.num_heads = 2, .key_dim = 4, .context = "source"}};
  const context source{"source", time_distributed{dense{6}}};
  check_file(
      inputs{join::branch{1}, input{"source", {5, 3}, source}, input{"target", {4, 6}, decoder}},
      {5 * 3 + 4 * 6});
  check_file(
      sequential{inputs{input{"image", {3, 3}, flatten{}}, input{"age", {1}}}, dense{6, relu},
                 outputs{output{"digit", dense{3}}, output{"slant", dense{1}}}},
      {10});
  check_file(sequential{standardize{}, dense{3}}, {4});
  check_file(u_net{.classes = 2, .filters = 2, .depth = 2}, {8, 8, 3});
  check_file(mobilenet_v2({.width = 0.35, .classes = 3}), {32, 32, 3});
  check_file(sequential{resnet50_v2({.width = 0.0625}), dense{2}}, {32, 32, 3});
}

TEST_CASE("opened models can be streamed") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "net.safetensors";
  const glia::sequential layers{glia::lstm{.units = 5, .return_sequences = true},
                                glia::time_distributed{glia::dense{2}}};
  glia::save(glia::model{layers, {6, 3}}, path);
  const auto opened = glia::open(path);
  const auto x = samples_of({6, 3}, 1);
  const glia::stream blocks{opened};
  glia::stream_state state = blocks.start();
  CHECK((blocks(x, state) == opened.predict(x)));
}

TEST_CASE("opened models can be trained further and prepared") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "net.safetensors";
  glia::model saved{glia::sequential{glia::dense{8, glia::tanh}, glia::dense{3}}, {4}};
  glia::save(saved, path);
  auto opened = glia::open(path);
  const auto x = samples_of({4}, 6);
  const xt::xarray<std::size_t> y{0, 1, 2, 0, 1, 2};
  const auto train = [&](auto& net) {
    glia::trainer training{net, glia::softmax_cross_entropy{}, glia::adam{.learning_rate = 0.01}};
    training.fit(glia::labeled_arrays(x, y), {.epochs = 2, .batch_size = 3, .progress = nullptr});
  };
  train(saved);
  train(opened);
  CHECK(test::parameters_of(saved) == test::parameters_of(opened));
  CHECK((opened.prepare({.batch_size = 6})(x) == saved.prepare({.batch_size = 6})(x)));
}

TEST_CASE("own layers are listed, or refused by their names") {
  check_file(glia::sequential{glia::dense{3}, scale{.factor = 0.1, .more = {1, 2.5}, .name = "s"}},
             {4}, {glia::layer_type::of<scale>()});
  CHECK(error_of(R"({"type":"scale","factor":2})") ==
        "f: the network contains the layer 'scale' at network.layer, which glia does not have; if "
        "it is a layer of your program, list it: glia::open(path, {.layers = "
        "{glia::layer_type::of<scale>()}})");
  // An option that a file does not have keeps its value.
  CHECK((read_back(R"({"version":1,"sample":[4],"layer":{"type":"scale"}})",
                   {glia::layer_type::of<scale>()}) == glia::any_layer{scale{}}));
  const test::temporary_folder folder;
  const auto path = folder.path() / "net.safetensors";
  const glia::model net{
      glia::sequential{glia::dense{3},
                       glia::lambda{"half", [](const glia::variable& x) { return x * 0.5; }}},
      {4}};
  glia::save(net, path);
  CHECK(contains(message_of<glia::data_error>([&] { static_cast<void>(glia::open(path)); }),
                 "a file cannot describe the layer 'lambda(half)' at network.layer.layers[1]"));
}

TEST_CASE("wrong descriptions are refused, with the place") {
  const auto refuses = [](const std::string& layer, const std::string& message) {
    INFO(layer);
    CHECK(contains(error_of(layer), message));
  };
  refuses("3", "wrong at network.layer: expected a layer, got 3");
  refuses("{}", "expected a layer with a type, got {}");
  refuses(R"({"type":"dense","units":-1})",
          "network.layer.units: expected a whole number from 0 to 2147483648, got -1");
  refuses(R"({"type":"dense","units":"x"})", "got \"x\"");
  refuses(R"({"type":"dense","units":1.5})", "got 1.5");
  refuses(R"({"type":"dense","units":3,"colour":"red"})",
          "has the option 'colour' at network.layer, which this version of glia does not know");
  refuses(R"({"type":"dense","use_bias":1})", "expected true or false, got 1");
  refuses(R"({"type":"dense","activation":"mish"})",
          "expected the name of an activation of glia, got \"mish\"");
  refuses("\"leaky_relu(-1)\"", "expected the name of an activation");
  refuses("\"relu(2)\"", "expected the name of an activation");
  refuses(R"({"type":"dropout","rate":[]})", "network.layer.rate: expected a number, got []");
  refuses(R"({"type":"conv2d","kernel_size":[3]})", "expected a list of 2 numbers, got [3]");
  refuses(R"({"type":"conv2d","padding":"most"})", "expected a list of 4 numbers, got \"most\"");
  refuses(R"({"type":"reshape","target_shape":[1,1,1,1,1,1,1]})", "a list of at most 6 extents");
  refuses(R"({"type":"sequential","layers":{"type":"dense"}})", "expected a list");
  refuses(R"({"type":"parallel","join":{"type":"divide"},"branches":[]})",
          "network.layer.join: expected a layer or join that is allowed here");
  refuses(R"({"type":"mobilenet_v2","normalization":{"type":"dense"}})", "expected batch_norm");
  std::string deep = "\"relu\"";
  for (int i = 0; i < 500; ++i) {
    deep = R"({"type":"frozen","body":)" + deep + "}";
  }
  refuses(deep, "at most 64 compositions inside of each other");
  const auto whole = [](const std::string& json) {
    return message_of<glia::data_error>([&] { static_cast<void>(read_back(json)); });
  };
  const std::string brackets(200'000, '[');
  CHECK(contains(whole(R"({"version":)" + brackets), "more than 1000 brackets"));
  CHECK(contains(whole(R"({"version":1,"sample":[65536,65536],"layer":"relu"})"),
                 "expected samples of at most 67108864 numbers"));
  CHECK(contains(whole(R"({"version":1,"sample":[4],"layer":{"type":"mobilenet_v2","width":0}})"),
                 "f: the network in the file is wrong: mobilenet_v2: expected a positive width"));
  refuses(R"({"type":"dense","activation":"ääääääääääääääääääääääääääääääääääääääää"})", "ää...");
  CHECK(contains(whole("{"), "not valid JSON; the file is damaged"));
  CHECK(contains(whole(R"({"version":2})"), "expected version 1 of the description"));
  CHECK(contains(whole("[]"), "not valid JSON"));
}

TEST_CASE("descriptions that do not fit their parameters are refused before any is made") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "net.safetensors";
  glia::save(glia::model{glia::dense{3}, {4}}, path);
  auto content = glia::read_safetensors_content(path);
  const auto with_units = [&](const std::string& units) {
    auto changed = content;
    changed.metadata.erase("checksum");
    auto& description = changed.metadata["glia.network"];
    description.replace(description.find("\"units\":3"), 9, "\"units\":" + units);
    glia::write_safetensors_content(path, changed);
    return message_of<glia::data_error>([&] { static_cast<void>(glia::open(path)); });
  };
  CHECK(contains(with_units("5"),
                 "expected the tensor 'dense_0.kernel' of shape (4, 5), got (4, 3)"));
  CHECK(contains(with_units("2000000000"), "got (4, 3); the file is damaged"));
  CHECK(contains(with_units("100000000000000"), "expected a whole number from 0 to 2147483648"));
  CHECK(contains(with_units("0"),
                 "the network in the file is wrong: model[0] dense(0): expected at least 1"));
}

TEST_CASE("an example in the file is compared with what the opened model computes") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "net.safetensors";
  glia::model saved{glia::sequential{glia::dense{8, glia::relu}, glia::dense{3}}, {4}};
  const auto x = samples_of({4});
  glia::save(saved, path, {.metadata = {{"key", "value"}}, .example = x});
  const auto opened = glia::open(path);
  CHECK((opened.predict(x) == saved.predict(x)));
  CHECK(glia::read_metadata(path) == std::map<std::string, std::string>{{"key", "value"}});
  glia::load(saved, path);
  CHECK_THROWS_AS(glia::save(saved, path, {.example = samples_of({5})}), glia::shape_error);
  CHECK_THROWS_AS(glia::save(saved, path, {.example = samples_of({4}, 0)}), glia::shape_error);

  auto content = glia::read_safetensors_content(path);
  content.metadata.erase("checksum");
  for (glia::named_tensor& t : content.tensors) {
    if (t.name == "dense_1.bias") {
      std::get<std::vector<float>>(t.values)[1] += 0.125F;
    }
  }
  glia::write_safetensors_content(path, content);
  CHECK(contains(message_of<glia::data_error>([&] { static_cast<void>(glia::open(path)); }),
                 "the model computes other outputs than when it was saved: for the example in the "
                 "file, they differ by up to 0.125"));
  CHECK_NOTHROW(glia::open(path, {.tolerance = 1}));
}

TEST_CASE("parameters can stay in the file, and a training copies them first") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "net.safetensors";
  const glia::model saved{
      glia::sequential{glia::dense{5, glia::relu}, glia::dense{16}, glia::dense{3}}, {4}};
  glia::save(saved, path);
  const auto content = test::file_content<std::vector<std::uint8_t>>(path);
  const auto x = samples_of({4}, 6);
  const auto check = [&](const glia::file_source& file, const std::uint8_t* begin) {
    auto opened = glia::open(file, {.in_place = true});
    CHECK((opened.predict(x) == saved.predict(x)));
    std::size_t inside = 0;
    for (const glia::parameter& p : opened.parameters()) {
      CHECK_FALSE(p.value.unique());
      inside += begin == nullptr ||
                (p.value.bytes() >= begin && p.value.bytes() < begin + content.size());
    }
    CHECK(inside >= 3);  // dense_1.kernel, dense_1.bias and dense_2.kernel are whole cache lines
    glia::trainer training{opened, glia::softmax_cross_entropy{}, glia::adam{}};
    training.fit(glia::labeled_arrays(x, xt::xarray<std::size_t>{0, 1, 2, 0, 1, 2}),
                 {.epochs = 2, .batch_size = 3, .progress = nullptr});
    CHECK((opened.predict(x) != saved.predict(x)));
  };
  check(path, nullptr);
  CHECK(test::file_content<std::vector<std::uint8_t>>(path) == content);
  struct alignas(64) line {
    std::array<std::uint8_t, 64> bytes;
  };
  std::vector<line> lines(content.size() / 64 + 1);
  std::uint8_t* const begin = lines[0].bytes.data();
  std::copy(content.begin(), content.end(), begin);
  check(std::span<const std::uint8_t>(begin, content.size()), begin);
  CHECK(std::equal(content.begin(), content.end(), begin));
  // A device that computes in double has copies.
  const auto precise = glia::open(path, {.device = glia::cpu<double>(), .in_place = true});
  CHECK(test::distance(precise.predict(x), saved.predict(x)) < 1e-5);
  CHECK_THROWS_AS(glia::open("missing", {.in_place = true}), glia::data_error);
}

TEST_CASE("numbers keep all digits, also those that JSON does not have") {
  check_file(glia::sequential{glia::dense{3, glia::leaky_relu(1.0 / 3)}, glia::elu(0.1 + 0.2)},
             {4});
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double number : {1.0 / 3, 1e-300, infinity, -infinity}) {
    const glia::any_layer layer = glia::masking{.mask_value = number};
    CHECK((read_back(glia::detail::network_text(layer, {4})) == layer));
  }
  const glia::any_layer layer = glia::dense{3, glia::leaky_relu(1.0 / 3)};
  CHECK((read_back(glia::detail::network_text(layer, {4})) == layer));
}

TEST_CASE("names may look like those of layers") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "net.safetensors";
  glia::model net{glia::named{"layer_stack", glia::dense{3}}, {4}};
  glia::save(net, path);
  CHECK_NOTHROW(glia::load(net, path));
  CHECK_NOTHROW(glia::open(path));
}

TEST_CASE("files without a description say what to do") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "net.safetensors";
  glia::save(glia::model{glia::dense{3}, {4}}, path);
  auto content = glia::read_safetensors_content(path);
  content.metadata.erase("checksum");
  content.metadata.erase("glia.network");
  glia::write_safetensors_content(path, content);
  CHECK(contains(message_of<glia::data_error>([&] { static_cast<void>(glia::open(path)); }),
                 "describe the network in the program, and use glia::load, or"));
}

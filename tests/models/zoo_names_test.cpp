#include <glia/models/zoo/inception_v3.hpp>
#include <glia/models/zoo/keras_names.hpp>
#include <glia/models/zoo/resnet.hpp>
#include <glia/models/zoo/resnet_v2.hpp>
#include <glia/models/zoo/squeezenet.hpp>
#include <glia/models/zoo/torchvision_names.hpp>
#include <glia/models/zoo/xception.hpp>
#include <glia/testing/values.hpp>
#include <map>
#include <set>

#include "catch.hpp"
#include "helpers.hpp"

using glia::zoo_network;

namespace {

constexpr auto of_torchvision = glia::zoo_form::torchvision;

/// The names and shapes of a file's tensors: written down from the definitions that wrote them.
using file_list = std::map<std::string, glia::shape>;

void add_torch_norm(file_list& file, const std::string& module, std::size_t channels) {
  for (const char* name : {".weight", ".bias", ".running_mean", ".running_var"}) {
    file[module + name] = {channels};
  }
  file[module + ".num_batches_tracked"] = {};
}

/// The state_dict of torchvision's resnet50 and deeper ones: Bottleneck's members are conv1 to
/// conv3, bn1 to bn3 and downsample, a Sequential of two.
file_list torchvision_resnet(const glia::resnet_blocks& blocks) {
  file_list file;
  file["conv1.weight"] = {64, 3, 7, 7};
  add_torch_norm(file, "bn1", 64);
  std::size_t inputs = 64;
  for (std::size_t layer = 0; layer < 4; ++layer) {
    const std::size_t planes = std::size_t{64} << layer;
    for (std::size_t i = 0; i < blocks[layer]; ++i) {
      const std::string block = glia::text("layer", layer + 1, '.', i, '.');
      file[block + "conv1.weight"] = {planes, inputs, 1, 1};
      file[block + "conv2.weight"] = {planes, planes, 3, 3};
      file[block + "conv3.weight"] = {planes * 4, planes, 1, 1};
      add_torch_norm(file, block + "bn1", planes);
      add_torch_norm(file, block + "bn2", planes);
      add_torch_norm(file, block + "bn3", planes * 4);
      if (i == 0) {
        file[block + "downsample.0.weight"] = {planes * 4, inputs, 1, 1};
        add_torch_norm(file, block + "downsample.1", planes * 4);
      }
      inputs = planes * 4;
    }
  }
  file["fc.weight"] = {1000, 2048};
  file["fc.bias"] = {1000};
  return file;
}

struct torch_unit {
  const char* name;
  std::size_t outputs, inputs, height, width;
};

/// The state_dict of torchvision's inception_v3: modules InceptionA to InceptionE of BasicConv2d,
/// whose members are conv and bn.
file_list torchvision_inception() {
  file_list file;
  const auto add = [&](const std::string& module, const std::vector<torch_unit>& units) {
    for (const torch_unit& u : units) {
      file[module + u.name + ".conv.weight"] = {u.outputs, u.inputs, u.height, u.width};
      add_torch_norm(file, module + u.name + ".bn", u.outputs);
    }
  };
  add("", {{"Conv2d_1a_3x3", 32, 3, 3, 3},
           {"Conv2d_2a_3x3", 32, 32, 3, 3},
           {"Conv2d_2b_3x3", 64, 32, 3, 3},
           {"Conv2d_3b_1x1", 80, 64, 1, 1},
           {"Conv2d_4a_3x3", 192, 80, 3, 3}});
  const auto add_a = [&](const std::string& module, std::size_t inputs, std::size_t pooled) {
    add(module, {{"branch1x1", 64, inputs, 1, 1},
                 {"branch5x5_1", 48, inputs, 1, 1},
                 {"branch5x5_2", 64, 48, 5, 5},
                 {"branch3x3dbl_1", 64, inputs, 1, 1},
                 {"branch3x3dbl_2", 96, 64, 3, 3},
                 {"branch3x3dbl_3", 96, 96, 3, 3},
                 {"branch_pool", pooled, inputs, 1, 1}});
  };
  add_a("Mixed_5b.", 192, 32);
  add_a("Mixed_5c.", 256, 64);
  add_a("Mixed_5d.", 288, 64);
  add("Mixed_6a.", {{"branch3x3", 384, 288, 3, 3},
                    {"branch3x3dbl_1", 64, 288, 1, 1},
                    {"branch3x3dbl_2", 96, 64, 3, 3},
                    {"branch3x3dbl_3", 96, 96, 3, 3}});
  const auto add_c = [&](const std::string& module, std::size_t c7) {
    add(module, {{"branch1x1", 192, 768, 1, 1},
                 {"branch7x7_1", c7, 768, 1, 1},
                 {"branch7x7_2", c7, c7, 1, 7},
                 {"branch7x7_3", 192, c7, 7, 1},
                 {"branch7x7dbl_1", c7, 768, 1, 1},
                 {"branch7x7dbl_2", c7, c7, 7, 1},
                 {"branch7x7dbl_3", c7, c7, 1, 7},
                 {"branch7x7dbl_4", c7, c7, 7, 1},
                 {"branch7x7dbl_5", 192, c7, 1, 7},
                 {"branch_pool", 192, 768, 1, 1}});
  };
  add_c("Mixed_6b.", 128);
  add_c("Mixed_6c.", 160);
  add_c("Mixed_6d.", 160);
  add_c("Mixed_6e.", 192);
  add("AuxLogits.", {{"conv0", 128, 768, 1, 1}, {"conv1", 768, 128, 5, 5}});
  file["AuxLogits.fc.weight"] = {1000, 768};
  file["AuxLogits.fc.bias"] = {1000};
  add("Mixed_7a.", {{"branch3x3_1", 192, 768, 1, 1},
                    {"branch3x3_2", 320, 192, 3, 3},
                    {"branch7x7x3_1", 192, 768, 1, 1},
                    {"branch7x7x3_2", 192, 192, 1, 7},
                    {"branch7x7x3_3", 192, 192, 7, 1},
                    {"branch7x7x3_4", 192, 192, 3, 3}});
  const auto add_e = [&](const std::string& module, std::size_t inputs) {
    add(module, {{"branch1x1", 320, inputs, 1, 1},
                 {"branch3x3_1", 384, inputs, 1, 1},
                 {"branch3x3_2a", 384, 384, 1, 3},
                 {"branch3x3_2b", 384, 384, 3, 1},
                 {"branch3x3dbl_1", 448, inputs, 1, 1},
                 {"branch3x3dbl_2", 384, 448, 3, 3},
                 {"branch3x3dbl_3a", 384, 384, 1, 3},
                 {"branch3x3dbl_3b", 384, 384, 3, 1},
                 {"branch_pool", 192, inputs, 1, 1}});
  };
  add_e("Mixed_7b.", 1280);
  add_e("Mixed_7c.", 2048);
  file["fc.weight"] = {1000, 2048};
  file["fc.bias"] = {1000};
  return file;
}

struct torch_fire {
  std::size_t number, inputs, squeezed, expanded;
};

/// The state_dict of torchvision's squeezenets.
file_list torchvision_squeezenet(std::size_t stem, std::size_t kernel,
                                 const std::vector<std::size_t>& numbers) {
  file_list file;
  file["features.0.weight"] = {stem, 3, kernel, kernel};
  file["features.0.bias"] = {stem};
  const std::vector<torch_fire> fires{{numbers[0], stem, 16, 64}, {numbers[1], 128, 16, 64},
                                      {numbers[2], 128, 32, 128}, {numbers[3], 256, 32, 128},
                                      {numbers[4], 256, 48, 192}, {numbers[5], 384, 48, 192},
                                      {numbers[6], 384, 64, 256}, {numbers[7], 512, 64, 256}};
  for (const torch_fire& fire : fires) {
    const std::string module = glia::text("features.", fire.number, '.');
    file[module + "squeeze.weight"] = {fire.squeezed, fire.inputs, 1, 1};
    file[module + "squeeze.bias"] = {fire.squeezed};
    file[module + "expand1x1.weight"] = {fire.expanded, fire.squeezed, 1, 1};
    file[module + "expand1x1.bias"] = {fire.expanded};
    file[module + "expand3x3.weight"] = {fire.expanded, fire.squeezed, 3, 3};
    file[module + "expand3x3.bias"] = {fire.expanded};
  }
  file["classifier.1.weight"] = {1000, 512, 1, 1};
  file["classifier.1.bias"] = {1000};
  return file;
}

/// How Keras writes a layer to HDF5, before version 2 and since.
class keras_list {
 public:
  explicit keras_list(bool since_version_2 = true) : new_(since_version_2) {}

  file_list file;

  void weight(const std::string& layer, const std::string& name, const glia::shape& s) {
    file[new_ ? glia::text(layer, '/', layer, '/', name, ":0")
              : glia::text(layer, '/', layer, '_', name, ":0")] = s;
  }
  void kernel(const std::string& layer, const glia::shape& s) {
    weight(layer, new_ ? "kernel" : "W", s);
  }
  void bias(const std::string& layer, std::size_t channels) {
    weight(layer, new_ ? "bias" : "b", {channels});
  }
  void separable(const std::string& layer, std::size_t inputs, std::size_t outputs) {
    weight(layer, "depthwise_kernel", {3, 3, inputs, 1});
    weight(layer, "pointwise_kernel", {1, 1, inputs, outputs});
  }
  void norm(const std::string& layer, std::size_t channels, bool gamma = true) {
    if (gamma) {
      weight(layer, "gamma", {channels});
    }
    weight(layer, "beta", {channels});
    weight(layer, new_ ? "moving_mean" : "running_mean", {channels});
    weight(layer, new_ ? "moving_variance" : "running_std", {channels});
  }

 private:
  bool new_;
};

/// Keras's applications of residual networks: block1 of its resnet module for the first
/// generation, block2 for the second.
file_list keras_resnet(const glia::resnet_blocks& blocks, bool second,
                       const std::string& classifier = "predictions") {
  keras_list list;
  const auto convolution = [&](const std::string& name, std::size_t k, std::size_t inputs,
                               std::size_t outputs, bool bias) {
    list.kernel(name + "_conv", {k, k, inputs, outputs});
    if (bias) {
      list.bias(name + "_conv", outputs);
    }
  };
  convolution("conv1", 7, 3, 64, true);
  if (!second) {
    list.norm("conv1_bn", 64);
  }
  std::size_t inputs = 64;
  for (std::size_t stack = 2; stack <= 5; ++stack) {
    const std::size_t filters = std::size_t{16} << stack;
    for (std::size_t i = 1; i <= blocks[stack - 2]; ++i) {
      const std::string name = glia::text("conv", stack, "_block", i);
      if (second) {
        list.norm(name + "_preact_bn", inputs);
      }
      if (i == 1) {
        convolution(name + "_0", 1, inputs, 4 * filters, true);
      }
      convolution(name + "_1", 1, inputs, filters, !second);
      list.norm(name + "_1_bn", filters);
      convolution(name + "_2", 3, filters, filters, !second);
      list.norm(name + "_2_bn", filters);
      convolution(name + "_3", 1, filters, 4 * filters, true);
      if (!second) {
        list.norm(name + "_3_bn", 4 * filters);
        if (i == 1) {
          list.norm(name + "_0_bn", 4 * filters);
        }
      }
      inputs = 4 * filters;
    }
  }
  if (second) {
    list.norm("post_bn", inputs);
  }
  list.kernel(classifier, {2048, 1000});
  list.bias(classifier, 1000);
  return list.file;
}

/// Kernels of Inception v3, in the order in which Keras's application makes them.
std::vector<glia::shape> inception_kernels() {
  std::vector<glia::shape> k{
      {3, 3, 3, 32}, {3, 3, 32, 32}, {3, 3, 32, 64}, {1, 1, 64, 80}, {3, 3, 80, 192}};
  const auto add = [&](const std::vector<glia::shape>& shapes) {
    k.insert(k.end(), shapes.begin(), shapes.end());
  };
  for (const auto& [inputs, pooled] :
       std::vector<std::pair<std::size_t, std::size_t>>{{192, 32}, {256, 64}, {288, 64}}) {
    add({{1, 1, inputs, 64},
         {1, 1, inputs, 48},
         {5, 5, 48, 64},
         {1, 1, inputs, 64},
         {3, 3, 64, 96},
         {3, 3, 96, 96},
         {1, 1, inputs, pooled}});
  }
  add({{3, 3, 288, 384}, {1, 1, 288, 64}, {3, 3, 64, 96}, {3, 3, 96, 96}});
  for (const std::size_t c : std::vector<std::size_t>{128, 160, 160, 192}) {
    add({{1, 1, 768, 192},
         {1, 1, 768, c},
         {1, 7, c, c},
         {7, 1, c, 192},
         {1, 1, 768, c},
         {7, 1, c, c},
         {1, 7, c, c},
         {7, 1, c, c},
         {1, 7, c, 192},
         {1, 1, 768, 192}});
  }
  add({{1, 1, 768, 192},
       {3, 3, 192, 320},
       {1, 1, 768, 192},
       {1, 7, 192, 192},
       {7, 1, 192, 192},
       {3, 3, 192, 192}});
  for (const std::size_t inputs : std::vector<std::size_t>{1280, 2048}) {
    add({{1, 1, inputs, 320},
         {1, 1, inputs, 384},
         {1, 3, 384, 384},
         {3, 1, 384, 384},
         {1, 1, inputs, 448},
         {3, 3, 448, 384},
         {1, 3, 384, 384},
         {3, 1, 384, 384},
         {1, 1, inputs, 192}});
  }
  return k;
}

/// Inception v3 as Keras published it: all layers numbered but the last. `first` is the number of
/// the first, 0 leaving it out, as in files that newer versions write.
file_list keras_inception(std::size_t first) {
  keras_list list;
  std::size_t number = first;
  for (const glia::shape& kernel : inception_kernels()) {
    const std::string end = number == 0 ? "" : glia::text('_', number);
    list.kernel("conv2d" + end, kernel);
    list.norm("batch_normalization" + end, kernel.back(), false);
    ++number;
  }
  list.kernel("predictions", {2048, 1000});
  list.bias("predictions", 1000);
  return list.file;
}

/// Layers of Xception in the order in which Keras's application makes them: `named` as it names
/// them, else all numbered, as in the file that it published.
file_list keras_xception(bool named) {
  keras_list list(named);
  std::size_t convolutions = 0;
  std::size_t separables = 0;
  std::size_t norms = 0;
  const auto norm = [&](const std::string& layer, std::size_t channels) {
    list.norm(named ? layer : glia::text("batchnormalization_", ++norms), channels);
  };
  const auto convolution = [&](const std::string& layer, const glia::shape& kernel) {
    list.kernel(named ? layer : glia::text("convolution2d_", ++convolutions), kernel);
    norm(layer + "_bn", kernel.back());
  };
  const auto shortcut = [&](std::size_t number, std::size_t inputs, std::size_t outputs) {
    if (!named) {
      convolution("", {1, 1, inputs, outputs});
      return;
    }
    list.kernel(glia::text("conv2d_", number), {1, 1, inputs, outputs});
    list.norm(glia::text("batch_normalization_", number), outputs);
  };
  const auto separable = [&](const std::string& layer, std::size_t inputs, std::size_t outputs) {
    list.separable(named ? layer : glia::text("separableconvolution2d_", ++separables), inputs,
                   outputs);
    norm(layer + "_bn", outputs);
  };
  convolution("block1_conv1", {3, 3, 3, 32});
  convolution("block1_conv2", {3, 3, 32, 64});
  shortcut(1, 64, 128);
  separable("block2_sepconv1", 64, 128);
  separable("block2_sepconv2", 128, 128);
  shortcut(2, 128, 256);
  separable("block3_sepconv1", 128, 256);
  separable("block3_sepconv2", 256, 256);
  shortcut(3, 256, 728);
  separable("block4_sepconv1", 256, 728);
  separable("block4_sepconv2", 728, 728);
  for (std::size_t block = 5; block < 13; ++block) {
    for (std::size_t part = 1; part <= 3; ++part) {
      separable(glia::text("block", block, "_sepconv", part), 728, 728);
    }
  }
  shortcut(4, 728, 1024);
  separable("block13_sepconv1", 728, 728);
  separable("block13_sepconv2", 728, 1024);
  separable("block14_sepconv1", 1024, 1536);
  separable("block14_sepconv2", 1536, 2048);
  list.kernel(named ? "predictions" : "dense_2", {2048, 1000});
  list.bias(named ? "predictions" : "dense_2", 1000);
  return list.file;
}

/// The same names with tensors of one number, since their shapes do not matter to a map.
glia::tensor_map named_tensors(const file_list& file, const std::string& prefix = "") {
  glia::tensor_map result;
  for (const auto& [name, s] : file) {
    result.emplace(prefix + name, xt::xarray<float>());
  }
  return result;
}

glia::shape in_glias_order(const glia::shape& s, glia::tensor_layout layout) {
  return layout == glia::tensor_layout::oihw ? glia::shape{s[2], s[3], s[1], s[0]}
         : layout == glia::tensor_layout::oi ? glia::shape{s[1], s[0]}
                                             : s;
}

/// Every parameter comes from one tensor of the file that has its shape, no tensor goes to two, and
/// what is left over is ignored, which `left_over` counts.
void check_map(const zoo_network& net, const file_list& file, const glia::name_map& map,
               std::size_t left_over) {
  INFO(net);
  std::map<std::string, glia::shape> parameters;
  for (const auto& p : glia::plan_model(net, {96, 96, 3}).parameters) {
    parameters.emplace(p.name, p.shape);
  }
  std::set<std::string> tensors;
  CHECK(map.sources.size() == parameters.size());
  for (const glia::parameter_source& source : map.sources) {
    INFO(source.parameter << " from " << source.tensor);
    REQUIRE(parameters.contains(source.parameter));
    REQUIRE(file.contains(source.tensor));
    CHECK(in_glias_order(file.at(source.tensor), source.layout) == parameters[source.parameter]);
    parameters.erase(source.parameter);
    CHECK(tensors.insert(source.tensor).second);
  }
  CHECK(parameters.empty());
  std::size_t unused = 0;
  for (const auto& entry : file) {
    const std::string& name = entry.first;
    if (!tensors.contains(name)) {
      INFO(name);
      ++unused;
      CHECK(std::any_of(map.ignored_suffixes.begin(), map.ignored_suffixes.end(),
                        [&](const std::string& end) { return name.ends_with(end); }));
    }
  }
  CHECK(unused == left_over);
}

void check_keras(const zoo_network& net, const file_list& file, std::size_t left_over = 0) {
  check_map(net, file, glia::keras_names(net, named_tensors(file)), left_over);
}

std::string tensor_for(const glia::name_map& map, const std::string& parameter) {
  for (const glia::parameter_source& source : map.sources) {
    if (source.parameter == parameter) {
      return source.tensor;
    }
  }
  return "";
}

}  // namespace

TEST_CASE("torchvision's names of networks of the zoo cover its files") {
  const glia::zoo_options whole{.classes = 1000};
  const auto check = [](const zoo_network& net, const file_list& file, std::size_t left_over) {
    check_map(net, file, glia::torchvision_names(net), left_over);
  };
  REQUIRE(torchvision_resnet({3, 4, 6, 3}).size() == 320);
  check(glia::resnet50(whole, of_torchvision), torchvision_resnet({3, 4, 6, 3}), 53);
  check(glia::resnet50({}, of_torchvision), torchvision_resnet({3, 4, 6, 3}), 53 + 2);
  check(glia::resnet101(whole, of_torchvision), torchvision_resnet({3, 4, 23, 3}), 104);
  check(glia::resnet152(whole, of_torchvision), torchvision_resnet({3, 8, 36, 3}), 155);
  REQUIRE(torchvision_inception().size() == 580);
  check(glia::inception_v3(whole, of_torchvision), torchvision_inception(), 94 + 14);
  check(glia::inception_v3({}, of_torchvision), torchvision_inception(), 94 + 14 + 2);
  const file_list of_1_0 = torchvision_squeezenet(96, 7, {3, 4, 5, 7, 8, 9, 10, 12});
  const file_list of_1_1 = torchvision_squeezenet(64, 3, {3, 4, 6, 7, 9, 10, 11, 12});
  REQUIRE(of_1_0.size() == 52);
  check(glia::squeezenet1_0(whole), of_1_0, 0);
  check(glia::squeezenet1_0(), of_1_0, 2);
  check(glia::squeezenet1_1(whole), of_1_1, 0);
  check(glia::squeezenet1_1(), of_1_1, 2);
}

TEST_CASE("torchvision's names go where its modules go") {
  const auto resnet = glia::torchvision_names(glia::resnet50({.classes = 9}, of_torchvision), "f.");
  CHECK(tensor_for(resnet, "f.conv1_bn.beta") == "bn1.bias");
  CHECK(tensor_for(resnet, "f.conv4_block6_2_conv.kernel") == "layer3.5.conv2.weight");
  CHECK(tensor_for(resnet, "f.conv5_block1_0_bn.moving_variance") ==
        "layer4.0.downsample.1.running_var");
  CHECK(tensor_for(resnet, "f.predictions.kernel") == "fc.weight");
  const auto inception = glia::torchvision_names(glia::inception_v3({}, of_torchvision));
  CHECK(tensor_for(inception, "conv2b_3x3.kernel") == "Conv2d_2b_3x3.conv.weight");
  CHECK(tensor_for(inception, "mixed6.branch7x7dbl_4_bn.gamma") ==
        "Mixed_6d.branch7x7dbl_4.bn.weight");
  CHECK(tensor_for(inception, "mixed10.branch3x3_2a.kernel") ==
        "Mixed_7c.branch3x3_2a.conv.weight");
  const auto squeeze = glia::torchvision_names(glia::squeezenet1_1());
  CHECK(tensor_for(squeeze, "fire4.expand3x3.bias") == "features.6.expand3x3.bias");
  CHECK(tensor_for(squeeze, "fire9.squeeze1x1.kernel") == "features.12.squeeze.weight");
}

TEST_CASE("Keras's names of residual networks cover its files") {
  const glia::zoo_options whole{.classes = 1000};
  for (const char* classifier : {"predictions", "probs"}) {
    INFO(classifier);
    const file_list first = keras_resnet({3, 4, 6, 3}, false, classifier);
    REQUIRE(first.size() == 320);
    check_keras(glia::resnet50(whole), first);
    check_keras(glia::resnet50(), first, 2);
  }
  check_keras(glia::resnet152(whole), keras_resnet({3, 8, 36, 3}, false));
  check_keras(glia::resnet101(whole), keras_resnet({3, 4, 23, 3}, false));
  const file_list second = keras_resnet({3, 8, 36, 3}, true);
  REQUIRE(second.size() == 816);
  check_keras(glia::resnet152_v2(whole), second);
  check_keras(glia::resnet152_v2(), second, 2);
  check_keras(glia::resnet50_v2(whole), keras_resnet({3, 4, 6, 3}, true));
  const auto map = glia::keras_names(glia::resnet152_v2(), named_tensors(second), "f.");
  CHECK(tensor_for(map, "f.conv4_block36_preact_bn.moving_mean") ==
        "conv4_block36_preact_bn/conv4_block36_preact_bn/moving_mean:0");
}

TEST_CASE("Keras's names of Xception cover files with its names and the published one without") {
  const glia::zoo_options whole{.classes = 1000};
  for (const bool named : {true, false}) {
    INFO(named);
    const file_list file = keras_xception(named);
    REQUIRE(file.size() == 236);
    check_keras(glia::xception(whole), file);
    check_keras(glia::xception(), file, 2);
  }
  const auto map = glia::keras_names(glia::xception(whole), named_tensors(keras_xception(false)));
  CHECK(tensor_for(map, "block13_shortcut.kernel") == "convolution2d_6/convolution2d_6_W:0");
  CHECK(tensor_for(map, "block13_shortcut_bn.gamma") ==
        "batchnormalization_36/batchnormalization_36_gamma:0");
  CHECK(tensor_for(map, "block5_sepconv1.pointwise_kernel") ==
        "separableconvolution2d_7/separableconvolution2d_7_pointwise_kernel:0");
  CHECK(tensor_for(map, "block14_sepconv2_bn.moving_variance") ==
        "batchnormalization_40/batchnormalization_40_running_std:0");
  CHECK(tensor_for(map, "predictions.bias") == "dense_2/dense_2_b:0");
}

TEST_CASE("Keras's names of Inception v3 cover files whose layers are numbered from anywhere") {
  const glia::zoo_options whole{.classes = 1000};
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}, std::size_t{95}}) {
    INFO(first);
    const file_list file = keras_inception(first);
    REQUIRE(file.size() == 94 * 4 + 2);
    check_keras(glia::inception_v3(whole), file);
    check_keras(glia::inception_v3(), file, 2);
  }
  const auto map = glia::keras_names(glia::inception_v3(), named_tensors(keras_inception(1)));
  CHECK(tensor_for(map, "conv1a_3x3.kernel") == "conv2d_1/conv2d_1/kernel:0");
  CHECK(tensor_for(map, "mixed10.branch_pool_bn.beta") ==
        "batch_normalization_94/batch_normalization_94/beta:0");
}

TEST_CASE("weights that Keras saved inside of a model are found") {
  const file_list file = keras_resnet({3, 4, 6, 3}, true);
  const auto map = glia::keras_names(glia::resnet50_v2(), named_tensors(file, "model_weights/"));
  CHECK(tensor_for(map, "conv1_conv.kernel") == "model_weights/conv1_conv/conv1_conv/kernel:0");
  const auto default_map = glia::keras_names(glia::resnet50_v2(), {});
  CHECK(tensor_for(default_map, "conv1_conv.kernel") == "conv1_conv/conv1_conv/kernel:0");
  const glia::tensor_map odd{{"kernel:0", {}},
                             {"/", {}},
                             {"", {}},
                             {"conv2d_99999999999999/a", {}},
                             {"conv2d_/kernel", {}},
                             {"conv2d_1x/kernel", {}}};
  CHECK(tensor_for(glia::keras_names(glia::inception_v3(), odd), "conv1a_3x3.kernel") ==
        "conv1a_3x3/conv1a_3x3/kernel:0");
}

TEST_CASE("some stages of a network take their own weights from a whole file") {
  const auto counted = [](const zoo_network& part, const glia::name_map& map,
                          const file_list& file) {
    std::size_t parameters = 0;
    for (const auto& p : glia::plan_model(part, {8, 8, part.has(0) ? 3U : 1024U}).parameters) {
      CHECK(tensor_for(map, p.name) != "");
      ++parameters;
    }
    CHECK(map.sources.size() == parameters);
    for (const auto& entry : file) {
      const std::string& name = entry.first;
      const bool ignored = std::any_of(map.ignored_suffixes.begin(), map.ignored_suffixes.end(),
                                       [&](const std::string& end) { return name.ends_with(end); });
      const bool used = std::any_of(map.sources.begin(), map.sources.end(),
                                    [&](const auto& source) { return source.tensor == name; });
      CHECK((ignored || used));
    }
    return parameters;
  };
  const file_list of_keras = keras_resnet({3, 4, 6, 3}, false);
  const zoo_network keras = glia::resnet50();
  const std::size_t border = keras.stage_of("conv5_block1_1_conv");
  for (const zoo_network& part :
       {keras.stages(0, border), keras.stages(border, keras.stage_count())}) {
    CHECK(counted(part, glia::keras_names(part, named_tensors(of_keras)), of_keras) ==
          (part.has(0) ? 318 - 60 : 60));
  }
  const zoo_network torch = glia::resnet50({}, of_torchvision);
  const zoo_network last = torch.stages(border, torch.stage_count());
  CHECK(counted(last, glia::torchvision_names(last), torchvision_resnet({3, 4, 6, 3})) == 50);
  // The numbered layers of later stages are those behind the first stages' ones.
  const zoo_network inception = glia::inception_v3();
  const auto map = glia::keras_names(inception.stages(11, 13), named_tensors(keras_inception(1)));
  CHECK(map.sources.front().tensor == "conv2d_86/conv2d_86/kernel:0");
}

TEST_CASE("weights of a file land where the names say, axes in glia's order") {
  const zoo_network net = glia::squeezenet1_1({.classes = 1000});
  glia::tensor_map tensors;
  std::uint32_t stream = 0;
  for (const auto& [name, s] : torchvision_squeezenet(64, 3, {3, 4, 6, 7, 9, 10, 11, 12})) {
    const std::vector<std::size_t> extents(s.begin(), s.end());
    tensors.emplace(name, xt::adapt(glia::testing::test_values(s, ++stream), extents));
  }
  glia::model model{net, {64, 64, 3}};
  glia::load_parameters(model, tensors, glia::torchvision_names(net));
  CHECK((model.get("fire3.expand3x3.kernel") ==
         xt::transpose(tensors.at("features.4.expand3x3.weight"), {2, 3, 1, 0})));
  CHECK((model.get("conv10.kernel") ==
         xt::transpose(tensors.at("classifier.1.weight"), {2, 3, 1, 0})));
  CHECK((model.get("conv1.bias") == tensors.at("features.0.bias")));
  tensors.erase("features.4.expand3x3.weight");
  CHECK(test::contains(test::message_of<glia::data_error>([&] {
                         glia::load_parameters(model, tensors, glia::torchvision_names(net));
                       }),
                       "1 tensors of the name map: features.4.expand3x3.weight;"));
}

TEST_CASE("names of another form or of other networks than published are refused") {
  const auto error = [](const auto& call) { return test::message_of<glia::value_error>(call); };
  CHECK(error([] { (void)glia::torchvision_names(glia::xception()); }) ==
        "torchvision_names: expected a network of zoo_form::torchvision, such as resnet50({}, "
        "zoo_form::torchvision), got xception of zoo_form::keras");
  CHECK(error([] { (void)glia::torchvision_names(zoo_network("mine", of_torchvision)); }) ==
        "torchvision_names: expected a ResNet, an Inception v3 or a SqueezeNet, got mine");
  CHECK(error([] { (void)glia::keras_names(glia::resnet50({}, of_torchvision), {}); }) ==
        "keras_names: expected a network of zoo_form::keras, got resnet50 of "
        "zoo_form::torchvision");
}

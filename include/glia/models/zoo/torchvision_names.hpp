#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/io/parameters.hpp"
#include "glia/models/zoo/zoo_network.hpp"
#include "glia/models/zoo/zoo_parameters.hpp"

namespace glia {

namespace detail {

/// torchvision's names of the layers with parameters, in the order of the network's nodes.
using torchvision_modules = std::vector<std::string>;

/// Returns torchvision's name of a ResNet's layer, such as layer3.1.bn1 for conv4_block2_1_bn.
[[nodiscard]] inline std::string torchvision_resnet_module(const std::string& layer) {
  if (!layer.starts_with("conv") || layer.find("_block") == std::string::npos) {
    return layer == "conv1_conv" ? "conv1" : layer == "conv1_bn" ? "bn1" : "fc";
  }
  const std::size_t group = std::stoul(layer.substr(4));
  const std::size_t after_block = layer.find("_block") + 6;
  const std::size_t block = std::stoul(layer.substr(after_block));
  const std::string part = layer.substr(layer.find('_', after_block) + 1);  // 1_bn
  const std::string within = part == "0_conv" ? "downsample.0"
                             : part == "0_bn" ? "downsample.1"
                                              : text(part.substr(2), part[0]);
  return text("layer", group - 1, '.', block - 1, '.', within);
}

/// Returns torchvision's name of a layer of Inception v3, such as Mixed_6a.branch3x3.bn for
/// mixed3.branch3x3_bn.
[[nodiscard]] inline std::string torchvision_inception_module(const std::string& layer) {
  if (layer == "predictions") {
    return "fc";
  }
  const bool normalizes = layer.ends_with("_bn");
  const std::string unit = normalizes ? layer.substr(0, layer.size() - 3) : layer;
  const std::string part = normalizes ? ".bn" : ".conv";
  const std::size_t dot = unit.find('.');
  if (dot == std::string::npos) {
    return text("Conv2d_", unit.substr(4), part);  // conv1a_3x3
  }
  constexpr std::array<std::string_view, 11> blocks{"5b", "5c", "5d", "6a", "6b", "6c",
                                                    "6d", "6e", "7a", "7b", "7c"};
  const std::size_t block = std::stoul(unit.substr(5, dot - 5));
  return text("Mixed_", blocks.at(block), unit.substr(dot), part);
}

/// Returns torchvision's names of the layers of a SqueezeNet, such as features.3.squeeze for
/// fire2.squeeze1x1. torchvision also numbers the pooling layers and the first activation.
[[nodiscard]] inline torchvision_modules torchvision_squeezenet_modules(const zoo_network& net) {
  torchvision_modules result;
  std::size_t number = 0;
  for (const zoo_node& node : net.nodes()) {
    if (node.name == "conv1") {
      result.push_back("features.0");
      number = 2;
    } else if (node.name == "conv10") {
      result.push_back("classifier.1");
    } else if (std::holds_alternative<max_pool2d>(node.layer) ||
               std::holds_alternative<join::concat>(node.layer)) {
      ++number;
    } else if (std::holds_alternative<conv2d>(node.layer)) {
      const std::string part = node.name.substr(node.name.find('.') + 1);
      result.push_back(text("features.", number, '.', part == "squeeze1x1" ? "squeeze" : part));
    }
  }
  return result;
}

[[nodiscard]] inline torchvision_modules torchvision_modules_of(const zoo_network& net) {
  if (net.name().starts_with("squeezenet")) {
    return torchvision_squeezenet_modules(net);
  }
  torchvision_modules result;
  for (const zoo_node& node : net.nodes()) {
    if (!parameter_names(node.layer).empty()) {
      result.push_back(net.name() == "inception_v3" ? torchvision_inception_module(node.name)
                                                    : torchvision_resnet_module(node.name));
    }
  }
  return result;
}

[[nodiscard]] inline bool torchvision_has(const zoo_network& net) {
  return net.name().starts_with("resnet") || net.name() == "inception_v3" ||
         net.name().starts_with("squeezenet");
}

/// Returns PyTorch's name of a parameter.
[[nodiscard]] inline std::string_view torch_parameter(const std::string& parameter) {
  if (parameter == "kernel" || parameter == "gamma") {
    return "weight";
  }
  return parameter == "moving_mean"       ? "running_mean"
         : parameter == "moving_variance" ? "running_var"
                                          : "bias";
}

/// Returns the suffixes of the tensors in a torchvision file that the network does not have.
[[nodiscard]] inline std::vector<std::string> torchvision_surplus(const zoo_network& net,
                                                                  bool classifies) {
  std::vector<std::string> ends{".num_batches_tracked"};
  if (net.name() == "inception_v3") {
    for (const char* module : {"conv0.conv", "conv0.bn", "conv1.conv", "conv1.bn", "fc"}) {
      for (const char* parameter : {"weight", "bias", "running_mean", "running_var"}) {
        ends.push_back(text("AuxLogits.", module, '.', parameter));
      }
    }
  }
  if (!classifies) {
    const std::string_view module = net.name().starts_with("squeezenet") ? "classifier.1" : "fc";
    ends.push_back(text(module, ".weight"));
    ends.push_back(text(module, ".bias"));
  }
  return ends;
}

}  // namespace detail

/// Returns the name map with which `load_parameters` loads the weights of torchvision's ResNets,
/// Inception v3 and SqueezeNets. The weights are a `state_dict` of PyTorch, saved as safetensors,
/// with names such as layer1.0.conv1.weight.
///
/// If the network has only some stages, only their weights are loaded. If it has no classifier, the
/// file's classifier is ignored. The auxiliary classifier of Inception v3 is always ignored.
/// `prefix` is the prefix of the network's parameters in the model: "features." for
/// named{"features", squeezenet1_1()}. Throws `value_error` for other networks, and for networks of
/// `zoo_form::keras`.
[[nodiscard]] inline name_map torchvision_names(const zoo_network& net,
                                                const std::string& prefix = "") {
  require<value_error>(net.form() == zoo_form::torchvision,
                       "torchvision_names: expected a network of zoo_form::torchvision, such as "
                       "resnet50({}, zoo_form::torchvision), got ",
                       net.name(), " of zoo_form::keras");
  require<value_error>(
      detail::torchvision_has(net),
      "torchvision_names: expected a ResNet, an Inception v3 or a SqueezeNet, got ", net.name());
  name_map map;
  const detail::torchvision_modules modules = detail::torchvision_modules_of(net);
  auto module = modules.begin();
  bool classifies = false;
  for (std::size_t n = 0; n < net.nodes().size(); ++n) {
    const zoo_node& node = net.nodes()[n];
    const std::vector<std::string> parameters = detail::parameter_names(node.layer);
    for (const std::string& parameter : parameters) {
      const std::string tensor = text(*module, '.', detail::torch_parameter(parameter));
      if (!net.has(n)) {
        map.ignored_suffixes.push_back(tensor);
        continue;
      }
      const tensor_layout layout = parameter != "kernel" ? tensor_layout::as_is
                                   : std::holds_alternative<dense>(node.layer)
                                       ? tensor_layout::oi
                                       : tensor_layout::oihw;
      map.sources.push_back({text(prefix, node.name, '.', parameter), tensor, layout});
    }
    module += parameters.empty() ? 0 : 1;
    classifies = classifies || node.name == "predictions" || node.name == "conv10";
  }
  const std::vector<std::string> surplus = detail::torchvision_surplus(net, classifies);
  map.ignored_suffixes.insert(map.ignored_suffixes.end(), surplus.begin(), surplus.end());
  return map;
}

}  // namespace glia

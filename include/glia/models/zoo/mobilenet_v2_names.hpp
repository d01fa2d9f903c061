#pragma once

#include <cmath>
#include <cstddef>
#include <string>

#include "glia/core/error.hpp"
#include "glia/io/parameters.hpp"
#include "glia/models/zoo/mobilenet_v2.hpp"

namespace glia {

namespace detail {

inline void add_normalization(name_map& map, const std::string& layer, const std::string& module) {
  map.sources.push_back({layer + ".gamma", module + ".weight"});
  map.sources.push_back({layer + ".beta", module + ".bias"});
  map.sources.push_back({layer + ".moving_mean", module + ".running_mean"});
  map.sources.push_back({layer + ".moving_variance", module + ".running_var"});
}

/// Returns torchvision's name of a unit's convolution. The batch normalization of the unit is the
/// next module.
[[nodiscard]] inline std::string torchvision_module(const std::string& unit) {
  if (unit == "stem.conv") {
    return "features.0.0";
  }
  if (unit == "head.conv") {
    return "features.18.0";
  }
  const std::size_t dot = unit.find('.', 7);  // blocks.3.expand
  const std::size_t block = std::stoul(unit.substr(7, dot - 7));
  const std::string part = unit.substr(dot + 1);
  const std::size_t expanded = block == 0 ? 0 : 1;
  const std::string module = text("features.", block + 1, ".conv.");
  if (part == "expand") {
    return module + "0.0";
  }
  return part == "depthwise" ? text(module, expanded, ".0") : text(module, expanded + 1);
}

}  // namespace detail

/// Returns the name map with which `load_parameters` loads weights of MobileNetV2 whose batch
/// normalization is folded into kernels and biases.
///
/// The tensors of the file must be named after the network's units, followed by .weight or .bias:
/// stem.conv.weight, blocks.0.depthwise.bias. Kernels have the order OIHW. A network with batch
/// normalization can use these weights, too: gamma and the statistics are then set so that batch
/// normalization only adds the bias.
///
/// `prefix` is the prefix of the network's parameters in the model: "features." for
/// named{"features", mobilenet_v2{}}.
[[nodiscard]] inline name_map folded_names(const mobilenet_v2& net,
                                           const std::string& prefix = "") {
  name_map map;
  for (const mobilenet_v2::unit& unit : net.units()) {
    const std::string path = prefix + unit.name;
    map.sources.push_back({path + ".kernel", unit.name + ".weight", tensor_layout::oihw});
    if (unit.normalization) {
      const std::string norm = path + ".normalization";
      map.sources.push_back({norm + ".gamma", "", {}, 1});
      map.sources.push_back({norm + ".beta", unit.name + ".bias"});
      map.sources.push_back({norm + ".moving_mean", "", {}, 0});
      map.sources.push_back(
          {norm + ".moving_variance", "", {}, static_cast<float>(1 - unit.normalization->epsilon)});
    } else {
      map.sources.push_back({path + ".bias", unit.name + ".bias"});
    }
  }
  return map;
}

/// Returns the name map with which `load_parameters` loads the weights of torchvision's
/// MobileNetV2. The tensors have the names of PyTorch's `state_dict`, such as features.0.0.weight
/// and features.0.1.running_mean. The classifier is loaded if the network has one.
///
/// `prefix` is the prefix of the network's parameters in the model. Throws `value_error` for a
/// network without batch normalization.
[[nodiscard]] inline name_map torchvision_names(const mobilenet_v2& net,
                                                const std::string& prefix = "") {
  require<value_error>(net.options().use_batch_norm,
                       "torchvision_names: torchvision's weights contain batch normalization; make "
                       "the network with use_batch_norm = true");
  name_map map;
  for (const mobilenet_v2::unit& unit : net.units()) {
    const std::string path = prefix + unit.name;
    const std::string module = detail::torchvision_module(unit.name);
    map.sources.push_back({path + ".kernel", module + ".weight", tensor_layout::oihw});
    // The batch normalization is the next module after the convolution.
    const std::size_t dot = module.rfind('.');
    const std::size_t number = std::stoul(module.substr(dot + 1));
    detail::add_normalization(map, path + ".normalization",
                              text(module.substr(0, dot + 1), number + 1));
  }
  map.ignored_suffixes = {".num_batches_tracked"};
  if (net.options().classes > 0) {
    map.sources.push_back({prefix + "classifier.kernel", "classifier.1.weight", tensor_layout::oi});
    map.sources.push_back({prefix + "classifier.bias", "classifier.1.bias"});
  } else {
    map.ignored_suffixes.insert(map.ignored_suffixes.end(),
                                {"classifier.1.weight", "classifier.1.bias"});
  }
  return map;
}

}  // namespace glia

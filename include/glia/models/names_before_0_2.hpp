#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "glia/core/error.hpp"
#include "glia/io/parameters.hpp"
#include "glia/layers/plan.hpp"

namespace glia {

/// Where the parameters of this plan's model are in a file that was written with glia 0.1, which
/// named layers by their type and place in the whole model: `batch_norm_51.moving_mean` is
/// `head.conv.normalization.moving_mean` today. Models whose layers nobody names are called alike
/// in both.
///
///     glia::load_parameters(net, glia::read_safetensors("old.safetensors"),
///                           glia::names_before_0_2(net.plan()));
///     glia::save(net, "new.safetensors");
///
/// The model has to have the layers that it had then, in their order.
[[nodiscard]] inline name_map names_before_0_2(const model_plan& plan) {
  std::map<std::string, std::size_t> counts;
  std::map<std::string, std::string> old_names;
  for (const layer_summary& layer : plan.layers) {
    const std::string type = layer.description.substr(0, layer.description.find('('));
    old_names[layer.name] = text(type, '_', counts[type]++);
  }
  name_map map;
  for (const parameter_spec& parameter : plan.parameters) {
    const std::size_t dot = parameter.name.rfind('.');
    map.sources.push_back(
        {.parameter = parameter.name,
         .tensor = old_names.at(parameter.name.substr(0, dot)) + parameter.name.substr(dot)});
  }
  return map;
}

}  // namespace glia

#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/backends/numbers_of.hpp"
#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/layers/adaptation.hpp"
#include "glia/layers/scope.hpp"
#include "glia/training/adapt.hpp"
#include "glia/training/dataset_batches.hpp"

namespace glia::detail {

/// Runs the model on all batches, and returns the statistics of the layers that are fitted.
[[nodiscard]] inline adaptation collect(const model_core& net, parameter_list& parameters,
                                        const dataset_view& data, std::size_t batch_size) {
  adaptation collected;
  std::vector<gradient_slot> slots;
  for_each_batch(data, batch_size_for(batch_size, net.sample_shape()), [&](const batch& b) {
    net.require_integers(std::span<const float>(b.inputs), model_part::whole);
    collected.target_shape = b.target_shape;
    collected.targets = b.targets;
    tape unused(net.device());
    scope s(unused, parameters, slots, collected);
    const tensor x =
        net.device().samples_from_host(std::span<const float>(b.inputs), b.input_shape);
    static_cast<void>(net.run(s, unused.constant(x)));
    return true;
  });
  return collected;
}

/// Sets the parameters of the layers to their statistics. Returns whether a parameter has changed.
[[nodiscard]] inline bool set_statistics(const device& device, const adaptation& collected) {
  bool is_changed = false;
  const auto set = [&](tensor& parameter, const std::vector<double>& values) {
    const tensor fitted = tensor_of(device, values, parameter.shape());
    is_changed = is_changed || numbers_of(device, fitted) != numbers_of(device, parameter);
    parameter = fitted;
  };
  for (const fitted_layer& layer : collected.layers) {
    set(*layer.mean, layer.statistics.means());
    set(*layer.scale, layer.statistics.deviations());
  }
  return is_changed;
}

GLIA_INLINE void adapt(model_core& net, const dataset_view& data, std::size_t batch_size) {
  require<value_error>(data.size() > 0, "adapt: expected at least one sample, got none");
  require_same_shape("adapt: a sample", net.sample_shape(), data.input_shape());
  const model_access::training alone(net.access());
  parameter_list parameters = net.parameters();  // copies, so that an error changes nothing
  // A layer behind another fitted layer needs the final statistics of that layer, so the passes are
  // repeated until nothing changes.
  std::size_t remaining_passes = 1;
  for (std::size_t pass = 0; pass < remaining_passes; ++pass) {
    adaptation collected = collect(net, parameters, data, batch_size);
    require<value_error>(!collected.layers.empty(),
                         "adapt: the model has no layer that is fitted to data, such as "
                         "glia::standardize");
    remaining_passes = set_statistics(net.device(), collected) ? collected.layers.size() : 0;
  }
  net.parameters() = std::move(parameters);
  net.set_adapted();
}

GLIA_INLINE std::vector<std::string> layers_to_adapt(const model_core& net) {
  std::vector<std::string> result;
  if (net.is_adapted()) {
    return result;
  }
  const device& device = net.device();
  for (const std::string& layer : net.plan().adapted_layers) {
    const auto is_unchanged = [&](const parameter& p) {
      return !p.spec.name.starts_with(layer + '.') ||
             numbers_of(device, p.value) ==
                 numbers_of(device, make_parameters({p.spec}, device, 0)[0].value);
    };
    if (std::all_of(net.parameters().begin(), net.parameters().end(), is_unchanged)) {
      result.push_back(layer);
    }
  }
  return result;
}

}  // namespace glia::detail

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/backends/numbers_of.hpp"
#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/kernels/kernel.hpp"
#include "glia/layers/parameters.hpp"
#include "glia/models/model_access.hpp"

namespace glia {

/// Copies parameters and running statistics from one model to another, by name.
///
///     glia::copy_parameters(net, target);  // a target network of reinforcement learning
///
/// The models can have the same layers, or one can contain all layers of the other: parameters that
/// only one model has stay as they are. The models can run on different devices. Everything is
/// checked before any parameter changes.
///
/// Throws `value_error` if each model has a parameter that the other lacks, or if another thread
/// trains `destination`. Throws `shape_error` if two parameters of the same name have different
/// shapes.
template <class Source, class Destination>
void copy_parameters(const Source& source, Destination& destination) {
  static_assert(!std::is_const_v<Destination>,
                "copy_parameters: the second model is const, but its parameters change; expected "
                "copy_parameters(from, to)");
  const auto sources = source.core().parameters_now();
  auto& parameters = destination.parameters();
  std::map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    by_name.emplace(sources[i].spec.name, i);
  }
  std::string missing;
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const parameter_spec& spec = parameters[i].spec;
    const auto found = by_name.find(spec.name);
    if (found == by_name.end()) {
      missing = missing.empty() ? spec.name : missing;
      continue;
    }
    require_same_shape(text("copy_parameters: ", spec.name).c_str(), spec.shape,
                       sources[found->second].spec.shape);
    pairs.emplace_back(found->second, i);
    by_name.erase(found);
  }
  require<value_error>(missing.empty() || by_name.empty(),
                       "copy_parameters: expected models with the same parameters, or one that "
                       "has all parameters of the other; only the second model has '",
                       missing, "', only the first has '",
                       by_name.empty() ? std::string_view() : by_name.begin()->first,
                       "'; give the layers the same names, for example with named");
  std::vector<tensor> copies;
  for (const auto& [index, target] : pairs) {
    copies.push_back(tensor_of(destination.device(),
                               numbers_of(source.device(), sources[index].value),
                               sources[index].spec.shape));
  }
  const model_access::training alone(destination.access());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    parameters[pairs[i].second].value = std::move(copies[i]);
  }
}

}  // namespace glia

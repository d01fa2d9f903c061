#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/backends/numbers_of.hpp"
#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/joined_text.hpp"
#include "glia/kernels/kernel.hpp"
#include "glia/models/copy_parameters.hpp"

namespace glia::detail {

/// Throws `value_error` if a path fits none of the parameters. `model_text` names their model.
GLIA_INLINE void require_parameter(std::string_view path, const parameter_list& parameters,
                                   std::string_view model_text) {
  std::vector<std::string> names;
  for (const parameter& p : parameters) {
    if (path.empty() || fits_path(path, p.spec.name)) {
      return;
    }
    names.push_back(p.spec.name);
  }
  require<value_error>(path.empty(), "copy_parameters: no parameter of the ", model_text,
                       " fits the path '", path, "'; its parameters are ", with_commas(names));
}

GLIA_INLINE void copy_parameters(const parameter_list& sources, const device& source_device,
                                 parameter_list& parameters, const device& destination_device,
                                 const model_access& access, std::string_view path) {
  require_parameter(path, sources, "first model");
  require_parameter(path, parameters, "second model");
  std::map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (fits_path(path, sources[i].spec.name)) {
      by_name.emplace(sources[i].spec.name, i);
    }
  }
  std::string missing;
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const parameter_spec& spec = parameters[i].spec;
    if (!fits_path(path, spec.name)) {
      continue;
    }
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
                       "'; give the layers the same names, for example with named, or "
                       "copy only a part with the option path");
  std::vector<tensor> copies;
  copies.reserve(pairs.size());
  for (const auto& [index, target] : pairs) {
    copies.push_back(tensor_of(destination_device, numbers_of(source_device, sources[index].value),
                               sources[index].spec.shape));
  }
  const model_access::training alone(access);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    parameters[pairs[i].second].value = std::move(copies[i]);
  }
}

}  // namespace glia::detail

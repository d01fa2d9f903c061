#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/io/tensor_map.hpp"

namespace glia {

/// How a tensor's axes lie in a file. glia's own kernels are HWIO and IO.
enum class tensor_layout : std::uint8_t {
  as_is,  ///< as in glia
  oihw,   ///< convolution kernels of PyTorch and ONNX
  oi,     ///< dense kernels of PyTorch and ONNX
};

/// Where one parameter of a model comes from: a tensor of a file or, where `tensor` is empty, one
/// value for all elements.
struct parameter_source {
  std::string parameter;  ///< conv2d_0.kernel
  std::string tensor;     ///< features.0.0.weight
  tensor_layout layout = tensor_layout::as_is;
  float value = 0;
};

/// Which tensors of a file become which parameters of a model.
struct name_map {
  std::vector<parameter_source> sources;
  std::vector<std::string> ignored;  ///< ends of the names of tensors that are not wanted
};

namespace detail {

[[nodiscard]] inline xt::xarray<float> in_glias_layout(const xt::xarray<float>& x,
                                                       tensor_layout layout) {
  const std::size_t rank = x.dimension();
  if (layout == tensor_layout::oihw && rank == 4) {
    return xt::transpose(x, {2, 3, 1, 0});
  }
  if (layout == tensor_layout::oi && rank == 2) {
    return xt::transpose(x, {1, 0});
  }
  return x;
}

/// So many of the names as are of use in a message.
[[nodiscard]] inline std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  std::string result;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
    result += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() > most ? text(result, " and ", names.size() - most, " more") : result;
}

}  // namespace detail

/// Gives a model's parameters the values that `tensors` has for them; parameters that the map does
/// not name keep theirs. All is checked before anything is set.
///
/// Throws `data_error` for tensors that are missing, or there and neither named nor ignored by the
/// map, and `shape_error` for one of another shape than its parameter, naming each.
template <class Model>
void load_parameters(Model& net, const tensor_map& tensors, const name_map& names) {
  std::vector<std::string> missing;
  std::set<std::string> used;
  for (const parameter_source& source : names.sources) {
    used.insert(source.tensor);
    if (!source.tensor.empty() && !tensors.contains(source.tensor)) {
      missing.push_back(source.tensor);
    }
  }
  std::vector<std::string> surplus;
  for (const auto& [name, values] : tensors) {
    const bool ignored =
        std::any_of(names.ignored.begin(), names.ignored.end(),
                    [&name = name](const std::string& end) { return name.ends_with(end); });
    if (!ignored && !used.contains(name)) {
      surplus.push_back(name);
    }
  }
  const std::string advice = "; is the file of this network, and the name map of this file?";
  require<data_error>(missing.empty(), "load_parameters: ", missing.size(),
                      " tensors are missing: ", detail::some_of(missing),
                      surplus.empty() ? "" : "; there are others: " + detail::some_of(surplus),
                      advice);
  require<data_error>(surplus.empty(), "load_parameters: ", surplus.size(),
                      " tensors belong to no parameter: ", detail::some_of(surplus), advice);

  std::vector<std::pair<std::string, xt::xarray<float>>> values;
  for (const parameter_source& source : names.sources) {
    const xt::xarray<float> before = net.get(source.parameter);
    const shape wanted(before.shape().begin(), before.shape().end());
    if (source.tensor.empty()) {
      values.emplace_back(source.parameter, xt::xarray<float>(before.shape(), source.value));
      continue;
    }
    const xt::xarray<float>& stored = tensors.at(source.tensor);
    xt::xarray<float> mine = detail::in_glias_layout(stored, source.layout);
    require<shape_error>(
        shape(mine.shape().begin(), mine.shape().end()) == wanted, "load_parameters: tensor '",
        source.tensor, "' has the shape ", shape(stored.shape().begin(), stored.shape().end()),
        source.layout == tensor_layout::as_is ? "" : ", its axes in another order,", " but '",
        source.parameter, "' of the model has ", wanted);
    values.emplace_back(source.parameter, std::move(mine));
  }
  for (const auto& [name, value] : values) {
    net.set(name, value);
  }
}

/// The parameters of a model by name: what `write_safetensors` takes.
template <class Model>
[[nodiscard]] tensor_map parameters_of(const Model& net) {
  tensor_map result;
  for (const auto& p : net.parameters()) {
    result.emplace(p.spec.name, net.get(p.spec.name));
  }
  return result;
}

/// The map for a file in which every parameter stands under its own name.
template <class Model>
[[nodiscard]] name_map same_names(const Model& net) {
  name_map result;
  for (const auto& p : net.parameters()) {
    result.sources.push_back({p.spec.name, p.spec.name});
  }
  return result;
}

}  // namespace glia

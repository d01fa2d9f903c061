#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
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
  o_chw,  ///< those behind a flatten of images, whose inputs lie channel by channel there
  hwim,   ///< depthwise convolution kernels of Keras: M filters for each input
};

/// Where one parameter of a model comes from: a tensor of a file or, where `tensor` is empty, one
/// value for all elements.
struct parameter_source {
  std::string parameter;  ///< conv2d_0.kernel
  std::string tensor;     ///< features.0.0.weight
  tensor_layout layout = tensor_layout::as_is;
  float value = 0;
  std::size_t channels = 0;  ///< of the images that were flattened, for o_chw
};

/// Which tensors of a file become which parameters of a model.
struct name_map {
  std::vector<parameter_source> sources;
  std::vector<std::string> ignored;  ///< ends of the names of tensors that are not wanted
};

namespace detail {

[[nodiscard]] inline xt::xarray<float> in_glias_layout(const xt::xarray<float>& x,
                                                       const parameter_source& source) {
  const std::size_t rank = x.dimension();
  if (source.layout == tensor_layout::oihw && rank == 4) {
    return xt::transpose(x, {2, 3, 1, 0});
  }
  if (source.layout == tensor_layout::oi && rank == 2) {
    return xt::transpose(x, {1, 0});
  }
  if (source.layout == tensor_layout::hwim && rank == 4) {
    xt::xarray<float> mine = x;
    mine.reshape({x.shape(0), x.shape(1), std::size_t{1}, x.shape(2) * x.shape(3)});
    return mine;
  }
  if (source.layout == tensor_layout::o_chw && rank == 2) {
    const std::size_t outputs = x.shape(0);
    const std::size_t inputs = x.shape(1);
    const std::size_t channels = source.channels;
    require<value_error>(channels > 0 && inputs % channels == 0, "load_parameters: expected for '",
                         source.parameter, "' channels that divide its ", inputs,
                         " inputs, as it has the layout o_chw, got ", channels);
    xt::xarray<float> apart = x;
    apart.reshape({outputs, channels, inputs / channels});
    xt::xarray<float> mine = xt::transpose(apart, {2, 1, 0});
    mine.reshape({inputs, outputs});
    return mine;
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
/// not name keep theirs. All is checked before anything is set. A dense kernel behind a flatten of
/// images has the right shape in either order of its inputs: PyTorch's is `o_chw`, not `oi`.
///
/// Throws `value_error` for channels that o_chw cannot have, `data_error` for tensors that are
/// missing, that cannot be read, or that are there and neither named nor ignored by the map, and
/// `shape_error` for one of another shape than its parameter, naming each.
template <class Model>
void load_parameters(Model& net, const tensor_map& tensors, const name_map& names) {
  using access = std::remove_cvref_t<decltype(net.access())>;
  const typename access::training alone(net.access());  // all of them between the same two steps
  std::vector<std::string> missing;
  std::set<std::string> used;
  for (const parameter_source& source : names.sources) {
    used.insert(source.tensor);
    if (!source.tensor.empty() && !tensors.is_in_file(source.tensor)) {
      missing.push_back(source.tensor);
    }
  }
  std::vector<std::string> surplus;
  const auto look = [&](const auto& named) {
    for (const auto& one : named) {
      const std::string& name = one.first;
      const bool ignored = std::any_of(names.ignored.begin(), names.ignored.end(),
                                       [&](const std::string& end) { return name.ends_with(end); });
      if (!ignored && !used.contains(name)) {
        surplus.push_back(name);
      }
    }
  };
  look(tensors);
  look(tensors.unreadable());
  const std::string advice = "; is the file of this network, and the name map of this file?";
  require<data_error>(missing.empty(), "load_parameters: ", missing.size(),
                      " tensors are missing: ", detail::some_of(missing),
                      surplus.empty() ? "" : "; there are others: " + detail::some_of(surplus),
                      advice);
  require<data_error>(surplus.empty(), "load_parameters: ", surplus.size(),
                      " tensors belong to no parameter: ", detail::some_of(surplus),
                      "; list those that are not wanted in name_map::ignored", advice);

  std::vector<std::pair<std::string, xt::xarray<float>>> values;
  for (const parameter_source& source : names.sources) {
    const xt::xarray<float> before = net.get(source.parameter);
    const shape wanted(before.shape().begin(), before.shape().end());
    if (source.tensor.empty()) {
      values.emplace_back(source.parameter, xt::xarray<float>(before.shape(), source.value));
      continue;
    }
    const xt::xarray<float>& stored = tensors.at(source.tensor);
    xt::xarray<float> mine = detail::in_glias_layout(stored, source);
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
  // A training beside this leaves a copy alone.
  const Model now(net);  // NOLINT(performance-unnecessary-copy-initialization)
  for (const auto& p : now.parameters()) {
    result.emplace(p.spec.name, now.get(p.spec.name));
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

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
#include "glia/core/joined_text.hpp"
#include "glia/core/shape.hpp"
#include "glia/io/tensor_map.hpp"

namespace glia {

/// The order of a tensor's axes in a file. In glia, convolution kernels are HWIO (height, width,
/// inputs, outputs) and dense kernels are IO.
enum class tensor_layout : std::uint8_t {
  as_is,  ///< The same order as in glia. Keras has it, too, except for depthwise kernels.
  oihw,   ///< Convolution kernels (outputs, inputs, height, width) of PyTorch and ONNX.
  oi,     ///< Dense kernels (outputs, inputs) of PyTorch and ONNX.
  /// Dense kernels (outputs, inputs) of PyTorch and ONNX that follow a flatten of channels-first
  /// images. Their inputs are ordered by channel, row and column.
  o_chw,
  hwim,  ///< Depthwise kernels (height, width, inputs, multiplier) of Keras.
};

/// The source of one parameter of a model: a tensor of a file or, if `tensor` is empty, one value
/// for all elements.
struct parameter_source {
  std::string parameter;  ///< Path of the parameter in the model, such as "conv2d_0.kernel".
  std::string tensor;     ///< Name of the tensor in the file, such as "features.0.0.weight".
  tensor_layout layout = tensor_layout::as_is;  ///< Order of the tensor's axes in the file.
  float value = 0;                              ///< Value of all elements if `tensor` is empty.
  std::size_t channels = 0;  ///< Number of channels of the flattened images; needed for `o_chw`.
  /// Number of equal parts into which the tensor is divided along its last axis, in glia's order of
  /// axes; for tensors that hold the kernels of several parameters, such as queries, keys and
  /// values.
  std::size_t parts = 1;
  std::size_t part = 0;  ///< Index of the parameter's part, below `parts`.
};

/// A mapping from the tensors of a file to the parameters of a model.
struct name_map {
  std::vector<parameter_source> sources;  ///< One entry for each parameter to be set.
  /// Suffixes of names. Tensors whose names end in one of these suffixes are ignored. Any other
  /// tensor of the file must be in `sources`; otherwise loading throws.
  std::vector<std::string> ignored_suffixes;
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
    xt::xarray<float> result = x;
    result.reshape({x.shape(0), x.shape(1), std::size_t{1}, x.shape(2) * x.shape(3)});
    return result;
  }
  if (source.layout == tensor_layout::o_chw && rank == 2) {
    const std::size_t outputs = x.shape(0);
    const std::size_t inputs = x.shape(1);
    const std::size_t channels = source.channels;
    require<value_error>(channels > 0 && inputs % channels == 0, "load_parameters: parameter '",
                         source.parameter, "' has the layout o_chw and ", inputs,
                         " inputs: expected a number of channels that divides them, got ",
                         channels);
    xt::xarray<float> apart = x;
    apart.reshape({outputs, channels, inputs / channels});
    xt::xarray<float> result = xt::transpose(apart, {2, 1, 0});
    result.reshape({inputs, outputs});
    return result;
  }
  return x;
}

/// Returns the parameter's part of a tensor in glia's layout.
[[nodiscard]] inline xt::xarray<float> selected_part(xt::xarray<float> x,
                                                     const parameter_source& source) {
  if (source.parts == 1 && source.part == 0) {
    return x;
  }
  const std::size_t extent = x.dimension() == 0 ? 1 : x.shape().back();
  require<value_error>(source.part < source.parts && extent % source.parts == 0,
                       "load_parameters: parameter '", source.parameter, "' is part ", source.part,
                       " of ", source.parts, " parts of the ", extent, " columns of the tensor '",
                       source.tensor,
                       "': expected a part below the number of parts, which divides the columns");
  const std::size_t width = extent / source.parts;
  const std::size_t first = source.part * width;
  auto extents = x.shape();
  extents.back() = width;
  xt::xarray<float> result(extents);
  for (std::size_t row = 0; row * extent < x.size(); ++row) {
    std::copy_n(x.data() + row * extent + first, width, result.data() + row * width);
  }
  return result;
}

/// Returns at most five of the names, and the number of the others, for an error message.
[[nodiscard]] inline std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t max_names = 5;
  const std::string result = with_commas(names, max_names);
  return names.size() > max_names ? text(result, " and ", names.size() - max_names, " more")
                                  : result;
}

}  // namespace detail

/// Sets a model's parameters to tensors of a file. `names` maps the names of the tensors to the
/// parameters of the model. Parameters that `names` does not list keep their values.
///
/// Everything is checked before any parameter changes. One mistake cannot be detected, because the
/// shapes agree: the layout `oi` for a dense kernel that follows a flatten of images. In a file of
/// PyTorch, such a kernel has the layout `o_chw`.
///
///     glia::load_parameters(net, glia::read_safetensors("net.safetensors"),
///                           glia::same_names(net));
///
/// Throws `data_error` if tensors are missing or cannot be read, or if the file has tensors that
/// `names` neither lists nor ignores. Throws `shape_error` if a tensor does not have the shape of
/// its parameter. Throws `value_error` if the model has no parameter of a given name, if `channels`
/// does not divide the inputs of a kernel with the layout `o_chw`, or if `parts` does not divide
/// the last axis of a tensor.
template <class Model>
void load_parameters(Model& net, const tensor_map& tensors, const name_map& names) {
  using access = std::remove_cvref_t<decltype(net.access())>;
  const typename access::training alone(net.access());  // no training step while this runs
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
    for (const auto& entry : named) {
      const std::string& name = entry.first;
      const bool ignored = std::any_of(names.ignored_suffixes.begin(), names.ignored_suffixes.end(),
                                       [&](const std::string& end) { return name.ends_with(end); });
      if (!ignored && !used.contains(name)) {
        surplus.push_back(name);
      }
    }
  };
  look(tensors);
  look(tensors.unreadable());
  const std::string advice =
      "; check that the file belongs to this model, and the name map to this file";
  require<data_error>(missing.empty(), "load_parameters: the file lacks ", missing.size(),
                      " tensors of the name map: ", detail::some_of(missing),
                      surplus.empty() ? "" : "; it has others: " + detail::some_of(surplus),
                      advice);
  require<data_error>(surplus.empty(), "load_parameters: the file has ", surplus.size(),
                      " tensors that the name map does not list: ", detail::some_of(surplus),
                      "; to ignore tensors, add ends of their names to name_map::ignored_suffixes",
                      advice);

  std::vector<std::pair<std::string, xt::xarray<float>>> values;
  for (const parameter_source& source : names.sources) {
    const xt::xarray<float> current = net.get(source.parameter);
    const shape expected(current.shape().begin(), current.shape().end());
    if (source.tensor.empty()) {
      values.emplace_back(source.parameter, xt::xarray<float>(current.shape(), source.value));
      continue;
    }
    const xt::xarray<float>& stored = tensors.at(source.tensor);
    xt::xarray<float> converted =
        detail::selected_part(detail::in_glias_layout(stored, source), source);
    require<shape_error>(shape(converted.shape().begin(), converted.shape().end()) == expected,
                         "load_parameters: tensor '", source.tensor, "' has the shape ",
                         shape(stored.shape().begin(), stored.shape().end()),
                         source.layout == tensor_layout::as_is ? "" : ", in another order of axes,",
                         " but the model's parameter '", source.parameter, "' has the shape ",
                         expected);
    values.emplace_back(source.parameter, std::move(converted));
  }
  for (const auto& [name, value] : values) {
    net.set(name, value);
  }
}

/// Returns copies of all parameters of a model by name, for instance for `write_safetensors`. The
/// copies stay unchanged even if a training runs at the same time.
template <class Model>
[[nodiscard]] tensor_map parameters_of(const Model& net) {
  tensor_map result;
  // A simultaneous training does not change a copy.
  const Model copy(net);  // NOLINT(performance-unnecessary-copy-initialization)
  for (const auto& p : copy.parameters()) {
    result.emplace(p.spec.name, copy.get(p.spec.name));
  }
  return result;
}

/// Returns the name map for a file whose tensors have the same names as the model's parameters,
/// such as a file to which the result of `parameters_of` was written.
template <class Model>
[[nodiscard]] name_map same_names(const Model& net) {
  name_map result;
  for (const auto& p : net.parameters()) {
    result.sources.push_back({p.spec.name, p.spec.name});
  }
  return result;
}

}  // namespace glia

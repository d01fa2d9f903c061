#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/io/checked_content.hpp"
#include "glia/models/model_access.hpp"
#include "glia/models/model_identity.hpp"

namespace glia {

namespace detail {

inline constexpr std::string_view model_file = "model 1";
inline constexpr std::string_view checkpoint_file = "checkpoint 1";

}  // namespace detail

/// Writes a model's parameters, in the numbers that its backend computes in, to a safetensors file
/// that also says which network they are of, with a checksum. The file is there whole or not at
/// all, and beside a training on another thread it is of the model between two steps. Needs
/// nlohmann-json: link `glia::safetensors`.
///
/// Throws `data_error`, naming the file, where it cannot be written.
template <class Model>
void save(const Model& net, const std::filesystem::path& path) {
  using T = typename Model::backend_type::value_type;
  safetensors_content content{.tensors = {},
                              .metadata = model_identity(net.plan(), net.sample_shape())};
  content.metadata["glia"] = detail::model_file;
  for (const auto& p : net.core().parameters_now()) {
    std::vector<T> values(p.spec.shape.size());
    net.device().to_host(p.value, std::span<T>(values));
    content.tensors.push_back({p.spec.name, p.spec.shape, std::move(values)});
  }
  write_checked_content(path, std::move(content));
}

/// Gives a model the parameters that `save` wrote, or that a checkpoint of its training holds, to
/// the bit where both are in the same numbers. All is checked, and put on the device, before
/// anything is changed.
///
/// Throws `data_error`, naming the file: for one that is damaged, that glia did not write, or that
/// is of another network, with the first difference; and `value_error` beside a training of the
/// model on another thread. Weights of other programs, and of networks that are other ones on
/// purpose, are for `load_parameters`.
template <class Model>
void load(Model& net, const std::filesystem::path& path) {
  using T = typename Model::backend_type::value_type;
  const safetensors_content content = read_checked_content(path);
  require_identity(path.string(), content.metadata, model_identity(net.plan(), net.sample_shape()));
  const auto kind = content.metadata.find("glia");
  require<data_error>(
      kind != content.metadata.end() &&
          (kind->second == detail::model_file || kind->second == detail::checkpoint_file),
      path.string(), ": expected '", detail::model_file, "' or '", detail::checkpoint_file,
      "', the file says '", kind == content.metadata.end() ? "" : kind->second,
      "'; it was written by another version of glia");
  auto& parameters = net.parameters();
  std::map<std::string_view, const named_tensor*> by_name;
  for (const named_tensor& t : content.tensors) {
    by_name.emplace(t.name, &t);
  }
  std::vector<typename Model::backend_type::tensor> made;
  for (const auto& p : parameters) {
    const auto at = by_name.find(p.spec.name);
    require<data_error>(at != by_name.end(), path.string(), ": has no tensor '", p.spec.name,
                        "'; the file is damaged");
    const named_tensor* const found = at->second;
    require<data_error>(found->shape == p.spec.shape, path.string(), ": tensor '", p.spec.name,
                        "' has the shape ", found->shape, ", expected ", p.spec.shape,
                        "; the file is damaged");
    const std::vector<T> values = found->template as<T>();
    made.push_back(net.device().from_host(std::span<const T>(values), p.spec.shape));
  }
  require<data_error>(
      content.tensors.size() == made.size() || kind->second == detail::checkpoint_file,
      path.string(), ": has ", content.tensors.size(), " tensors, expected ", made.size(),
      "; the file is damaged");
  const model_access::training alone(net.access());
  for (std::size_t i = 0; i < made.size(); ++i) {
    parameters[i].value = std::move(made[i]);
  }
}

}  // namespace glia

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/version.hpp"
#include "glia/io/safetensors.hpp"

namespace glia {

namespace detail {

/// FNV-1a in 64 bits.
[[nodiscard]] constexpr std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return hash;
}

/// What of a model its file names, so that another network's is not taken for it: the description,
/// a line for each layer, the shape of a sample, and a fingerprint of what the layers compute,
/// which tells those apart that are called alike, as lambdas may be.
template <class Model>
[[nodiscard]] std::map<std::string, std::string> identity_of(const Model& net) {
  std::string layers;
  std::string costs;
  for (const auto& layer : net.plan().layers) {
    layers += text(layer.name, ": ", layer.description, " gives ", layer.output, ", ",
                   layer.parameters, " parameters\n");
    // In full: printed as a floating-point number, a few more of many would not show.
    costs += text(static_cast<std::uint64_t>(layer.flops), ' ', layer.activation_bytes, '\n');
  }
  return {{"glia", "model 1"},
          {"description", net.description().description()},
          {"sample", text(net.sample_shape())},
          {"layers", layers},
          {"fingerprint", text("glia ", GLIA_VERSION_MAJOR, '.', GLIA_VERSION_MINOR, '.',
                               GLIA_VERSION_PATCH, ": ", hash_of(layers + costs))}};
}

/// The line in which two texts differ first.
[[nodiscard]] inline std::pair<std::string_view, std::string_view> first_difference(
    std::string_view a, std::string_view b) {
  const auto line = [](std::string_view all) { return all.substr(0, all.find('\n')); };
  while (line(a) == line(b) && line(a).size() < a.size() && line(b).size() < b.size()) {
    a.remove_prefix(line(a).size() + 1);
    b.remove_prefix(line(b).size() + 1);
  }
  return {line(a), line(b)};
}

}  // namespace detail

/// Writes a model's parameters, in the numbers that its backend computes in, to a safetensors file
/// that also says which network they are of. The file is there whole or not at all. Needs
/// nlohmann-json: link `glia::safetensors`.
///
/// Throws `data_error`, naming the file, where it cannot be written.
template <class Model>
void save(const Model& net, const std::filesystem::path& path) {
  using T = typename Model::backend_type::value_type;
  safetensors_content content{.tensors = {}, .metadata = detail::identity_of(net)};
  for (const auto& p : net.parameters()) {
    std::vector<T> values(p.spec.shape.size());
    net.device().to_host(p.value, std::span<T>(values));
    content.tensors.push_back({p.spec.name, p.spec.shape, std::move(values)});
  }
  write_safetensors_content(path, content);
}

/// Gives a model the parameters that `save` wrote, to the bit where both are in the same numbers.
/// All is checked, and put on the device, before anything is changed.
///
/// Throws `data_error`, naming the file: for one that is damaged, that `save` did not write, or
/// that is of another network, with the first difference. Weights of other programs, and of
/// networks that are other ones on purpose, are for `load_parameters`.
template <class Model>
void load(Model& net, const std::filesystem::path& path) {
  using T = typename Model::backend_type::value_type;
  const safetensors_content content = read_safetensors_content(path);
  const auto expected = detail::identity_of(net);
  const auto said = [&](const char* what) -> std::string_view {
    const auto found = content.metadata.find(what);
    require<data_error>(found != content.metadata.end(), path.string(),
                        ": is no model that glia::save wrote, as it does not say what network it "
                        "is of; for files of other programs there is load_parameters");
    return found->second;
  };
  for (const char* what : {"glia", "sample", "layers", "description"}) {
    const auto [theirs, ours] = detail::first_difference(said(what), expected.at(what));
    require<data_error>(theirs == ours, path.string(), ": is of another network (", what,
                        "): the file has '", theirs, "', the model '", ours,
                        "'; to take what fits, use load_parameters");
  }
  // Another version may count costs in another way.
  const std::string_view ours = expected.at("fingerprint");
  const std::string_view theirs = said("fingerprint");
  require<data_error>(theirs == ours || !theirs.starts_with(ours.substr(0, ours.find(':'))),
                      path.string(),
                      ": is of another network: its layers are called like the model's and "
                      "compute something else; to take what fits, use load_parameters");
  auto& parameters = net.parameters();
  std::vector<typename Model::backend_type::tensor> made;
  for (const auto& p : parameters) {
    const auto found = std::find_if(content.tensors.begin(), content.tensors.end(),
                                    [&](const named_tensor& t) { return t.name == p.spec.name; });
    require<data_error>(found != content.tensors.end(), path.string(), ": has no tensor '",
                        p.spec.name, "'; the file is damaged");
    require<data_error>(found->shape == p.spec.shape, path.string(), ": tensor '", p.spec.name,
                        "' has the shape ", found->shape, ", expected ", p.spec.shape,
                        "; the file is damaged");
    const std::vector<T> values = found->template as<T>();
    made.push_back(net.device().from_host(std::span<const T>(values), p.spec.shape));
  }
  require<data_error>(content.tensors.size() == made.size(), path.string(), ": has ",
                      content.tensors.size(), " tensors, expected ", made.size(),
                      "; the file is damaged");
  for (std::size_t i = 0; i < made.size(); ++i) {
    parameters[i].value = std::move(made[i]);
  }
}

}  // namespace glia

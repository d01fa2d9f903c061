#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "glia/core/checksum.hpp"
#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/version.hpp"
#include "glia/layers/plan.hpp"

namespace glia::detail {

/// Returns the first line in which two texts differ, from each text.
[[nodiscard]] inline std::pair<std::string_view, std::string_view> first_difference(
    std::string_view a, std::string_view b) {
  const auto line = [](std::string_view lines) { return lines.substr(0, lines.find('\n')); };
  while (line(a) == line(b) && line(a).size() < a.size() && line(b).size() < b.size()) {
    a.remove_prefix(line(a).size() + 1);
    b.remove_prefix(line(b).size() + 1);
  }
  return {line(a), line(b)};
}

/// The metadata that identify a network in its files: the description; a text with one line for
/// each layer; the shape of a sample; and a fingerprint of the layers' costs. The fingerprint
/// distinguishes layers with the same name that compute different functions, such as lambdas.
[[nodiscard]] inline std::map<std::string, std::string> model_identity(const model_plan& plan,
                                                                       const shape& sample) {
  std::string layers;
  std::string costs;
  for (const layer_summary& layer : plan.layers) {
    layers += text(layer.name, ": ", layer.description, " gives ", layer.output, ", ",
                   layer.parameters, " parameters\n");
    // All digits, because a floating-point format would hide small differences.
    costs += text(static_cast<std::uint64_t>(layer.flops), ' ', layer.activation_bytes, '\n');
  }
  checksum computed;
  computed.add(layers + costs);
  return {{"description", plan.description},
          {"sample", text(sample)},
          {"layers", layers},
          {"fingerprint", text("glia ", version_text(), ": ", computed.value())}};
}

/// Returns a description with the names of today: until glia 0.4, a `layer_stack` had its own.
[[nodiscard]] inline std::string renamed(std::string_view description) {
  constexpr std::string_view earlier = "layer_stack(";
  std::string result(description);
  for (std::size_t begin = result.find(earlier); begin != std::string::npos;
       begin = result.find(earlier)) {
    result.replace(begin, earlier.size(), "sequential(");
  }
  return result;
}

/// Throws `data_error`, with the path and the first difference, if the metadata of a file belong to
/// another network or are missing.
inline void require_identity(const std::string& file,
                             const std::map<std::string, std::string>& metadata,
                             const std::map<std::string, std::string>& expected) {
  const auto said = [&](const char* key) -> std::string_view {
    const auto found = metadata.find(key);
    require<data_error>(found != metadata.end(), file,
                        ": the file was not written by glia::save, because it has no description "
                        "of a network; use load_parameters for files of other programs");
    return found->second;
  };
  for (const char* key : {"sample", "layers", "description"}) {
    const std::string stored = renamed(said(key));
    const std::string known = renamed(expected.at(key));
    const auto [theirs, ours] = detail::first_difference(stored, known);
    require<data_error>(theirs == ours, file, ": the file belongs to another network (", key,
                        "): the file has '", theirs, "', but the model has '", ours,
                        "'; to load the parameters of a similar network, use load_parameters");
  }
  // Fingerprints of different versions of glia are not compared, because a version can count costs
  // differently.
  const std::string_view ours = expected.at("fingerprint");
  const std::string_view theirs = said("fingerprint");
  require<data_error>(theirs == ours || !theirs.starts_with(ours.substr(0, ours.find(':'))), file,
                      ": the file belongs to another network, whose layers have the same names but "
                      "compute something else; to load its parameters, use load_parameters");
}

/// Returns whether `whole` describes the layers of the network `first`, followed by `last`.
[[nodiscard]] inline bool is_followed_by(std::string_view whole, std::string_view first,
                                         std::string_view last) {
  const bool extended = first.starts_with("sequential(") &&
                        whole == text(first.substr(0, first.size() - 1), ", ", last, ')');
  return extended || whole == text("sequential(", first, ", ", last, ')');
}

/// Throws `data_error`, as above, if the metadata of a file do not belong to this network, or to
/// this network without the layer `softmax` or `sigmoid` at its end. Networks are trained without
/// it.
inline void require_identity(const std::string& file,
                             const std::map<std::string, std::string>& metadata,
                             const model_plan& plan, const shape& sample) {
  const std::string last = plan.layers.empty() ? "" : plan.layers.back().description;
  const auto description = metadata.find("description");
  if ((last == "softmax" || last == "sigmoid") && description != metadata.end() &&
      is_followed_by(renamed(plan.description), renamed(description->second), last)) {
    model_plan trained = plan;
    trained.description = renamed(description->second);
    trained.layers.pop_back();
    return require_identity(file, metadata, model_identity(trained, sample));
  }
  require_identity(file, metadata, model_identity(plan, sample));
}

}  // namespace glia::detail

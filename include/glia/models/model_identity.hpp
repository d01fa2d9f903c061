#pragma once

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

namespace glia {

namespace detail {

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

/// What of a model its files name, so that another network's is not taken for it: the description,
/// a line for each layer, the shape of a sample, and a fingerprint of what the layers compute,
/// which tells those apart that are called alike, as lambdas may be.
[[nodiscard]] inline std::map<std::string, std::string> model_identity(const model_plan& plan,
                                                                       const shape& sample) {
  std::string layers;
  std::string costs;
  for (const layer_summary& layer : plan.layers) {
    layers += text(layer.name, ": ", layer.description, " gives ", layer.output, ", ",
                   layer.parameters, " parameters\n");
    // In full: printed as a floating-point number, a few more of many would not show.
    costs += text(static_cast<std::uint64_t>(layer.flops), ' ', layer.activation_bytes, '\n');
  }
  checksum computed;
  computed.add(layers + costs);
  return {{"description", plan.description},
          {"sample", text(sample)},
          {"layers", layers},
          {"fingerprint", text("glia ", GLIA_VERSION_MAJOR, '.', GLIA_VERSION_MINOR, '.',
                               GLIA_VERSION_PATCH, ": ", computed.value())}};
}

/// Throws `data_error`, naming the file and the first difference, where the texts in it are those
/// of another model, or of none.
inline void require_identity(const std::string& file, const std::map<std::string, std::string>& got,
                             const std::map<std::string, std::string>& expected) {
  const auto said = [&](const char* what) -> std::string_view {
    const auto found = got.find(what);
    require<data_error>(found != got.end(), file,
                        ": is no model that glia::save wrote, as it does not say what network it "
                        "is of; for files of other programs there is load_parameters");
    return found->second;
  };
  for (const char* what : {"sample", "layers", "description"}) {
    const auto [theirs, ours] = detail::first_difference(said(what), expected.at(what));
    require<data_error>(theirs == ours, file, ": is of another network (", what,
                        "): the file has '", theirs, "', the model '", ours,
                        "'; weights under other activations are taken by load_parameters");
  }
  // Another version may count costs in another way.
  const std::string_view ours = expected.at("fingerprint");
  const std::string_view theirs = said("fingerprint");
  require<data_error>(theirs == ours || !theirs.starts_with(ours.substr(0, ours.find(':'))), file,
                      ": is of another network: its layers are called like the model's and "
                      "compute something else; their weights are taken by load_parameters");
}

}  // namespace glia

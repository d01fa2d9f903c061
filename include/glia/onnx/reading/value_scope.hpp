#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "glia/core/error.hpp"
#include "glia/onnx/reading/tensor.hpp"

namespace glia::onnx {

/// The values of the main graph or of a function, by their names, and the opset of its nodes.
/// Branches and loops share the scope of the surrounding graph.
struct value_scope {
  std::int64_t opset;
  std::map<std::string, tensor> values{};

  /// Returns a value, or an empty tensor for an empty name. Throws `data_error` if there is no
  /// value of this name.
  [[nodiscard]] tensor value_of(const std::string& name) const {
    if (name.empty()) {
      return {};
    }
    const auto found = values.find(name);
    require<data_error>(found != values.end(), "has the input '", name,
                        "', which no earlier node computes");
    return found->second;
  }
};

}  // namespace glia::onnx

#pragma once

#include <string>
#include <variant>
#include <vector>

#include "glia/core/shape.hpp"

namespace glia {

/// A tensor in host memory, as a training's state and files hold it.
struct named_tensor {
  std::string name;  ///< of a parameter: features.conv2d_0.kernel
  glia::shape shape;
  std::variant<std::vector<float>, std::vector<double>> values;  ///< row-major

  /// As numbers of type T, rounded where these have fewer digits.
  template <class T>
  [[nodiscard]] std::vector<T> as() const {
    return std::visit([](const auto& all) { return std::vector<T>(all.begin(), all.end()); },
                      values);
  }

  friend bool operator==(const named_tensor&, const named_tensor&) = default;
};

}  // namespace glia

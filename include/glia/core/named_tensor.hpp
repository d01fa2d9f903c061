#pragma once

#include <string>
#include <variant>
#include <vector>

#include "glia/core/shape.hpp"

namespace glia {

/// A named tensor in host memory, as in files and in the state of a training.
struct named_tensor {
  std::string name;  ///< path of a parameter, such as features.conv2d_0.kernel
  glia::shape shape;
  std::variant<std::vector<float>, std::vector<double>> values;  ///< elements in row-major order

  /// Returns the elements as numbers of type T, rounded if T has fewer digits.
  template <class T>
  [[nodiscard]] std::vector<T> as() const {
    return std::visit(
        [](const auto& elements) { return std::vector<T>(elements.begin(), elements.end()); },
        values);
  }

  friend bool operator==(const named_tensor&, const named_tensor&) = default;
};

}  // namespace glia

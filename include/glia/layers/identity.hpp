#pragma once

#include <string>
#include <string_view>

#include "glia/layers/scope.hpp"

namespace glia {

/// Returns its input unchanged; useful as a branch of `parallel`.
struct identity {
  static constexpr std::string_view type_name = "identity";
  static constexpr bool preserves_output_kind = true;
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope&, variable x) const { return x; }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const identity&, const identity&) = default;
};

}  // namespace glia

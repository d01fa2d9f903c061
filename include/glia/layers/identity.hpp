#pragma once

#include <string>
#include <string_view>

#include "glia/layers/scope.hpp"

namespace glia {

/// Passes its input on.
struct identity {
  static constexpr std::string_view type_name = "identity";
  static constexpr bool hands_on = true;

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>&, variable<B> x) const {
    return x;
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const identity&, const identity&) = default;
};

}  // namespace glia

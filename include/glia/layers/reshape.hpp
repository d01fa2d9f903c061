#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// Gives every sample another shape of the same size: (N, ...) to (N, ...to). With the shape that
/// it has already, it says that the axes are meant so.
///
/// Throws `shape_error` where the sizes differ.
struct reshape {
  shape to;

  static constexpr std::string_view type_name = "reshape";
  static constexpr bool hands_on = true;
  static constexpr bool arranges_axes = true;

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    s.expect(sample_of(x.shape()).size() == to.size(), "a sample of shape ", sample_of(x.shape()),
             " has ", sample_of(x.shape()).size(), " elements, not ", to.size());
    const shape target = batch_of(x.shape()[0], to);
    return ops::reshape(std::move(x), target);
  }
  [[nodiscard]] std::string description() const { return text("reshape", to); }
  friend bool operator==(const reshape&, const reshape&) = default;
};

/// Lays every sample out as one row: (N, ...) to (N, I).
struct flatten {
  static constexpr std::string_view type_name = "flatten";
  static constexpr bool hands_on = true;

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>&, variable<B> x) const {
    const shape target{x.shape()[0], sample_of(x.shape()).size()};
    return ops::reshape(std::move(x), target);
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const flatten&, const flatten&) = default;
};

}  // namespace glia

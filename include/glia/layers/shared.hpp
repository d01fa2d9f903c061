#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"

namespace glia {

/// A layer that a model uses several times with the same parameters.
///
/// All `shared` layers with the same name use the parameters of the first one. The gradients of all
/// uses are added. In this example, two inputs go through the same layers:
///
///     const glia::shared tower{"tower", glia::sequential{glia::dense{64, glia::relu}}};
///     glia::inputs{glia::input{"left", {784}, tower}, glia::input{"right", {784}, tower}}
///
/// Names of parameters begin with the shared name, as for `named`: tower.kernel for a single layer,
/// tower.dense_0.kernel in a composition. Layers of different types can share parameters, such as
/// an `embedding` and a layer that uses its table as output weights.
///
/// Throws `value_error` if layers with the same name need different parameters.
template <class Body>
struct shared {
  static_assert(layer<Body>, "shared: expected a layer, such as glia::dense{10}, after its name");

  std::string name;  ///< The name that connects the layers, not empty.
  Body body;         ///< The layer or composition.

  using contains_layers = void;
  static constexpr std::string_view stored_type = "shared";
  static constexpr bool preserves_output_kind = true;
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    s.expect_value(!name.empty(), "shared: expected a name, got an empty string");
    return s.run_shared(name, body, std::move(x));
  }
  [[nodiscard]] std::string description() const {
    return text("shared ", name, '(', body.description(), ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("name", self.name);
    visit("body", self.body);
  }

  friend bool operator==(const shared&, const shared&) = default;
};

template <class Body>
shared(const char*, Body) -> shared<Body>;
template <class Body>
shared(std::string, Body) -> shared<Body>;

}  // namespace glia

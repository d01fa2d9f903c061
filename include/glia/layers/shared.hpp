#pragma once

#include <string>
#include <utility>

#include "glia/layers/scope.hpp"

namespace glia {

/// A layer that stands in several places of a model and has the same parameters in all of them:
/// those that the first of its name asked for, whose gradients add up. Two inputs that go through
/// one tower:
///
///     const glia::shared tower{"tower", glia::sequential{glia::dense{64, glia::relu}}};
///     glia::inputs{glia::input{"left", {784}, tower}, glia::input{"right", {784}, tower}}
///
/// Parameters are called by its name, as for `named`: tower.kernel, or tower.dense_0.kernel.
///
/// Throws `value_error` where layers of one name ask for different parameters.
template <class Body>
struct shared {
  static_assert(layer<Body>, "shared: expected a layer, such as glia::dense{10}, after its name");

  std::string name;
  Body body;

  using holds_layers = void;
  static constexpr bool hands_on = true;

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    s.expect_value(!name.empty(), "shared: expected a name, got an empty one");
    return s.run_shared(name, body, std::move(x));
  }
  [[nodiscard]] std::string description() const {
    return text("shared ", name, '(', body.description(), ')');
  }
  friend bool operator==(const shared&, const shared&) = default;
};

template <class Body>
shared(const char*, Body) -> shared<Body>;
template <class Body>
shared(std::string, Body) -> shared<Body>;

}  // namespace glia

#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "glia/layers/activation.hpp"
#include "glia/layers/identity.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/elementwise.hpp"

namespace glia {

/// A residual block, which adds a shortcut to the output of its body.
///
///     y = activation(body(x) + shortcut(x))
///
/// Without a shortcut, x itself is added: residual{sequential{dense{8, relu}, dense{8}}}. A
/// shortcut is needed if the body changes the shape. He et al., CVPR 2016.
///
/// Throws `shape_error` if the outputs of body and shortcut have different shapes.
template <class Body, class Shortcut = identity>
struct residual {
  static_assert(layer<Body> && layer<Shortcut>,
                "residual: expected layers for its body and its shortcut, such as "
                "glia::sequential{...}");

  Body body;                             ///< Layer or composition.
  Shortcut shortcut{};                   ///< Layer or composition; by default the identity.
  glia::activation activation = linear;  ///< Activation function of the sum.

  using contains_layers = void;
  static constexpr std::string_view type_name = "residual";
  static constexpr bool runs_stepwise = true;
  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const auto mask = s.step_mask();
    const variable main = s.run(body, x, "residual", 0);
    s.set_step_mask(mask);
    const variable side = s.run(shortcut, std::move(x), "residual", 1);
    s.expect(main.shape() == side.shape(), "the body ends in ", batch_text(main.shape()),
             ", the shortcut in ", batch_text(side.shape()),
             "; give residual{} a shortcut whose output has the shape of the body's output");
    return activation(main + side);
  }
  [[nodiscard]] constexpr glia::output_kind output_kind() const { return activation.output_kind(); }
  [[nodiscard]] std::string description() const {
    return std::is_same_v<Shortcut, identity>
               ? text("residual(", body.description(), ')')
               : text("residual(", body.description(), ", ", shortcut.description(), ')');
  }
  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("body", self.body);
    if constexpr (!std::is_same_v<Shortcut, identity>) {
      visit("shortcut", self.shortcut);
    }
    visit("activation", self.activation);
  }

  friend bool operator==(const residual&, const residual&) = default;
};

template <class Body>
residual(Body) -> residual<Body>;
template <class Body, class Shortcut>
residual(Body, Shortcut) -> residual<Body, Shortcut>;
template <class Body, class Shortcut>
residual(Body, Shortcut, activation) -> residual<Body, Shortcut>;

}  // namespace glia

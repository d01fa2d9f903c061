#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "glia/layers/activation.hpp"
#include "glia/layers/identity.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/elementwise.hpp"

namespace glia {

/// activation(body(x) + shortcut(x)); without a shortcut, body(x) + x. He et al., CVPR 2016.
///
/// Throws `shape_error` where the two branches end in different shapes.
template <class Body, class Shortcut = identity>
struct residual {
  static_assert(layer<Body> && layer<Shortcut>,
                "residual: expected layers for its body and its shortcut, such as "
                "glia::sequential{...}");

  Body body;
  Shortcut shortcut{};
  glia::activation activation = linear;

  using holds_layers = void;
  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const auto mask = s.step_mask();
    const variable<B> main = s.run(body, x, "residual", 0);
    s.set_step_mask(mask);
    const variable<B> side = s.run(shortcut, std::move(x), "residual", 1);
    s.expect(main.shape() == side.shape(), "the body ends in ", batch_text(main.shape()),
             ", the shortcut in ", batch_text(side.shape()),
             "; give residual{} a shortcut that changes the shape alike");
    return activation.apply(main + side);
  }
  [[nodiscard]] constexpr output_kind gives() const { return activation.gives(); }
  [[nodiscard]] std::string description() const {
    return std::is_same_v<Shortcut, identity>
               ? text("residual(", body.description(), ')')
               : text("residual(", body.description(), ", ", shortcut.description(), ')');
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

#pragma once

#include <string>
#include <utility>

#include "glia/layers/scope.hpp"

namespace glia {

/// Runs what it holds as in inference also while the rest is trained, its parameters being left as
/// they are: a network trained elsewhere whose features another is trained on.
template <class Body>
struct frozen {
  static_assert(layer<Body>, "frozen: expected a layer, such as glia::sequential{...}");

  Body body;

  using holds_layers = void;
  static constexpr bool hands_on = true;

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const typename scope<B>::freeze as_in_inference(s);
    return s.run(body, std::move(x), "frozen", 0);
  }
  /// Of samples, where what it holds says it.
  [[nodiscard]] shape sample_shape() const requires knows_samples<Body> {
    return body.sample_shape();
  }
  [[nodiscard]] std::string description() const { return text("frozen(", body.description(), ')'); }
  friend bool operator==(const frozen&, const frozen&) = default;
};

template <class Body>
frozen(Body) -> frozen<Body>;

}  // namespace glia

#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"

namespace glia {

/// Excludes a layer from training: its parameters do not change, and it runs as in inference.
///
/// Use it for transfer learning, where a pretrained network provides the features for new layers:
/// sequential{frozen{named{"features", mobilenet_v2{}}}, dense{5}}. Inside `frozen`, dropout does
/// nothing, and batch normalization uses its running statistics without changing them. In Keras,
/// `trainable = False` leaves dropout active.
template <class Body>
struct frozen {
  static_assert(layer<Body>, "frozen: expected a layer, such as glia::sequential{...}");

  Body body;  ///< The layer or composition to exclude.

  using contains_layers = void;
  static constexpr std::string_view stored_type = "frozen";
  static constexpr bool preserves_output_kind = true;
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const scope::freeze as_in_inference(s);
    return s.run(body, std::move(x), "frozen", 0);
  }
  /// Returns the shape of the model's samples. Exists only if the body defines this shape, as
  /// `inputs` does.
  [[nodiscard]] shape sample_shape() const requires has_sample_shape<Body> {
    return body.sample_shape();
  }
  [[nodiscard]] std::string description() const { return text("frozen(", body.description(), ')'); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("body", self.body);
  }

  friend bool operator==(const frozen&, const frozen&) = default;
};

template <class Body>
frozen(Body) -> frozen<Body>;

}  // namespace glia

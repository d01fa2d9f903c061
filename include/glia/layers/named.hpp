#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"

namespace glia {

/// Gives a layer or composition a name. The names of its parameters begin with this name.
///
/// With the name "features", the kernel of a single layer is called features.kernel, and a kernel
/// in a composition is called features.conv2d_0.kernel. These names do not change if you add or
/// remove layers elsewhere in the model. Default names such as dense_1 can change, because they
/// count the layers.
///
///     sequential{named{"features", mobilenet_v2{}}, named{"head", dense{5}}}
template <class Body>
struct named {
  static_assert(layer<Body>, "named: expected a layer, such as glia::dense{10}, after its name");

  std::string name;  ///< Name, which must be unique in the model and not empty.
  Body body;         ///< The layer or composition.

  using contains_layers = void;
  static constexpr std::string_view stored_type = "named";
  static constexpr bool preserves_output_kind = true;
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    s.expect_value(!name.empty(), "named: expected a name, got an empty string");
    const scope::name_scope inside(s, name);
    return s.run(body, std::move(x), name, scope::no_index);
  }
  /// Returns the shape of the model's samples. Exists only if the body defines this shape, as
  /// `inputs` does.
  [[nodiscard]] shape sample_shape() const requires has_sample_shape<Body> {
    return body.sample_shape();
  }
  [[nodiscard]] std::string description() const { return text(name, '(', body.description(), ')'); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("name", self.name);
    visit("body", self.body);
  }

  friend bool operator==(const named&, const named&) = default;
};

template <class Body>
named(const char*, Body) -> named<Body>;
template <class Body>
named(std::string, Body) -> named<Body>;

}  // namespace glia

#pragma once

#include <string>
#include <utility>

#include "glia/layers/scope.hpp"

namespace glia {

/// Gives what it holds a name, which the names of parameters begin with: features.kernel for a
/// layer, features.conv2d_0.kernel for several. What has a name keeps it, whatever is put before.
///
///     sequential{named{"features", mobilenet_v2{}}, named{"head", dense{5}}}
template <class Body>
struct named {
  static_assert(layer<Body>, "named: expected a layer, such as glia::dense{10}, after its name");

  std::string name;
  Body body;

  using holds_layers = void;
  static constexpr bool hands_on = true;

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    s.expect_value(!name.empty(), "named: expected a name, got an empty one");
    const typename scope<B>::under_name inside(s, name);
    return s.run(body, std::move(x), name, scope<B>::no_index);
  }
  /// Of samples, where what it holds says it.
  [[nodiscard]] shape sample_shape() const requires knows_samples<Body> {
    return body.sample_shape();
  }
  [[nodiscard]] std::string description() const { return text(name, '(', body.description(), ')'); }
  friend bool operator==(const named&, const named&) = default;
};

template <class Body>
named(const char*, Body) -> named<Body>;
template <class Body>
named(std::string, Body) -> named<Body>;

}  // namespace glia

#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// Gives each sample another shape with the same number of elements.
///
/// The input is (N, ...) and the output (N, target_shape...): reshape{{28, 28, 1}}. Elements keep
/// their row-major order; reshape does not transpose. glia refuses samples that look like images
/// with channels first, such as (1, 28, 28). If such a shape is right, put a `reshape` to the same
/// shape before the other layers. It turns this check off.
///
/// Throws `shape_error` if the numbers of elements differ.
struct reshape {
  shape target_shape;  ///< Shape without the batch axis; -1 for a computed extent is not supported.

  static constexpr std::string_view type_name = "reshape";
  static constexpr bool preserves_output_kind = true;
  static constexpr bool sets_axes = true;

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    s.expect(sample_of(x.shape()).size() == target_shape.size(), "expected samples with ",
             target_shape.size(), " elements, got samples of shape ", sample_of(x.shape()),
             " with ", sample_of(x.shape()).size());
    const shape target = batch_of(x.shape()[0], target_shape);
    return ops::reshape(std::move(x), target);
  }
  [[nodiscard]] std::string description() const { return text("reshape", target_shape); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("target_shape", self.target_shape);
  }

  friend bool operator==(const reshape&, const reshape&) = default;
};

/// Makes each sample a vector: (N, ...) becomes (N, I), where I is the number of elements.
///
/// Elements keep their row-major order.
struct flatten {
  static constexpr std::string_view type_name = "flatten";
  static constexpr bool preserves_output_kind = true;

  [[nodiscard]] variable operator()(scope&, variable x) const {
    const shape target{x.shape()[0], sample_of(x.shape()).size()};
    return ops::reshape(std::move(x), target);
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const flatten&, const flatten&) = default;
};

}  // namespace glia

#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/feature_mask.hpp"
#include "glia/layers/scope.hpp"

namespace glia {

/// Sets random channels of its input to 0 during training.
///
/// In training, each channel (last axis) of a sample becomes 0 at all positions with probability
/// `rate`, and the other channels are divided by 1 - rate. In inference the layer returns its
/// input. Use it for images (N, H, W, C) and sequences (N, T, C): their neighboring positions are
/// so similar that `dropout` of single elements has little effect. It corresponds to both
/// SpatialDropout1D and SpatialDropout2D of Keras. Tompson et al., CVPR 2015.
///
/// Throws `shape_error` if the input has fewer than three axes, and `value_error` if `rate` is
/// outside [0, 1).
struct spatial_dropout {
  /// Probability that a channel becomes 0, in [0, 1); rounded up to a multiple of 2^-16.
  double rate = 0.5;

  static constexpr std::string_view type_name = "spatial_dropout";
  static constexpr bool preserves_output_kind = true;
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    s.expect(x.shape().rank() >= 3, "expected an input (N, T, C) or (N, H, W, C), got ",
             batch_text(x.shape()), "; use dropout for inputs (N, C)");
    s.expect_value(rate >= 0 && rate < 1, "expected a rate in [0, 1), got ", rate);
    const shape& extents = x.shape();
    const detail::feature_mask drop(s, x.owner(), rate, extents[0], extents.back());
    return drop(std::move(x));
  }
  [[nodiscard]] std::string description() const { return text("spatial_dropout(", rate, ')'); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("rate", self.rate);
  }

  friend bool operator==(const spatial_dropout&, const spatial_dropout&) = default;
};

}  // namespace glia

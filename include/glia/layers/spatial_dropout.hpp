#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/feature_mask.hpp"
#include "glia/layers/scope.hpp"

namespace glia {

/// While training, sets whole channels (last axis) of a sample to 0 with probability `rate`, at all
/// positions alike, and divides the others by 1 - rate: for images (N, H, W, C) and sequences
/// (N, T, C), whose neighbours say the same. Tompson et al., CVPR 2015.
///
/// Throws `shape_error` for inputs without positions, `value_error` for a rate outside its range.
struct spatial_dropout {
  double rate = 0.5;  ///< in [0, 1); rounded up to a multiple of 2^-16 for the decision

  static constexpr std::string_view type_name = "spatial_dropout";
  static constexpr bool hands_on = true;

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    s.expect(x.shape().rank() >= 3, "expected input (N, ..., C) with positions, got ",
             batch_text(x.shape()), "; use dropout for rows of features");
    s.expect_value(rate >= 0 && rate < 1, "expected a rate in [0, 1)");
    const shape& in = x.shape();
    const detail::feature_mask<B> drop(s, x.owner(), rate, in[0], in.back());
    return drop(std::move(x));
  }
  [[nodiscard]] std::string description() const { return text("spatial_dropout(", rate, ')'); }
  friend bool operator==(const spatial_dropout&, const spatial_dropout&) = default;
};

}  // namespace glia

#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/dropout.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/reductions.hpp"

namespace glia::detail {

/// A dropout mask with one factor for each sample and each feature (last axis) of x (N, ..., C).
/// All positions and all calls share these factors. In inference nothing is dropped.
class feature_mask {
 public:
  /// Draws the mask for `samples` samples with `features` features each.
  feature_mask(scope& s, tape& owner, double rate, std::size_t samples, std::size_t features) {
    if (s.is_training() && rate > 0) {
      const auto ones = owner.constant(s.device().run(kernels::full{{samples, features}, 1}));
      mask_ = ops::dropout(ones, rate, s.next_random());
    }
  }
  [[nodiscard]] variable operator()(variable x) const {
    if (!mask_) {
      return x;
    }
    shape at_all_positions = x.shape();
    for (std::size_t axis = 1; axis + 1 < at_all_positions.rank(); ++axis) {
      at_all_positions[axis] = 1;
    }
    return x * ops::reshape(*mask_, at_all_positions);
  }
  /// Returns the factors of the features, (N, C), or an empty tensor if nothing is dropped.
  [[nodiscard]] tensor factors() const { return mask_ ? mask_->value() : tensor{}; }

 private:
  std::optional<variable> mask_;
};

}  // namespace glia::detail

#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/dropout.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/reductions.hpp"

namespace glia::detail {

/// Drops features (last axis) of a sample, in training, at all positions alike, and as often as it
/// is called the same ones: x (N, ..., C).
template <backend B>
class feature_mask {
 public:
  /// For samples of so many features; random numbers are asked for now.
  feature_mask(scope<B>& s, tape<B>& on, double rate, std::size_t samples, std::size_t features) {
    if (s.training() && rate > 0) {
      const auto ones = on.constant(s.device().run(kernels::full{{samples, features}, 1}));
      mask_ = ops::dropout(ones, rate, s.next_random());
    }
  }
  [[nodiscard]] variable<B> operator()(variable<B> x) const {
    if (!mask_) {
      return x;
    }
    shape at_all_positions = x.shape();
    for (std::size_t axis = 1; axis + 1 < at_all_positions.rank(); ++axis) {
      at_all_positions[axis] = 1;
    }
    return std::move(x) * ops::reshape(*mask_, at_all_positions);
  }
  /// What features are multiplied by, (N, C), or no tensor.
  [[nodiscard]] typename B::tensor factors() const {
    return mask_ ? mask_->value() : typename B::tensor{};
  }

 private:
  std::optional<variable<B>> mask_;
};

}  // namespace glia::detail

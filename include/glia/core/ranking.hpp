#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace glia::detail {

/// Returns whether the class `truth` has one of the k highest scores. Of equal scores, the first
/// counts as higher. Returns false if a score is NaN, or if the class `truth` has no score.
template <class T>
[[nodiscard]] bool is_in_top_k(std::span<const T> scores, std::size_t truth, std::size_t k) {
  if (truth >= scores.size()) {
    return false;
  }
  std::size_t higher = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) {
      return false;
    }
    higher += scores[i] > scores[truth] || (scores[i] == scores[truth] && i < truth) ? 1U : 0U;
  }
  return higher < k;
}

}  // namespace glia::detail

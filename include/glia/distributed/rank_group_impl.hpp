#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/core/version.hpp"
#include "glia/distributed/agreement.hpp"
#include "glia/distributed/messages.hpp"
#include "glia/distributed/rank_group.hpp"
#include "glia/distributed/running_build.hpp"
#include "glia/distributed/score_exchange.hpp"

namespace glia {

GLIA_INLINE void rank_group::require_same_training(std::span<const rank_setting> settings) {
  std::vector<rank_setting> own{
      {"ranks", text(size())},
      {"glia", text(GLIA_VERSION_MAJOR, '.', GLIA_VERSION_MINOR, '.', GLIA_VERSION_PATCH)},
      {"build", running_build()}};
  own.insert(own.end(), settings.begin(), settings.end());
  require_same_settings(*this, own);
}

GLIA_INLINE void rank_group::require_same_tensors(std::span<const named_tensor> tensors) {
  glia::require_same_tensors(*this, tensors);
}

GLIA_INLINE training_state rank_group::state_of_first(const training_state& own) {
  return glia::state_of_first(*this, own);
}

GLIA_INLINE callback_result rank_group::agree(const callback_result& own) {
  return agreed(*this, own);
}

GLIA_INLINE std::string rank_group::first_text(const std::string& own) {
  const std::vector<std::string> texts = gather(*this, own);
  const auto first = std::find_if(texts.begin(), texts.end(),
                                  [](const std::string& text) { return !text.empty(); });
  return first == texts.end()
             ? ""
             : *first + ", on " + name_of(static_cast<std::size_t>(first - texts.begin()));
}

GLIA_INLINE bool rank_group::any(bool own) {
  const std::vector<int> values = gather_values(*this, own ? 1 : 0);
  return std::find(values.begin(), values.end(), 1) != values.end();
}

GLIA_INLINE std::vector<float> rank_group::concatenate(const std::vector<float>& own) {
  return gather_all(*this, own);
}

GLIA_INLINE void rank_group::add_scores(const batch_scores& own, running_scores& scores) {
  add_scores_of_all(*this, own, scores);
}

GLIA_INLINE void rank_group::wait_for_all() { (void)gather(*this, ""); }

}  // namespace glia

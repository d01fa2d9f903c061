#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/training/epoch_steps.hpp"
#include "glia/training/not_finite.hpp"
#include "glia/training/training_state.hpp"

namespace glia::detail {

/// Repeats the steps since the state `earlier`, and describes the first step and kernel whose
/// result is not finite. The training is left in the state before that step.
[[nodiscard]] inline std::string trace_not_finite(epoch_steps& steps,
                                                  const training_state& earlier) {
  const training_state original = steps.state();
  steps.restore(earlier);
  steps.shuffle_samples();
  steps.start();
  training_state previous = earlier;
  while (const batch* b = steps.next()) {
    steps.take(*b);
    training_state current = steps.state();
    if (!std::isfinite(steps.loss()) || !all_finite(current.tensors)) {
      const std::uint64_t first = current.step;
      steps.restore(previous);
      return text("step ", first, " of epoch ", previous.history.size() + 1, ", first in ",
                  steps.find_not_finite(*b));
    }
    previous = std::move(current);
  }
  steps.restore(original);
  return "a step that did not occur again";
}

}  // namespace glia::detail

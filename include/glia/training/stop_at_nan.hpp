#pragma once

#include <cmath>
#include <cstddef>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/training/not_finite.hpp"
#include "glia/training/observer.hpp"

namespace glia {

/// An observer that stops a training at the first step that gives a number that is infinite or not
/// one (NaN), and says which layer's kernel gave it: "the loss is not finite: step 118 of epoch 1,
/// first in dense_2, forward (dense)". The model is left as it was before that step.
///
/// Looks at the loss after each step and, every so many steps, at all parameters, of which it then
/// keeps a copy: where something is wrong it takes the steps since again, one kernel at a time.
class stop_at_nan {
 public:
  explicit stop_at_nan(std::size_t copy_every = 50) : copy_every_(copy_every) {
    require<value_error>(copy_every > 0, "stop_at_nan: expected a copy every 1 or more steps");
  }

  verdict operator()(const training& t) {
    if (t.at == moment::step && !std::isfinite(t.loss())) {
      return stop("the loss is not finite: " + t.trace_not_finite(last_));
    }
    if (t.at == moment::epoch_begins || (t.at == moment::step && t.step % copy_every_ == 0)) {
      training_state now = t.state();
      if (!all_finite(now.tensors)) {
        return stop("a parameter is not finite: " +
                    (last_.tensors.empty() ? "at the beginning" : t.trace_not_finite(last_)));
      }
      last_ = std::move(now);
    }
    return go_on();
  }

 private:
  std::size_t copy_every_;
  training_state last_;  // in which all was finite
};

}  // namespace glia

#pragma once

#include <cmath>
#include <cstddef>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/training/callback.hpp"
#include "glia/training/not_finite.hpp"

namespace glia {

/// A callback that stops the training when a number becomes infinite or NaN, and reports the layer
/// and the kernel that first computed such a number.
///
///     trainer.fit(train, test, {.epochs = 20, .callbacks = {glia::terminate_on_nan()}});
///
/// The reason is in `history::stop_reason`: "the loss is not finite: step 118 of epoch 1, first in
/// dense_2, forward (dense)". The model keeps the parameters from before that step.
///
/// The loss is checked after each step. Parameters and optimizer state are checked at the beginning
/// of each epoch and every `copy_every` steps, and copied if they are finite. To find the cause,
/// the steps since the last copy are repeated; the first step with such a number is then computed
/// kernel by kernel.
///
/// Keras's `TerminateOnNaN` checks only the loss, and the model keeps its invalid parameters.
class terminate_on_nan {
 public:
  /// `copy_every` is the number of steps between two checks of all parameters. Each check copies
  /// them to the host. Throws `value_error` if it is 0.
  explicit terminate_on_nan(std::size_t copy_every = 50) : copy_every_(copy_every) {
    require<value_error>(copy_every > 0,
                         "terminate_on_nan: expected copy_every of at least 1 step");
  }

  callback_result operator()(const training& t) {
    if (t.event == event::train_batch_end && !std::isfinite(t.loss())) {
      return stop_training("the loss is not finite: " + t.trace_not_finite(last_));
    }
    if (t.event == event::epoch_begin ||
        (t.event == event::train_batch_end && t.step % copy_every_ == 0)) {
      training_state state = t.state();
      if (!detail::all_finite(state.tensors)) {
        return stop_training("a parameter is not finite: " + (last_.tensors.empty()
                                                                  ? "at the beginning"
                                                                  : t.trace_not_finite(last_)));
      }
      last_ = std::move(state);
    }
    return keep_training();
  }

 private:
  std::size_t copy_every_;
  training_state last_;  // the last state that was finite
};

}  // namespace glia

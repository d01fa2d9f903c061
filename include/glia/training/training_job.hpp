#pragma once

#include <cstddef>
#include <vector>

#include "glia/losses/any_loss.hpp"
#include "glia/models/model_core.hpp"
#include "glia/optimizers/any_optimizer.hpp"
#include "glia/optimizers/gradient_transforms.hpp"
#include "glia/training/parameter_groups.hpp"

namespace glia {

/// References to the model to train, the loss and the optimizer with its options. The model can
/// move between two calls of a trainer.
struct training_job {
  model_core& net;
  const any_loss& loss;
  const any_optimizer& optimizer;
  const std::vector<gradient_transform>& gradient_transforms;
  const std::vector<parameter_group>& parameter_groups;

  /// The number of values that change in every step: those of the optimizer, and the learning rate
  /// if a parameter group has a weight decay.
  [[nodiscard]] std::size_t numbers_per_step() const {
    return optimizer.numbers_per_step + (detail::has_weight_decay(parameter_groups) ? 1 : 0);
  }
};

}  // namespace glia

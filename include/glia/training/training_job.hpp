#pragma once

#include <vector>

#include "glia/losses/any_loss.hpp"
#include "glia/models/model_core.hpp"
#include "glia/optimizers/any_optimizer.hpp"
#include "glia/optimizers/gradient_transforms.hpp"

namespace glia {

/// References to the model to train, the loss and the optimizer. The model can move between two
/// calls of a trainer.
struct training_job {
  model_core& net;
  const any_loss& loss;
  const any_optimizer& optimizer;
  const std::vector<gradient_transform>& gradient_transforms;
};

}  // namespace glia

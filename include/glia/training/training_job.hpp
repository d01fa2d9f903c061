#pragma once

#include <vector>

#include "glia/losses/targets.hpp"
#include "glia/models/model_core.hpp"
#include "glia/optimizers/gradient_transforms.hpp"
#include "glia/optimizers/optimizer.hpp"

namespace glia {

/// The model to train, with the loss and the optimizer. It only refers to them, because a model can
/// move between two calls of a trainer.
struct training_job {
  model_core& net;
  description_ref described;
  loss_ref loss;
  optimizer_ref optimizer;
  const std::vector<gradient_transform>& gradient_transforms;
};

}  // namespace glia

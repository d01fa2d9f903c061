#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "glia/core/shape.hpp"

namespace glia {

/// A tensor of a training's state in host memory, in the numbers that the backend computes in.
struct state_tensor {
  std::string name;  ///< of the parameter: features.conv2d_0.kernel, or with .slot0 behind it
  glia::shape shape;
  std::variant<std::vector<float>, std::vector<double>> values;

  friend bool operator==(const state_tensor&, const state_tensor&) = default;
};

/// All that a training step changes or depends on beside the description and the batch, as a value
/// that can be copied, compared, written and sent. A training that goes on from it takes the same
/// steps bit for bit, on this machine or another one like it.
struct training_state {
  std::vector<state_tensor> tensors;  ///< parameters, running statistics, the optimizer's slots
  std::uint64_t seed = 0;             ///< of shuffling and of random layers
  std::uint64_t step = 0;             ///< steps taken
  std::uint64_t epoch = 0;            ///< epochs begun, in all calls of fit
  /// Samples seen of an epoch that was interrupted; 0 between epochs. The next call of fit begins
  /// the next epoch.
  std::uint64_t position = 0;

  friend bool operator==(const training_state&, const training_state&) = default;
};

}  // namespace glia

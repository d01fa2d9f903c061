#pragma once

#include <cstdint>
#include <vector>

#include "glia/core/named_tensor.hpp"

namespace glia {

/// All that a training step changes or depends on beside the description and the batch, as a value
/// that can be copied, compared, written and sent. A training that goes on from it takes the same
/// steps bit for bit, on this machine or another one like it.
struct training_state {
  /// Parameters, running statistics and the optimizer's slots, called as their parameter with
  /// .slot0 behind it, in the numbers that the backend computes in.
  std::vector<named_tensor> tensors;
  std::uint64_t seed = 0;   ///< of shuffling and of random layers
  std::uint64_t step = 0;   ///< steps taken
  std::uint64_t epoch = 0;  ///< epochs begun, in all calls of fit
  /// Samples seen of an epoch that was interrupted; 0 between epochs. The next call of fit begins
  /// the next epoch.
  std::uint64_t position = 0;

  friend bool operator==(const training_state&, const training_state&) = default;
};

}  // namespace glia

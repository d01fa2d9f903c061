#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glia/core/named_tensor.hpp"
#include "glia/training/history.hpp"

namespace glia {

/// All that a training step changes or depends on beside the description and the batch, and how far
/// a call of fit has come, as a value that can be copied, compared, written and sent. A training
/// that goes on from it takes the same steps bit for bit, on this machine or another one like it.
struct training_state {
  /// Parameters, running statistics and the optimizer's slots, called as their parameter with
  /// .slot0 behind it, in the numbers that the backend computes in.
  std::vector<named_tensor> tensors;
  std::uint64_t seed = 0;  ///< of shuffling and of random layers
  std::uint64_t step = 0;  ///< steps taken
  double rate_scale = 1;   ///< what the optimizer's learning rate is multiplied by

  std::uint64_t epoch = 0;  ///< epochs begun, in all calls of fit
  /// Samples seen of an epoch that is not over; 0 between epochs. With `fit_options::resume` the
  /// next call of fit goes on behind them, else it begins the next epoch.
  std::uint64_t position = 0;
  /// How that epoch is cut into steps.
  std::uint64_t samples = 0;
  std::uint64_t batch_size = 0;
  bool shuffled = false;
  std::vector<std::string> metrics = {};  ///< by their names
  /// What it came to so far: see running_scores::sums_so_far, and the time that it took.
  std::vector<double> sums = {};
  double seconds = 0;

  /// What the optimizer keeps in its slots: see slots_name. Empty where that is not known.
  std::string optimizer = {};
  /// Loss, optimizer and batches of the last call of fit, as text; empty where that is not known.
  std::string setup = {};

  /// The epochs of the call of fit that is gone on with.
  std::vector<epoch_record> history = {};
  /// What its observers remember, by names that begin with theirs.
  std::vector<named_tensor> kept = {};

  friend bool operator==(const training_state&, const training_state&) = default;
};

}  // namespace glia

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glia/core/named_tensor.hpp"
#include "glia/training/history.hpp"

namespace glia {

/// The complete state of a training: a value that can be copied, compared, saved and sent.
///
/// It contains everything that the next step depends on, except for the model's description, the
/// loss, the optimizer and the data. A training that continues from it takes the same steps, bit
/// for bit, on this machine and on others with the same type of processor.
struct training_state {
  /// Parameters, running statistics and the optimizer's state, in the backend's floating-point
  /// type. The optimizer's tensors have the name of their parameter with ".slot0", ".slot1", ...
  std::vector<named_tensor> tensors;
  std::uint64_t seed = 0;          ///< Seed of shuffling and of random layers.
  std::uint64_t step = 0;          ///< Number of steps taken.
  double learning_rate_scale = 1;  ///< Factor of the optimizer's learning rate.

  std::uint64_t epoch = 0;  ///< Number of epochs begun, in all calls of `fit`.
  /// Number of samples seen in an incomplete epoch; 0 between epochs. With `fit_options::resume`,
  /// the next call of `fit` continues after these samples, otherwise it begins the next epoch.
  std::uint64_t position = 0;
  std::uint64_t samples =
      0;  ///< Number of samples in the whole epoch, including those not yet seen.
  std::uint64_t batch_size = 0;  ///< Batch size of the incomplete epoch.
  bool shuffled = false;         ///< Whether the samples of the incomplete epoch are shuffled.
  std::vector<std::string> metrics = {};  ///< Names of the metrics.
  /// Sums of the scores of the incomplete epoch; see running_scores::sums_so_far.
  std::vector<double> sums = {};
  double seconds = 0;  ///< Seconds of training in the incomplete epoch.

  /// The optimizer's `state_name`, such as "adam"; empty if it is not known.
  std::string optimizer = {};
  /// Description of the model, the loss, the optimizer, the data and the batches of the last call
  /// of `fit`, to tell what has changed when it is resumed; empty if it is not known.
  std::string setup = {};

  /// Complete epochs of the last call of `fit`.
  std::vector<epoch_record> history = {};
  /// Tensors that callbacks store. Each name begins with the name of the callback.
  std::vector<named_tensor> callback_state = {};

  friend bool operator==(const training_state&, const training_state&) = default;
};

}  // namespace glia

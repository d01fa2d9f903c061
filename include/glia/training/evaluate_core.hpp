#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "glia/data/dataset_view.hpp"
#include "glia/losses/any_loss.hpp"
#include "glia/models/model_core.hpp"
#include "glia/training/metrics.hpp"
#include "glia/training/scores.hpp"
#include "glia/training/training_ranks.hpp"

namespace glia {

/// The options of `evaluate`.
struct evaluate_options {
  /// Number of samples in a batch; 0: chosen so that a batch takes about 32 MB, at most 256
  /// samples.
  std::size_t batch_size = 0;
  /// Metrics, such as {mae(), r2_score()}; default: accuracy for class labels, no metrics for
  /// real-valued targets.
  metric_list metrics = {};
  /// Ranks that share the batches. All ranks must make the same call, and all ranks get the same
  /// result.
  training_ranks* ranks = nullptr;
};

namespace detail {

/// Computes the mean loss and the metrics of a model over a data set.
[[nodiscard]] scores evaluate(const model_core& net, const dataset_view& data, const any_loss& loss,
                              const evaluate_options& options);

/// The shape of a model's outputs for all samples of a data set. Throws `shape_error`,
/// `value_error` or `data_error` if the data set does not fit the model.
[[nodiscard]] shape outputs_for(const model_core& net, const dataset_view& data);

/// Computes a model's outputs for all samples of a data set.
void predict(const model_core& net, const dataset_view& data, std::size_t batch_size,
             std::span<float> outputs);

}  // namespace detail

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/evaluate_core_impl.hpp"
#endif

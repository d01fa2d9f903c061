#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "glia/data/dataset_view.hpp"
#include "glia/distributed/rank_group.hpp"
#include "glia/losses/targets.hpp"
#include "glia/models/model_core.hpp"
#include "glia/training/metrics.hpp"
#include "glia/training/scores.hpp"

namespace glia {

struct evaluate_options {
  std::size_t batch_size = 0;  ///< 0: as many as take some 32 MB, at most 256
  metric_choice metrics = {};  ///< {mae(), r_squared()}; default: accuracy, where there are classes
  rank_group* ranks = nullptr;  ///< that share the batches; all of them evaluate alike
};

namespace detail {

/// The mean loss and metrics of a model over a data set.
template <backend B>
[[nodiscard]] scores evaluate(const model_core<B>& net,
                              const description_ref<tracing_backend<B>>& described,
                              const dataset_view& data, const loss_ref<tracing_backend<B>>& loss,
                              const evaluate_options& options);

/// The shape of a model's outputs for all samples of a data set. Throws where it does not fit.
template <backend B>
[[nodiscard]] shape outputs_for(const model_core<B>& net, const dataset_view& data);

/// These outputs.
template <backend B>
void predict(const model_core<B>& net, const description_ref<tracing_backend<B>>& described,
             const dataset_view& data, std::size_t batch_size, std::span<float> outputs);

}  // namespace detail

}  // namespace glia

#include "glia/training/evaluate_core_impl.hpp"

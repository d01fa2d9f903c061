#pragma once

#include <span>

#include "glia/core/xtensor.hpp"
#include "glia/data/dataset_view.hpp"
#include "glia/models/model.hpp"
#include "glia/training/evaluate_core.hpp"

namespace glia {

/// The mean loss and metrics of a model over a data set, layers such as dropout being off. Samples
/// may have gone through the model's frozen layers already; see frozen_outputs.
template <layer Description, backend B, loss_function<tracing_backend<B>> Loss>
[[nodiscard]] scores evaluate(const model<Description, B>& net, const dataset_view& data,
                              const Loss& loss, const evaluate_options& options = {}) {
  return detail::evaluate(net.core(), net.described(), data,
                          loss_ref<tracing_backend<B>>(loss, net.plan().outputs), options);
}

/// The outputs (N, ...) of a model for all samples of a data set, layers such as dropout being off.
template <layer Description, backend B>
[[nodiscard]] xt::xarray<float> predict(const model<Description, B>& net, const dataset_view& data,
                                        const predict_options& options = {}) {
  const shape all = detail::outputs_for(net.core(), data);
  xt::xarray<float> outputs(xt::xarray<float>::shape_type(all.begin(), all.end()));
  detail::predict(net.core(), net.described(), data, options.batch_size,
                  std::span<float>(outputs.data(), outputs.size()));
  return outputs;
}

}  // namespace glia

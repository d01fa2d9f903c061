#pragma once

#include <concepts>
#include <span>

#include "glia/core/xtensor.hpp"
#include "glia/data/dataset_view.hpp"
#include "glia/models/model.hpp"
#include "glia/training/evaluate_core.hpp"

namespace glia {

/// Computes the mean loss and the metrics of a model over a data set. Layers such as dropout are
/// inactive.
///
///     const glia::scores s = glia::evaluate(net, test, glia::softmax_cross_entropy{});
///     std::cout << s.loss << ' ' << s["accuracy"];
///
/// The data set can also be `frozen_outputs`. Throws `shape_error`, `value_error` or `data_error`
/// if data set, loss or metrics do not fit the model.
template <layer Description, loss_function Loss>
[[nodiscard]] scores evaluate(const model<Description>& net, const dataset_view& data,
                              const Loss& loss, const evaluate_options& options = {}) {
  return detail::evaluate(net.core(), data, any_loss(loss, net.plan().outputs), options);
}

/// Reports at compile time that arrays are not a data set.
template <layer Description, class Inputs, class Targets, class Loss>
scores evaluate(const model<Description>&, const xt::xexpression<Inputs>&,
                const xt::xexpression<Targets>&, const Loss&, const evaluate_options& = {}) {
  static_assert(!std::same_as<Inputs, Inputs>,
                "evaluate: expected a data set, got arrays; pass glia::labeled_arrays{inputs, "
                "labels} or glia::target_arrays{inputs, targets}");
  return {};
}

/// Computes the outputs (N, ...) of a model for all N samples of a data set. Layers such as dropout
/// are inactive. Throws `shape_error` or `data_error` if the data set does not fit the model.
template <layer Description>
[[nodiscard]] xt::xarray<float> predict(const model<Description>& net, const dataset_view& data,
                                        const predict_options& options = {}) {
  const shape extents = detail::outputs_for(net.core(), data);
  xt::xarray<float> outputs(xt::xarray<float>::shape_type(extents.begin(), extents.end()));
  detail::predict(net.core(), data, options.batch_size,
                  std::span<float>(outputs.data(), outputs.size()));
  return outputs;
}

}  // namespace glia

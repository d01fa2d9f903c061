#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "glia/losses/targets.hpp"
#include "glia/models/model.hpp"
#include "glia/training/feed.hpp"
#include "glia/training/frozen_outputs.hpp"
#include "glia/training/metrics.hpp"

namespace glia {

struct evaluate_options {
  std::size_t batch_size = 0;                       ///< 0: as many as take some 32 MB, at most 256
  std::optional<std::vector<metric>> metrics = {};  ///< default: accuracy, where there are classes
};

/// The mean loss and metrics of a model over a data set, layers such as dropout being off.
template <class Model, supervised_dataset D, loss_function<typename Model::backend_type> Loss>
[[nodiscard]] scores evaluate(const Model& net, const D& data, const Loss& loss,
                              const evaluate_options& options = {}) {
  using B = typename Model::backend_type;
  require_fitting("evaluate", net, data);
  require_logits(net, loss);
  running_scores<B> sums(net.device(), options.metrics.value_or(default_metrics<D>()),
                         class_border<Loss>(net));
  for_each_output(
      net.device(), data, batch_size_for(options.batch_size, net.sample_shape()),
      [&](variable<B> x) { return net.infer(std::move(x)); },
      [&](const batch& b, const variable<B>& y) {
        require_targets<Loss>(b.targets);
        require_classes<Loss>(sums.metrics(), b);
        const targets<B> t = targets_of(net.device(), b, net.output_shape());
        sums.add(loss(y, t).value(), y.value(), t);
        return true;
      });
  return sums.means();
}

/// The outputs (N, ...) of a model for all samples of a data set, layers such as dropout being off.
template <class Model, supervised_dataset D>
[[nodiscard]] xt::xarray<float> predict(const Model& net, const D& data,
                                        const predict_options& options = {}) {
  using B = typename Model::backend_type;
  require_fitting("predict", net, data);
  const shape all = batch_of(data.size(), net.output_shape());
  xt::xarray<float> outputs(xt::xarray<float>::shape_type(all.begin(), all.end()));
  float* to = outputs.data();
  for_each_output(
      net.device(), data, batch_size_for(options.batch_size, net.sample_shape()),
      [&](variable<B> x) { return net.infer(std::move(x)); },
      [&](const batch&, const variable<B>& y) {
        net.device().to_host(y.value(), std::span<float>(to, y.shape().size()));
        to += y.shape().size();
        return true;
      });
  return outputs;
}

/// The same for samples that have gone through the model's frozen layers already.
template <class Model, supervised_dataset D, loss_function<typename Model::backend_type> Loss>
requires(Model::frozen_layers() > 0) [[nodiscard]] scores
    evaluate(const Model& net, const frozen_outputs<D>& data, const Loss& loss,
             const evaluate_options& options = {}) {
  const trained_part<const Model> rest(net);
  return evaluate(rest, data, loss, options);
}
template <class Model, supervised_dataset D>
requires(Model::frozen_layers() > 0)
    [[nodiscard]] xt::xarray<float> predict(const Model& net, const frozen_outputs<D>& data,
                                            const predict_options& options = {}) {
  const trained_part<const Model> rest(net);
  return predict(rest, data, options);
}

}  // namespace glia

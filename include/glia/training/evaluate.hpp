#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "glia/data/batch_loader.hpp"
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
[[nodiscard]] scores evaluate(Model& net, const D& data, const Loss& loss,
                              const evaluate_options& options = {}) {
  using B = typename Model::backend_type;
  require_fitting("evaluate", net, data);
  const std::size_t batch_size =
      options.batch_size > 0 ? options.batch_size : samples_per_batch(net.sample_shape());
  std::vector<std::uint32_t> order(data.size());
  std::iota(order.begin(), order.end(), 0U);
  batch_loader<D> loader(data, batch_size);
  running_scores<B> sums(net.device(), options.metrics.value_or(default_metrics<D>()));
  tape<B> record(net.device());
  std::vector<gradient_slot> slots;
  loader.start(order);
  while (const batch* b = loader.next()) {
    const targets<B> t = targets_of(net.device(), *b, net.output_shape());
    const variable<B> x =
        record.constant(net.device().from_host(std::span<const float>(b->inputs), b->input_shape));
    const variable<B> y = net.forward(x, slots, run_mode::inference, {});
    sums.add(loss(y, t).value(), y.value(), t);
  }
  return sums.means();
}

/// The outputs (N, ...) of a model for all samples of a data set, layers such as dropout being off.
template <class Model, supervised_dataset D>
[[nodiscard]] xt::xarray<float> predict(Model& net, const D& data,
                                        const predict_options& options = {}) {
  using B = typename Model::backend_type;
  require_fitting("predict", net, data);
  const std::size_t batch_size =
      options.batch_size > 0 ? options.batch_size : samples_per_batch(net.sample_shape());
  const shape all = batch_of(data.size(), net.output_shape());
  xt::xarray<float> outputs(xt::xarray<float>::shape_type(all.begin(), all.end()));
  std::vector<std::uint32_t> order(data.size());
  std::iota(order.begin(), order.end(), 0U);
  batch_loader<D> loader(data, batch_size);
  tape<B> record(net.device());
  std::vector<gradient_slot> slots;
  float* to = outputs.data();
  loader.start(order);
  while (const batch* b = loader.next()) {
    const variable<B> x =
        record.constant(net.device().from_host(std::span<const float>(b->inputs), b->input_shape));
    const variable<B> y = net.forward(x, slots, run_mode::inference, {});
    net.device().to_host(y.value(), std::span<float>(to, y.shape().size()));
    to += y.shape().size();
  }
  return outputs;
}

/// The same for samples that have gone through the model's frozen layers already.
template <class Model, supervised_dataset D, loss_function<typename Model::backend_type> Loss>
requires(Model::frozen_layers() > 0) [[nodiscard]] scores
    evaluate(Model& net, const frozen_outputs<D>& data, const Loss& loss,
             const evaluate_options& options = {}) {
  trained_part<Model> rest(net);
  return evaluate(rest, data, loss, options);
}
template <class Model, supervised_dataset D>
requires(Model::frozen_layers() > 0)
    [[nodiscard]] xt::xarray<float> predict(Model& net, const frozen_outputs<D>& data,
                                            const predict_options& options = {}) {
  trained_part<Model> rest(net);
  return predict(rest, data, options);
}

}  // namespace glia

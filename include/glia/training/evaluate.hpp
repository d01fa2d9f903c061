#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "glia/data/batch_loader.hpp"
#include "glia/losses/targets.hpp"
#include "glia/models/model.hpp"
#include "glia/training/feed.hpp"
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

}  // namespace glia

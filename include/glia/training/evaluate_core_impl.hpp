#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/training/batch_checks.hpp"
#include "glia/training/dataset_batches.hpp"
#include "glia/training/evaluate_core.hpp"
#include "glia/training/evaluation_program.hpp"
#include "glia/training/shared_scores.hpp"
#include "glia/training/step_program.hpp"

namespace glia::detail {

GLIA_INLINE scores evaluate_here(const model_core& net, const dataset_view& data,
                                 const any_loss& loss, const evaluate_options& options) {
  require_fitting("evaluate", data, net);
  require_logits(net.plan(), loss);
  const std::vector<metric> metrics = metrics_of_rows(
      options.metrics.value_or(default_metrics(data)), net.plan().outputs, loss.target_parts);
  require_target_shape("evaluate", data, net.output_shape(), loss);
  require_metrics(metrics, net.output_shape(), data, loss);
  running_scores sums(net.device(), metrics, class_border(net.plan(), loss));
  sums.count(counted_by(loss, data.target_shape(), net.output_shape()));
  shared_scores of_all(options.ranks, net.device(), sums);
  const model_part part = part_for(data);
  const std::size_t batch_size = batch_size_for(options.batch_size, net.sample_shape_of(part));
  const auto require_batch = [&](const batch& b) {
    require_targets(loss, b, net.output_shape());
    require_classes(loss, metrics, b, net.output_shape());
  };
  std::vector<tensor> of_batch(sums.spec().results());
  std::size_t recorded_for = 0;
  if (net.device().compiles_whole_graphs()) {
    std::optional<evaluation_program> recorded;
    const auto evaluate_batch = [&](const batch& b) {
      require_batch(b);
      net.require_integers(std::span<const float>(b.inputs), part);
      const std::size_t rows = std::min(batch_size, data.size());
      const std::optional<batch> filled =
          b.size < rows ? std::optional(padded(b, rows)) : std::nullopt;
      const auto record_for = [&](const batch& like) {
        if (recorded_for != like.size) {
          recorded.emplace(net, part, like.size, target_spec_of(like), loss, sums.spec());
          recorded_for = like.size;
        }
      };
      record_for(filled ? *filled : b);
      const bool alone = filled && recorded->mixes_samples();
      if (alone) {
        record_for(b);
      }
      recorded->run(net, filled && !alone ? *filled : b, b.size, of_batch);
      of_all.add(of_batch, b);
      return true;
    };
    for_each_batch(data, batch_size, evaluate_batch, options.ranks);
  } else {
    std::optional<score_program> recorded;
    for_each_output(
        net, part, data, batch_size,
        [&](const batch& b, const tensor& y) {
          require_batch(b);
          const targets t = targets_of(net.device(), b, net.output_shape());
          if (recorded_for != b.size) {
            recorded.emplace(net.device(), spec_of(y), target_spec_of(b), loss, sums.spec());
            recorded_for = b.size;
          }
          const counted_targets& counted = sums.spec().counted;
          recorded->run(
              y, t,
              counted.counts_all() ? tensor{} : present_rows(net.device(), counted, b, b.size),
              of_batch);
          of_all.add(of_batch, b);
          return true;
        },
        options.ranks);
  }
  of_all.finish();
  return sums.means();
}

GLIA_INLINE scores evaluate(const model_core& net, const dataset_view& data, const any_loss& loss,
                            const evaluate_options& options) {
  return together(options.ranks, [&] { return evaluate_here(net, data, loss, options); });
}

GLIA_INLINE shape outputs_for(const model_core& net, const dataset_view& data) {
  require_fitting("predict", data, net);
  return batch_of(data.size(), net.output_shape());
}

GLIA_INLINE void predict(const model_core& net, const dataset_view& data, std::size_t batch_size,
                         std::span<float> outputs) {
  const model_part part = part_for(data);
  for_each_output(net, part, data, batch_size_for(batch_size, net.sample_shape_of(part)),
                  [&](const batch& b, const tensor& y) {
                    const std::size_t count = b.size * net.output_shape().size();
                    first_to_host(net.device(), y, outputs.first(count));
                    outputs = outputs.subspan(count);
                    return true;
                  });
}

}  // namespace glia::detail

#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/data/dataset.hpp"
#include "glia/kernels/classification.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/losses/targets.hpp"
#include "glia/ops/counting.hpp"
#include "glia/training/metrics.hpp"
#include "glia/training/scores.hpp"

namespace glia {

/// The metrics to compute in addition to the loss.
struct scoring {
  std::vector<metric> metrics;
  double border = 0;  ///< Threshold of a single output; a larger output predicts class 1.
  counted_targets counted = {};  ///< Targets that decide whether a sample is ignored.

  /// Whether a metric needs the outputs on the host.
  [[nodiscard]] bool needs_outputs() const {
    return std::any_of(metrics.begin(), metrics.end(),
                       [](const metric& m) { return !m.counts_classes(); });
  }
  /// The number of result tensors of a batch: the sum of the loss, the sum of each metric that
  /// counts classes, and the model's outputs if a metric needs them.
  [[nodiscard]] std::size_t results() const { return sums() + (needs_outputs() ? 1 : 0); }
  /// Whether a metric uses the weights of the samples.
  [[nodiscard]] bool is_weighted() const {
    return std::any_of(metrics.begin(), metrics.end(),
                       [](const metric& m) { return m.is_weighted; });
  }
  /// The number of result tensors of a batch without the model's outputs.
  [[nodiscard]] std::size_t sums() const {
    const auto counting = std::count_if(metrics.begin(), metrics.end(),
                                        [](const metric& m) { return m.counts_classes(); });
    return 1 + static_cast<std::size_t>(counting);
  }
  friend bool operator==(const scoring&, const scoring&) = default;
};

namespace detail {

/// Returns the sum of the losses (N) over a batch, and the sum of the hits of each metric that
/// counts classes. With a mask `present` (N), the sums are over the samples with mask 1.
[[nodiscard]] std::vector<tensor> sums_of(const glia::device& device, const tensor& losses,
                                          const tensor& y, const targets& t, const scoring& spec,
                                          const tensor& present = {});

}  // namespace detail

/// Sums loss and metrics over batches. The device sums the losses, and the metrics that count
/// classes, over one batch. The host adds the results of all batches, and computes the other
/// metrics, in double precision. Results are copied to the host when they are needed, and after
/// every few batches.
class running_scores {
 public:
  /// A single output above `border` predicts class 1. Throws `value_error` if a metric has neither
  /// `update_state` nor `k`, if its `state_size` is 0, or if it has `per_sample` without `result`.
  running_scores(glia::device device, std::vector<metric> metrics, double border = 0);

  /// Discards everything added so far.
  void reset();
  /// Sets which samples of the following batches are ignored. By default, no sample is ignored.
  void count(counted_targets counted) { spec_.counted = std::move(counted); }

  /// Adds the losses (N) and outputs `y` of a batch. Throws an error if a metric does not fit the
  /// outputs. Use this function only if no metric needs outputs, no sample can be ignored and the
  /// samples have no weights.
  void add(const tensor& losses, const tensor& y, const targets& t) {
    add_sums(y.shape()[0], static_cast<double>(y.shape()[0]),
             detail::sums_of(device_, losses, y, t, spec_));
  }
  /// Adds the losses (N) and outputs `y` of a batch, for all metrics. Ignored samples are skipped.
  void add(const tensor& losses, const tensor& y, const targets& t, const batch& b);
  /// Adds the result tensors of a batch; see scoring::results.
  void add_results(std::span<const tensor> results, const batch& b);

  /// Adds the result sums of `count` samples, whose weights have the sum `weight`. The sums are
  /// already on the host.
  void add_read(std::size_t count, double weight, std::span<const double> sums);
  /// Adds the outputs (N, ...) of a batch to the metrics that need outputs. Ignored samples are
  /// skipped.
  void add_outputs(std::span<const float> outputs, const batch& b);

  [[nodiscard]] const scoring& spec() const { return spec_; }
  [[nodiscard]] const std::vector<metric>& metrics() const { return spec_.metrics; }

  /// The mean loss so far.
  [[nodiscard]] double loss() const { return mean(0); }

  /// The mean loss of the batch added last. 0 if no batch was added since the last `reset`.
  [[nodiscard]] double last_loss() const {
    read_pending();
    return last_count_ == 0 ? 0 : last_sum_ / static_cast<double>(last_count_);
  }

  /// The mean loss and the metrics so far.
  [[nodiscard]] scores means() const;

  /// Everything added so far, as numbers: the number of samples, the sums of the loss and of each
  /// metric that counts classes, then the state of each other metric, and the sum of the weights if
  /// a metric is weighted. A resumed epoch continues from them, bit for bit.
  [[nodiscard]] std::vector<double> sums_so_far() const;
  /// Replaces everything added so far by numbers that `sums_so_far` returned for the same metrics.
  /// Throws `value_error`, and changes nothing, if the number of values is wrong.
  void go_on_from(std::span<const double> numbers);

 private:
  // On a device that runs compiled graphs, an epoch should not wait for results.
  [[nodiscard]] std::size_t batches_at_a_time() const {
    return device_.compiles_whole_graphs() ? 4096 : 4;
  }

  void add_sums(std::size_t count, double weight, std::span<const tensor> sums);
  void add_outputs(const tensor& y, const batch& b);
  /// Adds the outputs for a batch to the state of a metric.
  void add_outputs(std::span<const float> outputs, const batch& b, const metric& m,
                   std::vector<double>& state);
  void make_room();
  void read_pending() const;
  [[nodiscard]] double mean(std::size_t i) const {
    return count_ == 0 ? 0 : sum(i) / static_cast<double>(count_);
  }
  /// The number of samples for a metric: the sum of their weights if the metric is weighted.
  [[nodiscard]] double samples_for(const metric& m) const {
    return m.is_weighted ? weight_ : static_cast<double>(count_);
  }
  [[nodiscard]] double sum(std::size_t i) const;

  glia::device device_;
  scoring spec_;
  // `sums_` contains the sums of the loss and of the metrics that count classes. `pending_`
  // contains the same sums for each batch that is not yet added to `sums_`.
  mutable std::vector<double> sums_;
  mutable std::vector<tensor> pending_;
  mutable std::vector<double> read_;         // the numbers of `pending_` on the host
  std::vector<std::vector<double>> states_;  // state of metrics that need outputs; else empty
  std::vector<float> outputs_;               // outputs of a batch
  std::vector<double> additions_;            // what a weighted metric adds for a sample
  std::size_t count_ = 0;
  double weight_ = 0;            // sum of the weights of the samples
  std::size_t last_count_ = 0;   // number of samples of the last batch
  mutable double last_sum_ = 0;  // sum of the losses of the last batch, unless it is in `pending_`
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/running_scores_impl.hpp"
#endif

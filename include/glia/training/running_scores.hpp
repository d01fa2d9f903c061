#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/data/dataset.hpp"
#include "glia/graph/program.hpp"
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
  /// The number of result tensors of a batch without the model's outputs.
  [[nodiscard]] std::size_t sums() const {
    const auto counting = std::count_if(metrics.begin(), metrics.end(),
                                        [](const metric& m) { return m.counts_classes(); });
    return 1 + static_cast<std::size_t>(counting);
  }
  friend bool operator==(const scoring&, const scoring&) = default;
};

namespace detail {

/// Returns the mean of each sample's numbers in `found` (N, ...) over the rows whose class is not
/// -1. The numbers of other rows must be 0. The result has the shape (N).
template <backend B>
[[nodiscard]] typename B::tensor shares_of_counting(const B& device,
                                                    const typename B::tensor& found,
                                                    const typename B::tensor& classes) {
  const std::size_t samples = classes.shape()[0];
  const shape rows{samples, sample_of(classes.shape()).size()};
  const auto counting = device.run(kernels::reshape{rows}, which_count(device, classes));
  const auto shares = device.run(
      kernels::binary{binary_function::divide},
      device.run(kernels::sum_to{{samples, 1}}, device.run(kernels::reshape{rows}, found)),
      count_of_ones(device, counting));
  return device.run(kernels::reshape{{samples}}, shares);
}

/// Returns the hits (N) of a metric that counts classes: 1 if a sample's class is among the k
/// highest outputs, otherwise 0. For outputs (N, ..., K) with a class for each row, a hit is the
/// fraction of a sample's rows. A single output above `border` predicts class 1. Throws
/// `shape_error` or `value_error` if the metric does not fit the outputs.
template <backend B>
[[nodiscard]] typename B::tensor hits(const B& device, const metric& m, const typename B::tensor& y,
                                      const targets<B>& t, double border) {
  const bool rows = t.values && are_classes_of_rows(t.values.shape(), y.shape());
  require<shape_error>(y.shape().rank() == 2 || rows, m.name,
                       ": expected outputs (N, K), or (N, ..., K) with a class for each row, got "
                       "outputs of shape ",
                       y.shape());
  const std::size_t outputs = y.shape().back();
  require<value_error>(m.k > 0 && m.k <= outputs, m.name, ": expected k from 1 to the model's ",
                       outputs, " outputs, got ", m.k);
  if (outputs == 1) {
    // Targets can also be the values 0 and 1, probabilities, or -1 and 1.
    const auto truth = t.values ? device.run(kernels::binary{binary_function::greater}, t.values,
                                             device.run(kernels::full{{}, 0.5}))
                                : device.run(kernels::one_hot{1, 0, 1}, t.labels);
    const auto guess = device.run(kernels::binary{binary_function::greater}, y,
                                  device.run(kernels::full{{}, border}));
    const auto right = device.run(kernels::binary{binary_function::equal}, guess, truth);
    // NaN is never correct.
    const auto number = device.run(kernels::binary{binary_function::equal}, y, y);
    return device.run(kernels::reshape{{y.shape()[0]}},
                      device.run(kernels::binary{binary_function::multiply}, right, number));
  }
  if (rows) {
    const auto classes = device.run(kernels::to_index{}, t.values);
    const auto one_each = device.run(kernels::reshape{{classes.shape().size()}}, classes);
    const auto found = device.run(kernels::in_top_k{m.k}, y, one_each);
    return shares_of_counting(device, device.run(kernels::reshape{classes.shape()}, found),
                              t.values);
  }
  return device.run(kernels::in_top_k{m.k}, y,
                    t.values ? device.run(kernels::argmax{}, t.values) : t.labels);
}

/// Returns the sum of the losses (N) over a batch, and the sum of the hits of each metric that
/// counts classes. With a mask `present` (N), the sums are over the samples with mask 1.
template <backend B>
[[nodiscard]] std::vector<typename B::tensor> sums_of(const B& device,
                                                      const typename B::tensor& losses,
                                                      const typename B::tensor& y,
                                                      const targets<B>& t, const scoring& how,
                                                      const typename B::tensor& present = {}) {
  const auto sum = [&](const typename B::tensor& of_each) {
    return device.run(kernels::sum_to{{}},
                      present
                          ? device.run(kernels::binary{binary_function::multiply}, of_each, present)
                          : of_each);
  };
  std::vector<typename B::tensor> sums{sum(losses)};
  for (const metric& m : how.metrics) {
    if (m.counts_classes()) {
      sums.push_back(sum(hits(device, m, y, t, how.border)));
    }
  }
  return sums;
}

}  // namespace detail

/// Sums loss and metrics over batches. The device sums the losses, and the metrics that count
/// classes, over one batch. The host adds the results of all batches, and computes the other
/// metrics, in double precision. Results are copied to the host when they are needed, and after
/// every few batches.
template <backend B>
class running_scores {
 public:
  /// A single output above `border` predicts class 1. Throws `value_error` if a metric has neither
  /// `update_state` nor `k`, if its `state_size` is 0, or if it has `per_sample` without `result`.
  running_scores(B device, std::vector<metric> metrics, double border = 0);

  /// Discards everything added so far.
  void reset();
  /// Sets which samples of the following batches are ignored. By default, no sample is ignored.
  void count(counted_targets which) { how_.counted = std::move(which); }

  /// Adds the losses (N) and outputs `y` of a batch. Throws an error if a metric does not fit the
  /// outputs. Use this function only if no metric needs outputs and no sample can be ignored.
  void add(const typename B::tensor& losses, const typename B::tensor& y, const targets<B>& t) {
    add_sums(y.shape()[0], detail::sums_of(device_, losses, y, t, how_));
  }
  /// Adds the losses (N) and outputs `y` of a batch, for all metrics. Ignored samples are skipped.
  void add(const typename B::tensor& losses, const typename B::tensor& y, const targets<B>& t,
           const batch& b);
  /// Adds the result tensors of a batch; see scoring::results.
  void add_results(std::span<const typename B::tensor> results, const batch& b);

  /// Adds the result sums of `count` samples. They are already on the host.
  void add_read(std::size_t count, std::span<const double> sums);
  /// Adds the outputs (N, ...) of a batch to the metrics that need outputs. Ignored samples are
  /// skipped.
  void add_outputs(std::span<const float> outputs, const batch& b);

  [[nodiscard]] const scoring& how() const { return how_; }
  [[nodiscard]] const std::vector<metric>& metrics() const { return how_.metrics; }

  /// The mean loss so far.
  [[nodiscard]] double loss() const { return mean(0); }

  /// The mean loss and the metrics so far.
  [[nodiscard]] scores means() const;

  /// Everything added so far, as numbers: the number of samples, the sums of the loss and of each
  /// metric that counts classes, then the state of each other metric. A resumed epoch continues
  /// from them, bit for bit.
  [[nodiscard]] std::vector<double> sums_so_far() const;
  /// Replaces everything added so far by numbers that `sums_so_far` returned for the same metrics.
  /// Throws `value_error`, and changes nothing, if the number of values is wrong.
  void go_on_from(std::span<const double> numbers);

 private:
  // On a device that runs compiled graphs, an epoch should not wait for results.
  static constexpr std::size_t batches_at_a_time = compiling_backend<B> ? 4096 : 4;

  void add_sums(std::size_t count, std::span<const typename B::tensor> sums);
  void add_outputs(const typename B::tensor& y, const batch& b);
  void make_room();
  void read_pending() const;
  [[nodiscard]] double mean(std::size_t i) const {
    return count_ == 0 ? 0 : sum(i) / static_cast<double>(count_);
  }
  [[nodiscard]] double sum(std::size_t i) const;

  B device_;
  scoring how_;
  // `sums_` contains the sums of the loss and of the metrics that count classes. `pending_`
  // contains the same sums for each batch that is not yet added to `sums_`.
  mutable std::vector<double> sums_;
  mutable std::vector<typename B::tensor> pending_;
  mutable std::vector<double> read_;      // the numbers of `pending_` on the host
  std::vector<std::vector<double>> own_;  // state of metrics that need outputs; else empty
  std::vector<float> outputs_;            // outputs of a batch
  std::size_t count_ = 0;
};

}  // namespace glia

#include "glia/training/running_scores_impl.hpp"

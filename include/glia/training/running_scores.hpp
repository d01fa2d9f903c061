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

/// What is measured of outputs beside the loss.
struct scoring {
  std::vector<metric> metrics;
  double border = 0;             ///< above which a single output is taken for class 1
  counted_targets counted = {};  ///< which samples they are measured of

  /// Whether a metric looks at the outputs on the host.
  [[nodiscard]] bool needs_outputs() const {
    return std::any_of(metrics.begin(), metrics.end(),
                       [](const metric& m) { return !m.counts_classes(); });
  }
  /// How many tensors a batch gives: the sums of the loss and of what counts classes, and the
  /// outputs where they are needed.
  [[nodiscard]] std::size_t results() const { return sums() + (needs_outputs() ? 1 : 0); }
  /// Without the outputs.
  [[nodiscard]] std::size_t sums() const {
    const auto counting = std::count_if(metrics.begin(), metrics.end(),
                                        [](const metric& m) { return m.counts_classes(); });
    return 1 + static_cast<std::size_t>(counting);
  }
  friend bool operator==(const scoring&, const scoring&) = default;
};

namespace detail {

/// (N): of numbers (N, ...), of each sample's rows that have a class and not -1, the mean.
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

/// (N): 1 for samples that the metric counts, else 0, and for a class of each row (N, ..., K) the
/// share of those that it counts. A single output above `border` is taken for class 1. Throws where
/// a metric cannot count such outputs.
template <backend B>
[[nodiscard]] typename B::tensor hits(const B& device, const metric& m, const typename B::tensor& y,
                                      const targets<B>& t, double border) {
  const bool rows = t.values && are_classes_of_rows(t.values.shape(), y.shape());
  require<shape_error>(y.shape().rank() == 2 || rows, m.name,
                       ": expected outputs (N, K), or (N, ..., K) with a class for each row, got ",
                       y.shape());
  const std::size_t outputs = y.shape().back();
  require<value_error>(m.k > 0 && m.k <= outputs, m.name, ": expected k from 1 to the model's ",
                       outputs, " outputs, got ", m.k);
  if (outputs == 1) {
    // Classes may also be given as the values 0 and 1, as probabilities, or as -1 and 1.
    const auto truth = t.values ? device.run(kernels::binary{binary_function::greater}, t.values,
                                             device.run(kernels::full{{}, 0.5}))
                                : device.run(kernels::one_hot{1, 0, 1}, t.classes);
    const auto guess = device.run(kernels::binary{binary_function::greater}, y,
                                  device.run(kernels::full{{}, border}));
    const auto right = device.run(kernels::binary{binary_function::equal}, guess, truth);
    // What is not a number lies on no side.
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
                    t.values ? device.run(kernels::argmax{}, t.values) : t.classes);
}

/// The sums over a batch of the losses (N), then of each metric that counts classes; with `present`
/// (N) over the samples for which that is 1 and not 0.
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

/// Sums loss and metrics over batches: what counts classes on the device batch by batch, and these
/// sums, like all others, in double on the host. Numbers are read back when they are asked for, and
/// every so many batches.
template <backend B>
class running_scores {
 public:
  /// A single output above `border` is taken for class 1.
  running_scores(B device, std::vector<metric> metrics, double border = 0);

  void reset();
  /// Says which samples count of the batches that follow; all, if nothing is said.
  void count(counted_targets which) { how_.counted = std::move(which); }

  /// `losses` (N) and outputs `y` of a batch. Throws where a metric cannot count such outputs. For
  /// metrics that look at outputs, and where not all samples count, see the next.
  void add(const typename B::tensor& losses, const typename B::tensor& y, const targets<B>& t) {
    add_sums(y.shape()[0], detail::sums_of(device_, losses, y, t, how_));
  }
  /// The same with what metrics look at of the batch.
  void add(const typename B::tensor& losses, const typename B::tensor& y, const targets<B>& t,
           const batch& b);
  /// The same for what a batch gives; see scoring::results.
  void add_results(std::span<const typename B::tensor> results, const batch& b);

  /// The same for sums that were read already, of so many samples.
  void add_read(std::size_t count, std::span<const double> sums);
  /// Outputs (N, ...) of a batch's samples for the metrics that look at them, of those that count.
  void add_outputs(std::span<const float> outputs, const batch& b);

  [[nodiscard]] const scoring& how() const { return how_; }
  [[nodiscard]] const std::vector<metric>& metrics() const { return how_.metrics; }

  /// The mean loss so far.
  [[nodiscard]] double loss() const { return mean(0); }

  [[nodiscard]] scores means() const;

  /// All that was added so far: the number of samples, the sums of the loss and of each metric that
  /// counts classes, then the numbers of each other metric, one after the other. An interrupted
  /// epoch goes on from them, to the same bits.
  [[nodiscard]] std::vector<double> sums_so_far() const;
  /// Forgets what was added, and goes on from such numbers of the same metrics. Throws
  /// `value_error`, and changes nothing, where there are more or fewer of them.
  void go_on_from(std::span<const double> numbers);

 private:
  // A device that computes whole steps is not to be waited for within an epoch.
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
  // The loss, then what counts classes, and the same for each batch that is not yet in these sums:
  // it is read when somebody asks.
  mutable std::vector<double> sums_;
  mutable std::vector<typename B::tensor> pending_;
  mutable std::vector<double> read_;      // the numbers in `pending_`, once read
  std::vector<std::vector<double>> own_;  // of metrics that look at outputs; else empty
  std::vector<float> outputs_;            // of a batch
  std::size_t count_ = 0;
};

}  // namespace glia

#include "glia/training/running_scores_impl.hpp"

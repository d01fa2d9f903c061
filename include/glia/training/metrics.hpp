#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/data/dataset.hpp"
#include "glia/losses/targets.hpp"

namespace glia {

/// What a sample should have come to: a class, or values of the outputs' shape.
struct sample_target {
  std::int32_t label = -1;             ///< -1 where there are values
  std::span<const float> values = {};  ///< none where there is a class

  /// As a value for output `i` of `outputs`: classes are 1 at theirs and 0 elsewhere, those of a
  /// single output 0 or 1.
  [[nodiscard]] double value(std::size_t i, std::size_t outputs) const {
    if (!values.empty()) {
      return values[i];
    }
    return outputs == 1 ? label : label == static_cast<std::int32_t>(i) ? 1 : 0;
  }
};

/// Something that is measured of a model's outputs beside the loss. One of a user's own is a value:
/// it adds up numbers over the samples, in double and on the host, and makes one of them.
///
///     glia::metric{.name = "bias", .add = [](auto y, const auto& t, auto sums) {
///                    sums[0] += y[0] - t.values[0];
///                  }}
///
/// Metrics are told apart by their names.
struct metric {
  std::string name;

  /// Counts the samples whose class is among the k with the highest scores; 0: see `add`.
  std::size_t k = 0;

  std::size_t sums = 1;  ///< how many numbers `add` adds to, from 0 on
  std::function<void(std::span<const float> outputs, const sample_target& target,
                     std::span<double> sums)>
      add = {};
  /// The metric, of the sums over so many samples; without it their first divided by the samples.
  std::function<double(std::span<const double> sums, double samples)> finish = {};

  [[nodiscard]] bool counts_classes() const { return !add; }
  friend bool operator==(const metric& a, const metric& b) {
    return a.name == b.name && a.k == b.k && a.sums == b.sums &&
           a.counts_classes() == b.counts_classes();
  }
};

/// The share of samples whose class has the highest score; for a model with one output, of those
/// that lie on their class's side of the border: 0 for a logit, 1/2 where the model ends in a
/// sigmoid or the loss is that of a regression, which brings outputs close to 0 and 1.
[[nodiscard]] inline metric accuracy() { return {.name = "accuracy", .k = 1}; }
/// The share of samples whose class is among the k highest scores.
[[nodiscard]] inline metric top_k(std::size_t k) {
  require<value_error>(k > 0, "top_k: expected k of at least 1");
  return {.name = text("top_", k), .k = k};
}

/// The mean of |y - t| over samples and outputs.
[[nodiscard]] inline metric mae() {
  return {.name = "mae", .add = [](auto y, const sample_target& t, auto sums) {
            double sum = 0;
            for (std::size_t i = 0; i < y.size(); ++i) {
              sum += std::abs(y[i] - t.value(i, y.size()));
            }
            sums[0] += sum / static_cast<double>(y.size());
          }};
}

/// The coefficient of determination, 1 - sum (y - t)^2 / sum (t - mean of t)^2 over samples and
/// outputs: 1 for outputs that are the targets, 0 for their mean, NaN where targets are all alike.
[[nodiscard]] inline metric r_squared() {
  enum { errors, count, mean, spread };
  return {.name = "r_squared",
          .sums = 4,
          .add =
              [](auto y, const sample_target& t, auto sums) {
                for (std::size_t i = 0; i < y.size(); ++i) {
                  const double value = t.value(i, y.size());
                  sums[errors] += (y[i] - value) * (y[i] - value);
                  // Welford, Technometrics 1962: digits are not lost to a mean that is large.
                  const double off = value - sums[mean];
                  sums[mean] += off / ++sums[count];
                  sums[spread] += off * (value - sums[mean]);
                }
              },
          .finish =
              [](auto sums, double) {
                return sums[spread] > 0 ? 1 - sums[errors] / sums[spread]
                                        : std::numeric_limits<double>::quiet_NaN();
              }};
}

/// Loss and metrics over samples.
struct scores {
  double loss = 0;
  std::vector<double> metrics;          ///< in the order in which they were asked for
  std::vector<std::string> names = {};  ///< of the metrics

  /// The loss by its name, "loss", or a metric by its own. Throws `value_error` for another name.
  [[nodiscard]] double operator[](std::string_view name) const {
    if (name == "loss") {
      return loss;
    }
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) {
      std::string known = "loss";
      for (const std::string& one : names) {
        known += ", " + one;
      }
      throw value_error(text("scores: nothing is called '", name, "'; there are: ", known));
    }
    return metrics[static_cast<std::size_t>(at - names.begin())];
  }
};

/// What is measured of outputs beside the loss.
struct scoring {
  std::vector<metric> metrics;
  double border = 0;  ///< above which a single output is taken for class 1

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

/// (N): 1 for samples that the metric counts, else 0. A single output above `border` is taken for
/// class 1. Throws where a metric cannot count such outputs.
template <backend B>
[[nodiscard]] typename B::tensor hits(const B& device, const metric& m, const typename B::tensor& y,
                                      const targets<B>& t, double border) {
  require<shape_error>(y.shape().rank() == 2, m.name, ": expected outputs (N, K), got ", y.shape());
  const std::size_t outputs = y.shape()[1];
  require<value_error>(m.k > 0 && m.k <= outputs, m.name, ": expected k from 1 to the model's ",
                       outputs, " outputs, got ", m.k);
  if (outputs == 1) {
    // Classes may also be given as the values 0 and 1, as probabilities, or as -1 and 1.
    const auto truth = t.values ? device.run(kernels::binary{binary_function::greater}, t.values,
                                             device.run(kernels::full{{}, 0.5}))
                                : device.run(kernels::one_hot{1, 0, 1}, t.classes);
    const auto guess = device.run(kernels::binary{binary_function::greater}, y,
                                  device.run(kernels::full{{}, border}));
    return device.run(kernels::binary{binary_function::equal}, guess, truth);
  }
  return device.run(kernels::in_top_k{m.k}, y,
                    t.values ? device.run(kernels::argmax{}, t.values) : t.classes);
}

/// The sums over a batch of the losses (N), then of each metric that counts classes.
template <backend B>
[[nodiscard]] std::vector<typename B::tensor> sums_of(const B& device,
                                                      const typename B::tensor& losses,
                                                      const typename B::tensor& y,
                                                      const targets<B>& t, const scoring& how) {
  std::vector<typename B::tensor> sums{device.run(kernels::sum_to{{}}, losses)};
  for (const metric& m : how.metrics) {
    if (m.counts_classes()) {
      sums.push_back(device.run(kernels::sum_to{{}}, hits(device, m, y, t, how.border)));
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

  /// `losses` (N) and outputs `y` of a batch. Throws where a metric cannot count such outputs. For
  /// metrics that look at outputs see the next.
  void add(const typename B::tensor& losses, const typename B::tensor& y, const targets<B>& t) {
    add_sums(y.shape()[0], detail::sums_of(device_, losses, y, t, how_));
  }
  /// The same with what metrics look at of the batch.
  void add(const typename B::tensor& losses, const typename B::tensor& y, const targets<B>& t,
           const batch& b);
  /// The same for what a batch gives; see scoring::results.
  void add_results(std::span<const typename B::tensor> results, const batch& b);

  [[nodiscard]] const scoring& how() const { return how_; }
  [[nodiscard]] const std::vector<metric>& metrics() const { return how_.metrics; }

  /// The mean loss so far.
  [[nodiscard]] double loss() const { return mean(0); }

  [[nodiscard]] scores means() const;

 private:
  static constexpr std::size_t batches_at_a_time = 4;

  void add_sums(std::size_t count, std::span<const typename B::tensor> sums);
  /// Outputs (N, ...) of a batch for the metrics that look at them.
  void add_outputs(const typename B::tensor& y, const batch& b);
  void make_room();
  [[nodiscard]] double mean(std::size_t i) const {
    return count_ == 0 ? 0 : sum(i) / static_cast<double>(count_);
  }
  [[nodiscard]] double sum(std::size_t i) const;

  B device_;
  scoring how_;
  std::vector<double> sums_;                 // the loss, then what counts classes
  std::vector<typename B::tensor> pending_;  // the same for each batch not yet in the sums
  std::vector<std::vector<double>> own_;     // of the metrics that look at outputs; else empty
  std::vector<float> outputs_;               // of a batch
  std::size_t count_ = 0;
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/metrics_impl.hpp"
#endif

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/core/shape.hpp"

namespace glia {

/// The real-valued target of a sample, as metrics read it. Reading throws `value_error`, with the
/// name of the metric, if the sample has a class label instead or if the index is out of range.
class target_values {
 public:
  constexpr target_values() = default;
  constexpr target_values(std::span<const float> values, std::string_view metric = "a metric")
      : values_(values), metric_(metric) {}

  [[nodiscard]] constexpr std::size_t size() const noexcept { return values_.size(); }
  [[nodiscard]] constexpr bool empty() const noexcept { return values_.empty(); }

  [[nodiscard]] const float& operator[](std::size_t i) const {
    const std::span<const float> values = checked();
    require<value_error>(i < values.size(), metric_, ": the metric reads value ", i,
                         " of a target that has ", values.size(), " values");
    return values[i];
  }
  [[nodiscard]] const float* data() const { return checked().data(); }
  [[nodiscard]] const float* begin() const { return data(); }
  [[nodiscard]] const float* end() const { return data() + size(); }
  [[nodiscard]] std::span<const float> subspan(std::size_t first, std::size_t count) const {
    return checked().subspan(first, count);
  }

 private:
  [[nodiscard]] std::span<const float> checked() const {
    require<value_error>(!values_.empty(), metric_,
                         ": the metric reads the values of a target, but the samples have class "
                         "labels; read t.label, or t.value(i, outputs), which is 1 for the label "
                         "and 0 for other classes");
    return values_;
  }

  std::span<const float> values_ = {};
  std::string_view metric_ = "a metric";
};

/// The target of a sample: a class label, or real values with the shape of the outputs.
struct sample_target {
  std::int32_t label = -1;    ///< Class label; -1 if the target has values.
  target_values values = {};  ///< Values; empty if the target is a class label.
  double threshold = 0;       ///< Threshold of a single output; a larger output predicts class 1.
  /// Weight of the sample, for a metric with `reads_weight`; 1 if the metric is not weighted.
  double weight = 1;

  /// The target value of output `i` of `outputs`. For a class label, the value is 1 if `i` is the
  /// class, and 0 for the other outputs. If the model has a single output, the value is the label
  /// itself, 0 or 1.
  [[nodiscard]] double value(std::size_t i, std::size_t outputs) const {
    if (!values.empty()) {
      return values[i];
    }
    return outputs == 1 ? label : label == static_cast<std::int32_t>(i) ? 1 : 0;
  }
};

/// The properties of outputs and targets that a metric can check before the first step.
struct measured_outputs {
  shape output;                      ///< Shape of the model's outputs, without the batch axis.
  std::optional<shape> values = {};  ///< Shape of a target; empty if samples have class labels.
  /// Activation that the loss applies: if it is softmax or sigmoid, the outputs are logits.
  output_kind applied = output_kind::other;
};

/// A metric: a number computed from a model's outputs and the targets, in addition to the loss.
///
/// For each sample, `update_state` adds numbers to a few sums, in double precision on the host.
/// `result` computes the metric from the sums. Without `result` the metric is the first sum divided
/// by the number of samples:
///
///     glia::metric{.name = "bias", .update_state = [](auto y, const auto& t, auto sums) {
///                    sums[0] += y[0] - t.values[0];
///                  }}
///
/// Each metric of a training needs its own name.
struct metric {
  std::string name;         ///< Name in histories, CSV files and callbacks.
  std::string output = {};  ///< Name of the output, if the model has several; see `for_output`.

  /// If above 0, the metric is the fraction of samples whose class is among the k highest outputs.
  /// The device computes it, without `update_state`. If 0, the metric uses `update_state`.
  std::size_t k = 0;

  /// Number of sums that `update_state` adds to; each sum begins at 0.
  std::size_t state_size = 1;
  /// Whether each sample has its own `state_size` values, instead of common sums. The values begin
  /// at 0. `result` then gets the values of all samples, one after another. Use it for metrics that
  /// sums cannot express, such as `auc`. Each value takes 8 bytes.
  bool per_sample = false;
  /// Whether `update_state` uses `target.weight` itself. Needed for a weighted metric whose numbers
  /// are not sums over the samples, such as means or values of each sample.
  bool reads_weight = false;
  /// Adds one sample to the sums. `outputs` are the model's outputs for the sample. Writing
  /// beyond `state_size` sums, up to 256 numbers, throws `value_error` at the end of the batch.
  std::function<void(std::span<const float> outputs, const sample_target& target,
                     std::span<double> sums)>
      update_state = {};
  /// Computes the metric from the sums over `samples` samples; default: sums[0] / samples.
  std::function<double(std::span<const double> sums, double samples)> result = {};
  /// Returns why the metric cannot be computed for these outputs and targets, or an empty text if
  /// it can be computed. Called before the first step; `fit` and `evaluate` throw `value_error`
  /// with the text.
  std::function<std::string(const measured_outputs&)> unsupported_reason = {};
  /// Whether the metric uses the weights of the samples; see `weighted`. Everything that
  /// `update_state` adds is then multiplied by the weight of the sample, unless it reads the weight
  /// itself. `result` gets the sum of the weights as `samples`.
  bool is_weighted = false;
  /// Whether smaller values are better: true for errors, false for accuracies.
  bool smaller_is_better = false;

  [[nodiscard]] bool counts_classes() const { return !update_state; }
  friend bool operator==(const metric& a, const metric& b) {
    return a.name == b.name && a.k == b.k && a.state_size == b.state_size &&
           a.per_sample == b.per_sample && a.is_weighted == b.is_weighted &&
           a.counts_classes() == b.counts_classes();
  }
};

/// Returns a metric that uses the weights of the samples, under the name "weighted_" and the name
/// of the metric. A sample with the weight 2 counts like two equal samples. For a data set without
/// weights, it has the value of the metric. Corresponds to `weighted_metrics` of Keras's `compile`.
///
///     trainer.fit(data, {.metrics = {glia::weighted(glia::accuracy())}});
[[nodiscard]] inline metric weighted(metric m) {
  m.name = "weighted_" + m.name;
  m.is_weighted = true;
  return m;
}

/// The metrics to compute, such as {mae(), r2_score()}. By default, accuracy is computed for class
/// labels and nothing for real-valued targets. An empty vector means no metrics.
class metric_list {
 public:
  metric_list() = default;
  metric_list(std::vector<metric> metrics) : chosen_(std::move(metrics)) {}
  metric_list(std::initializer_list<metric> metrics) : chosen_(metrics) {}

  [[nodiscard]] std::vector<metric> value_or(std::vector<metric> defaults) const {
    return chosen_.value_or(std::move(defaults));
  }

 private:
  std::optional<std::vector<metric>> chosen_;
};

}  // namespace glia

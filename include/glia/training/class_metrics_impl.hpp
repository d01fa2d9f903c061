#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/number_text.hpp"
#include "glia/core/shape.hpp"
#include "glia/training/class_metrics.hpp"
#include "glia/training/metric.hpp"

namespace glia {

namespace detail {

/// Returns the predicted class of a row of outputs, or nothing if an output is NaN.
GLIA_INLINE std::optional<std::size_t> predicted_class(std::span<const float> row,
                                                       double threshold) {
  if (std::any_of(row.begin(), row.end(), [](float y) { return std::isnan(y); })) {
    return std::nullopt;
  }
  return row.size() == 1
             ? (row[0] > threshold ? 1 : 0)
             : static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

/// Adds the rows of one sample to the counts of K classes: three sums for each class, in the order
/// of `class_count`.
class row_counter {
 public:
  row_counter(std::string metric, const class_options& options)
      : metric_(std::move(metric)), options_(options) {}

  void operator()(std::span<const float> y, const sample_target& t, std::span<double> sums) const {
    const double threshold = options_.threshold.value_or(t.threshold);
    if (options_.multilabel) {
      count_labels(y, t, threshold, sums);
    } else if (t.values.empty()) {
      count(static_cast<std::size_t>(t.label), predicted_class(y, threshold), sums);
    } else if (t.values.size() == y.size() && options_.classes > 2) {
      const std::span<const float> values = t.values.subspan(0, y.size());
      for (std::size_t first = 0; first < y.size(); first += options_.classes) {
        count(one_hot_class(values.subspan(first, options_.classes)),
              predicted_class(y.subspan(first, options_.classes), threshold), sums);
      }
    } else {
      const std::size_t width = y.size() / t.values.size();
      for (std::size_t row = 0; row < t.values.size(); ++row) {
        const float value = t.values[row];
        if (value == -1 && width > 1) {
          continue;
        }
        require<data_error>(value >= 0 && value < static_cast<float>(options_.classes) &&
                                value == std::floor(value),
                            metric_, ": expected targets that are classes from 0 to ",
                            options_.classes - 1, ", got ", value);
        count(static_cast<std::size_t>(value),
              predicted_class(y.subspan(row * width, width), threshold), sums);
      }
    }
  }

 private:
  /// Returns the class of a row of targets, one of which is 1 and the others 0.
  [[nodiscard]] std::size_t one_hot_class(std::span<const float> row) const {
    const auto place = std::find_if(row.begin(), row.end(), [](float t) { return t != 0; });
    const bool valid =
        place != row.end() && *place == 1 &&
        std::count(row.begin(), row.end(), 0.0F) + 1 == static_cast<std::ptrdiff_t>(row.size());
    require<data_error>(valid, metric_,
                        ": expected rows of targets of which one is 1 and the others are 0; for "
                        "samples with several labels, pass .multilabel = true");
    return static_cast<std::size_t>(place - row.begin());
  }

  void count(std::size_t truth, std::optional<std::size_t> predicted,
             std::span<double> sums) const {
    enum { true_positives, predictions, samples };
    require<value_error>(std::max(truth, predicted.value_or(0)) < options_.classes, metric_,
                         ": expected classes below ", options_.classes, ", got ", truth,
                         " and the prediction ", predicted.value_or(0));
    sums[3 * truth + samples] += 1;
    if (predicted) {
      sums[3 * *predicted + predictions] += 1;
      sums[3 * truth + true_positives] += *predicted == truth ? 1 : 0;
    }
  }

  void count_labels(std::span<const float> y, const sample_target& t, double threshold,
                    std::span<double> sums) const {
    enum { true_positives, predictions, samples };
    for (std::size_t i = 0; i < y.size(); ++i) {
      const float target = t.values[i];
      require<data_error>(target == 0 || target == 1, metric_,
                          ": expected targets that are 0 or 1, got ", target);
      double* const of_label = &sums[3 * (i % options_.classes)];
      const bool predicted = y[i] > threshold;
      of_label[true_positives] += predicted && target == 1 ? 1 : 0;
      of_label[predictions] += predicted ? 1 : 0;
      of_label[samples] += target;
    }
  }

  std::string metric_;
  class_options options_;
};

/// Returns why counts of classes do not fit these outputs and targets, or an empty text.
GLIA_INLINE std::string refuse_unless_classes(const measured_outputs& measured,
                                              const class_options& options) {
  const shape& output = measured.output;
  const std::size_t width = output.rank() == 0 ? 1 : output.back();
  const bool single = options.classes == 2 && width == 1 && !options.multilabel;
  if (width != options.classes && !single) {
    const bool binary = options.classes == 2 && !options.multilabel;
    return text(binary ? std::string("expected a model with one output or two outputs, for the "
                                     "classes 0 and 1")
                       : text("expected a model with ", options.classes, " outputs"),
                ", got outputs of shape ", output, "; for ", std::max<std::size_t>(width, 2),
                " classes, set the number of classes of the metric");
  }
  if (options.threshold && !single && !options.multilabel) {
    return text("a threshold needs a model with one output, or .multilabel, got outputs of shape ",
                output, ", the highest of which is the predicted class");
  }
  if (options.multilabel) {
    return measured.values && *measured.values == output
               ? ""
               : "expected targets of 0 and 1 with the shape of the outputs, for example of "
                 "glia::target_arrays";
  }
  if (!measured.values) {
    return output.rank() < 2
               ? ""
               : text(
                     "expected a class for each row of the outputs, but the samples have one "
                     "label and outputs of shape ",
                     output);
  }
  const shape& values = *measured.values;
  const bool class_of_row = output.rank() > 0 && values.size() * width == output.size() &&
                            (output.rank() > 1 || width == 1);
  const bool row_of_values = values == output && (options.classes > 2 || width == 1);
  return class_of_row || row_of_values
             ? ""
             : text("expected samples with class labels, got real-valued targets of shape ", values,
                    " for outputs of shape ", output,
                    "; pass the classes as labels, for example with glia::labeled_arrays");
}

/// Throws `value_error` if options contradict each other.
GLIA_INLINE void require_options(const std::string& score, const class_options& options) {
  const std::size_t minimum = options.multilabel ? 1 : 2;
  require<value_error>(options.classes >= minimum, score, ": expected .classes of at least ",
                       minimum, ", got ", options.classes);
  require<value_error>(!options.class_index || *options.class_index < options.classes, score,
                       ": expected .class_index below the ", options.classes, " classes, got ",
                       options.class_index.value_or(0));
  require<value_error>(!options.class_index || !options.average, score,
                       ": .class_index measures one class, and .average measures all classes; "
                       "remove one of the two");
}

/// Returns the class that a metric measures, or nothing if it averages over all classes.
GLIA_INLINE std::optional<std::size_t> measured_class(const class_options& options) {
  const bool binary = options.classes == 2 && !options.multilabel && !options.average;
  return options.class_index ? options.class_index
         : binary            ? std::optional<std::size_t>(1)
                             : std::nullopt;
}

/// Returns the name of a metric with these options.
GLIA_INLINE std::string name_of_score(const std::string& score, const class_options& options) {
  std::string name = score;
  const std::optional<std::size_t> index = measured_class(options);
  if (!index) {
    name += text("_", name_of(options.average.value_or(averaging::macro)));
  } else if (options.classes != 2 || options.multilabel || *index != 1) {
    name += text("_", *index);
  }
  return options.threshold ? name + "_at_" + exact_text(*options.threshold) : name;
}

/// A metric that is a function of the counts of classes.
GLIA_INLINE metric class_metric(const std::string& name, const class_options& options,
                                std::function<double(std::span<const class_count>)> score) {
  require_options(name, options);
  return {.name = name,
          .state_size = 3 * options.classes,
          .update_state = row_counter(name, options),
          .result =
              [score = std::move(score)](std::span<const double> sums, double) {
                std::vector<class_count> counts(sums.size() / 3);
                for (std::size_t k = 0; k < counts.size(); ++k) {
                  counts[k] = {sums[3 * k], sums[3 * k + 1], sums[3 * k + 2]};
                }
                return score(counts);
              },
          .unsupported_reason =
              [options](const measured_outputs& measured) {
                return refuse_unless_classes(measured, options);
              }};
}

/// A metric that is the score of a class, or the average over classes.
GLIA_INLINE metric score_metric(const std::string& name, const class_options& options,
                                class_score score) {
  return class_metric(
      name_of_score(name, options), options,
      [=, index = measured_class(options),
       kind = options.average.value_or(averaging::macro)](std::span<const class_count> counts) {
        return index ? (counts[*index].*score)() : average(counts, kind, score, options.multilabel);
      });
}

}  // namespace detail

GLIA_INLINE metric precision(const class_options& options) {
  return detail::score_metric("precision", options, &class_count::precision);
}

GLIA_INLINE metric recall(const class_options& options) {
  return detail::score_metric("recall", options, &class_count::recall);
}

GLIA_INLINE metric f1_score(const class_options& options) {
  return detail::score_metric("f1_score", options, &class_count::f1_score);
}

GLIA_INLINE metric iou(const class_options& options) {
  return detail::score_metric("iou", options, &class_count::iou);
}

GLIA_INLINE metric balanced_accuracy(std::size_t classes) {
  const class_options options{.classes = classes};
  return detail::class_metric(
      "balanced_accuracy", options,
      [](std::span<const class_count> counts) { return balanced_accuracy(counts); });
}

GLIA_INLINE metric matthews_correlation(std::size_t classes) {
  const class_options options{.classes = classes};
  return detail::class_metric(
      "matthews_correlation", options,
      [](std::span<const class_count> counts) { return matthews_correlation(counts); });
}

}  // namespace glia

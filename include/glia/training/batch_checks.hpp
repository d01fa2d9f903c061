#pragma once

// Checks that a data set or a batch fits a model, a loss and metrics.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glia/data/dataset_view.hpp"
#include "glia/losses/any_loss.hpp"
#include "glia/models/model_core.hpp"
#include "glia/training/metrics.hpp"

namespace glia::detail {

/// Throws `data_error` if a data set is empty or has too many samples, and `shape_error` if its
/// samples do not have the shape `sample`. Error messages begin with `caller`.
inline void require_fitting(std::string_view caller, const dataset_view& data,
                            const shape& sample) {
  require<data_error>(data.size() > 0, caller, ": the data set is empty");
  detail::require_numbered(caller, data.size());
  const shape input = data.input_shape();
  const bool permuted = input.rank() > 1 && input.rank() == sample.rank() &&
                        std::is_permutation(input.begin(), input.end(), sample.begin());
  const bool channels_first =
      input.rank() == 3 && sample.rank() == 3 && input == shape{sample[2], sample[0], sample[1]};
  require<shape_error>(
      input == sample, caller, ": the model takes samples of shape ", sample,
      ", but the data set has samples of shape ", input,
      channels_first ? "; transpose the samples, because images have their channels last"
      : permuted ? "; transpose the samples, because a reshape would mix their elements, or read "
                   "an ONNX file of images with .channels_last = true"
      : input.size() == sample.size()
          ? "; begin the model with a reshape, or make the model for the data set's shape"
          : "");
}

/// Whether targets (...) are class labels, one for each row of outputs (..., K). A row is, for
/// example, a step of a sequence or a pixel of an image.
[[nodiscard]] inline bool are_classes_of_rows(const shape& targets, const shape& output,
                                              const any_loss& loss) {
  return loss.applied_activation == output_kind::softmax &&
         glia::detail::are_classes_of_rows(batch_of(1, targets), batch_of(1, output));
}

/// Returns the ranges of a sample's targets that contain class labels. A sample is ignored if all
/// these labels are -1. `targets` is the shape of a sample's targets; empty for class labels.
[[nodiscard]] inline counted_targets counted_by(const any_loss& loss,
                                                const std::optional<shape>& targets,
                                                const shape& output) {
  counted_targets result;
  for (const auto& compared : loss.compared_parts) {
    const row_part& part = compared.part;
    if (part.classes == 0 || part.extents.rank() == 0) {
      return {};
    }
    result.classes.push_back({part.first, part.end()});
  }
  if (targets && loss.compared_parts.empty() && are_classes_of_rows(*targets, output, loss)) {
    result.classes.push_back({0, targets->size()});
  }
  return result;
}
/// The same for the targets of a batch. If the targets lack values that the loss needs, no sample
/// is ignored; the loss then throws an error with a better message.
[[nodiscard]] inline counted_targets counted_by(const any_loss& loss, const batch& b,
                                                const shape& output) {
  counted_targets result = counted_by(
      loss, b.is_labeled() ? std::nullopt : std::optional(sample_of(b.target_shape)), output);
  const auto is_missing = [&](const index_range& part) {
    return b.size > 0 && part.end > b.targets.size() / b.size;
  };
  return std::any_of(result.classes.begin(), result.classes.end(), is_missing) ? counted_targets{}
                                                                               : result;
}

/// Throws `shape_error` if the targets do not have the shape that a loss of the library needs.
/// User-defined losses check their targets themselves.
inline void require_target_shape(std::string_view caller, const dataset_view& data,
                                 const shape& output, const any_loss& loss) {
  const std::optional<shape> targets = data.target_shape();
  const std::vector<row_part>& parts = loss.target_parts;
  if (!parts.empty()) {
    if (data.target_parts() != nullptr) {
      require_parts(caller, "targets", parts, *data.target_parts());
    }
    require<shape_error>(targets == shape{row_size(parts)}, caller, ": expected targets of shape ",
                         shape{row_size(parts)}, " that hold ", parts_text(parts),
                         ", but the data set has ",
                         targets ? text("targets of shape ", *targets) : "class labels",
                         "; make the data set with named_arrays");
    return;
  }
  if (!targets || are_classes_of_rows(*targets, output, loss) || *targets == output ||
      !loss.compares()) {
    return;
  }
  const char* const advice =
      targets->size() == output.size() ? "; reshape the targets to the shape of the model's outputs"
      : loss.applied_activation == output_kind::softmax && targets->size() == 1
          ? "; pass class labels with labeled_arrays"
          : "; end the model with as many outputs as a sample has targets";
  throw shape_error(text(caller, ": the model has outputs of shape ", output,
                         " for each sample, but the data set's targets have shape ", *targets,
                         advice));
}

/// The part of a model that takes a data set's samples: the whole model, or the part after its
/// frozen layers.
[[nodiscard]] inline model_part part_for(const dataset_view& data) {
  return data.behind_frozen_layers() ? model_part::trained : model_part::whole;
}

/// Throws an error if the samples of a data set do not fit a model. Error messages begin with
/// `caller`.
inline void require_fitting(std::string_view caller, const dataset_view& data,
                            const model_core& net) {
  require<value_error>(
      net.frontier() || !data.behind_frozen_layers(), caller,
      ": the data set holds outputs of frozen layers, but the model does not begin "
      "with frozen layers; pass the samples themselves");
  if (part_for(data) == model_part::whole && data.input_parts() != nullptr &&
      !net.plan().inputs.empty()) {
    require_parts(caller, "inputs", net.plan().inputs, *data.input_parts());
  }
  require_fitting(caller, data, net.sample_shape_of(part_for(data)));
}

/// Throws `value_error` if a model ends in a sigmoid or softmax and the loss also applies a sigmoid
/// or softmax.
inline void require_logits(const model_plan& plan, const any_loss& loss) {
  if (loss.applied_activation != output_kind::other) {
    require<value_error>(plan.gives == output_kind::other, plan.giver, ": the model ends in a ",
                         name_of(plan.gives), ", but ", loss.description,
                         " takes logits and applies a ", name_of(loss.applied_activation),
                         " itself; end the model without it, as with dense{", plan.output.back(),
                         "}, and get probabilities with glia::", name_of(loss.applied_activation),
                         "(net.predict(x))");
  }
}

/// The threshold above which a single output predicts class 1.
[[nodiscard]] inline double class_border(const model_plan& plan, const any_loss& loss) {
  return loss.is_regression || plan.gives == output_kind::sigmoid ? 0.5 : 0;
}

/// Throws `data_error` if a target in columns [first, end) is not a valid class index. If the
/// targets are labels for each row of outputs (`of_rows`), -1 is valid and means no label.
inline void require_class_values(std::span<const float> targets, std::size_t row, std::size_t first,
                                 std::size_t end, std::size_t classes, bool of_rows) {
  const float minimum = of_rows ? -1 : 0;
  for (std::size_t begin = 0; begin < targets.size(); begin += row) {
    for (const float value : targets.subspan(begin + first, end - first)) {
      require<data_error>(
          value >= minimum && value < static_cast<float>(classes) && value == std::floor(value),
          "the data contain class ", value, ", but the model has outputs for classes 0 to ",
          classes - 1, minimum < 0 ? " (-1 means no label)" : "",
          "; end the model with more units, or correct the labels, which count from 0; for "
          "real-valued targets, use target_arrays");
    }
  }
}

/// Throws `data_error` unless each row of K targets is a probability distribution: all values are
/// at least 0, and their sum is 1 up to rounding.
template <class Loss>
void require_distributions(const Loss& loss, std::span<const float> targets, std::size_t classes) {
  constexpr double rounding = 1e-3;
  for (std::size_t first = 0; first < targets.size(); first += classes) {
    double sum = 0;
    float minimum = 0;
    for (const float t : targets.subspan(first, classes)) {
      sum += t;
      minimum = std::min(minimum, t);
    }
    if (!(minimum >= 0 && std::abs(sum - 1) <= rounding)) {
      throw data_error(text(
          loss.description,
          ": expected each target to be a probability distribution over the classes, with values "
          "of at least 0 that sum to 1, got a row (",
          targets[first], ", ...) ",
          minimum < 0 ? text("that contains ", minimum) : text("with the sum ", sum),
          "; pass class labels with labeled_arrays, or use another loss for real-valued targets, "
          "such as mean_squared_error"));
    }
  }
}

/// Throws `data_error` for a target value that a loss does not accept.
template <class Loss>
void require_taken(const Loss& loss, std::span<const float> targets) {
  for (const float value : targets) {
    if (loss.accepts_target != nullptr && !loss.accepts_target(value)) {
      throw data_error(
          text(loss.description, ": expected targets ", loss.target_range, ", got ", value));
    }
  }
}

/// Throws `data_error` if a batch contains a target that the loss does not accept for outputs of
/// this shape.
inline void require_targets(const any_loss& loss, const batch& b, const shape& output) {
  require_taken(loss, b.targets);
  const shape target = sample_of(b.target_shape);
  const std::vector<row_part>& parts = loss.target_parts;
  for (const auto& compared : loss.compared_parts) {
    const row_part& part = compared.part;
    for (std::size_t n = 0; n < b.size && part.classes == 0 && target.size() >= part.end(); ++n) {
      const std::span values = b.target_of(n).subspan(part.first, part.size());
      require_taken(compared, values);
      if (compared.applied_activation == output_kind::softmax && part.extents.rank() > 0) {
        require_distributions(compared, values, part.extents.back());
      }
    }
  }
  for (const row_part& part : parts) {
    if (part.classes > 0 && target == shape{row_size(parts)}) {
      require_class_values(b.targets, target.size(), part.first, part.end(), part.classes,
                           part.extents.rank() > 0);
    }
  }
  if (!b.is_labeled() && loss.applied_activation == output_kind::softmax && target == output) {
    require_distributions(loss, b.targets, output.back());
  }
  if (!b.is_labeled() && are_classes_of_rows(target, output, loss)) {
    require_class_values(b.targets, target.size(), 0, target.size(), output.back(), true);
  }
}

/// Whether a sample's targets represent a class: a row of probabilities, or a row that is 1 for one
/// class and -1 for all other classes. A single target must be 0 or 1; `signs` also allows -1, and
/// `probabilities` also allows values between 0 and 1.
[[nodiscard]] inline bool is_class(std::span<const float> row, bool probabilities, bool signs) {
  if (row.size() == 1) {
    const float t = row[0];
    return t == 0 || t == 1 || (signs && t == -1) || (probabilities && t > 0 && t < 1);
  }
  constexpr double rounding = 1e-3;
  double sum = 0;
  bool positive = true;
  bool all_signs = true;
  for (const float t : row) {
    sum += t;
    positive = positive && t >= 0;
    all_signs = all_signs && (t == 1 || t == -1);
  }
  return (positive && std::abs(sum - 1) < rounding) ||
         (all_signs && sum == 2 - static_cast<double>(row.size()));
}

/// Throws `value_error` if a metric cannot be computed for these outputs and targets, or if two
/// metrics have the same name.
inline void require_metrics(const std::vector<metric>& metrics, const measured_outputs& outputs) {
  for (auto position = metrics.begin(); position != metrics.end(); ++position) {
    const metric& m = *position;
    const auto named_alike = [&](const metric& other) { return other.name == m.name; };
    require<value_error>(m.name != "loss" && std::none_of(metrics.begin(), position, named_alike),
                         "there are two scores with the name '", m.name,
                         "'; give each metric its own name, other than 'loss'");
    const std::string reason = m.unsupported_reason ? m.unsupported_reason(outputs) : "";
    require<value_error>(reason.empty(), m.name, ": ", reason);
  }
}
/// The same for the outputs of a model and the targets of a data set.
inline void require_metrics(const std::vector<metric>& metrics, const shape& output,
                            const dataset_view& data, const any_loss& loss) {
  require_metrics(metrics, {output, data.target_shape(), loss.applied_activation});
}

/// Throws `data_error` if a metric needs classes and the targets of a batch do not represent
/// classes. Examples of such targets are the values of a regression.
inline void require_classes(const any_loss& loss, const std::vector<metric>& metrics,
                            const batch& b, const shape& output) {
  const auto counting = std::find_if(metrics.begin(), metrics.end(),
                                     [](const metric& m) { return m.counts_classes(); });
  if (counting == metrics.end() || b.is_labeled() ||
      are_classes_of_rows(sample_of(b.target_shape), output, loss)) {
    return;
  }
  const std::size_t size = b.size == 0 ? 0 : b.targets.size() / b.size;
  for (std::size_t n = 0; n < b.size; ++n) {
    const std::span row = std::span<const float>(b.targets).subspan(n * size, size);
    require<data_error>(
        is_class(row, loss.applied_activation != output_kind::other, !loss.is_regression),
        counting->name,
        ": the metric needs classes, but the data set has real-valued targets, such as (",
        row.empty() ? 0 : row[0], row.size() > 1 ? ", ..." : "",
        "); remove the metric, or use another one, such as glia::mae()",
        loss.applied_activation == output_kind::softmax && output.rank() > 1
            ? text("; for a class for each step or pixel, use class indices of shape ",
                   batch_text(batch_of(1, without_last_axis(output))))
            : "");
  }
}

/// The default metrics: accuracy for class labels, no metrics for real-valued targets.
[[nodiscard]] inline std::vector<metric> default_metrics(const dataset_view& data) {
  return data.target_shape() ? std::vector<metric>{} : std::vector<metric>{accuracy()};
}

}  // namespace glia::detail

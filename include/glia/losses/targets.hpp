#pragma once

#include <algorithm>
#include <concepts>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/core/pieces.hpp"
#include "glia/core/row_part.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

/// The targets of a batch. A loss compares the model's outputs with them. Either `labels` or
/// `values` is empty.
struct targets {
  tensor labels{};  ///< Classes (N), as integers, one for each sample.
  tensor values{};  ///< Values (N, ...).
  /// Weights (N) of the samples; empty if all weights are 1. Losses do not read them: a trainer
  /// multiplies the loss of each sample by its weight.
  tensor weights{};
};

namespace detail {

/// Returns whether target values of shape `values` (N, ...) are classes, one for each row of
/// outputs (N, ..., K), such as a step of a sequence.
[[nodiscard]] inline bool are_classes_of_rows(const shape& values, const shape& outputs) {
  return outputs.rank() > 2 && values == without_last_axis(outputs);
}

}  // namespace detail

/// Determines which samples are ignored by losses and metrics because their classes are -1.
///
/// The class -1 means "no class". A row of outputs (..., K) with this class, such as a padding step
/// of a sequence, is ignored: the loss and the accuracy of a sample are means over its other rows.
/// If all rows of a sample are ignored, the whole sample is ignored: means over a batch, an epoch
/// or a data set include only the other samples. A mean is 0 if all samples are ignored. Targets
/// that are not classes are never ignored. With several outputs, a sample is ignored only if it is
/// ignored for all outputs.
struct counted_targets {
  /// The ranges of a sample's targets that hold classes. Such a range has one class for each row of
  /// an output. Empty if any of its targets are not such classes; then no sample is ignored.
  std::vector<index_range> classes{};

  /// Returns whether no sample can be ignored.
  [[nodiscard]] bool counts_all() const { return classes.empty(); }
  /// Returns whether a sample with these targets counts, that is, is not ignored.
  [[nodiscard]] bool counts(std::span<const float> sample) const {
    return counts_all() ||
           std::any_of(classes.begin(), classes.end(), [&](const index_range& part) {
             const auto values = sample.subspan(part.first, part.size());
             return std::any_of(values.begin(), values.end(), [](float v) { return v >= 0; });
           });
  }
  friend bool operator==(const counted_targets&, const counted_targets&) = default;
};

/// A loss: a function object that computes one number for each sample, a variable (N), from the
/// model's outputs and the targets.
///
/// Any callable of this form is a loss; write your own with `glia::ops`. Static members can declare
/// properties of the loss; see `any_loss`.
template <class L>
concept plain_loss = requires(const L& l, variable y, const targets& t) {
  { l(y, t) } -> std::same_as<variable>;
};

/// A loss for a model with several named outputs. It receives rows that hold all outputs, and the
/// position of each output in a row.
///
/// The targets are rows, too. `target_parts` returns the position of each output's targets in a
/// row, and throws `value_error` if the loss does not fit the outputs.
template <class L>
concept loss_of_parts = requires(const L& l, variable y, const targets& t,
                                 const std::vector<row_part>& outputs) {
  { l(y, t, outputs) } -> std::same_as<variable>;
  { l.target_parts(outputs) } -> std::same_as<std::vector<row_part>>;
};

/// A loss that a trainer accepts.
template <class L>
concept loss_function = plain_loss<L> || loss_of_parts<L>;

namespace detail {

/// Returns the targets as values with the shape of the outputs (N, K). Classes become rows with
/// `on_value` at the class and `off_value` elsewhere; for a single output (N, 1), the classes 0 and
/// 1 become `off_value` and `on_value`.
[[nodiscard]] inline tensor target_values(std::string_view loss, const variable& y,
                                          const targets& t, double on_value = 1,
                                          double off_value = 0) {
  if (t.values) {
    require<shape_error>(t.values.shape() == y.shape(), loss,
                         ": expected targets with the shape of the model's output, ", y.shape(),
                         ", got ", t.values.shape());
    return t.values;
  }
  require<shape_error>(
      y.shape().rank() == 2, loss,
      ": expected a model with outputs (N, K), since the targets are classes, got ", y.shape());
  const std::size_t outputs = y.shape()[1];
  return outputs == 1 ? y.device().run(kernels::one_hot{1, off_value, on_value}, t.labels)
                      : y.device().run(kernels::one_hot{outputs, on_value, off_value}, t.labels);
}

}  // namespace detail

}  // namespace glia

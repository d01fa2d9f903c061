#pragma once

#include <algorithm>
#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/described.hpp"
#include "glia/core/error.hpp"
#include "glia/core/function_ref.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/core/row_part.hpp"
#include "glia/distributed/pieces.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

/// The targets of a batch. A loss compares the model's outputs with them. One of the two members is
/// empty.
struct targets {
  tensor labels{};  ///< Classes (N), as integers, one for each sample.
  tensor values{};  ///< Values (N, ...).
};

/// Returns whether target values of shape `values` (N, ...) are classes, one for each row of
/// outputs (N, ..., K), such as a step of a sequence.
[[nodiscard]] inline bool are_classes_of_rows(const shape& values, const shape& outputs) {
  return outputs.rank() > 2 && values == without_last_axis(outputs);
}

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
  [[nodiscard]] bool all() const { return classes.empty(); }
  /// Returns whether a sample with these targets counts, that is, is not ignored.
  [[nodiscard]] bool counts(std::span<const float> sample) const {
    return all() || std::any_of(classes.begin(), classes.end(), [&](const index_range& part) {
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
/// properties of the loss; see `loss_ref`.
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

/// A reference to a loss of any type, with the properties that its static members declare. It is
/// used in code that is compiled once for all types of losses. The loss must live as long as the
/// reference.
struct loss_ref {
  /// Makes a reference to a loss for a model with the named outputs `outputs`. Both the loss and
  /// `outputs` must live as long as the reference. Throws `value_error` if the loss does not fit
  /// the outputs.
  template <class Loss>
  explicit loss_ref(const Loss& loss, const std::vector<row_part>& outputs)
      : description(&loss, &described_by<Loss>),
        apply_(&apply_as<Loss>),
        loss_(&loss),
        outputs_(&outputs) {
    if constexpr (loss_of_parts<Loss>) {
      target_parts = loss.target_parts(outputs);
      if constexpr (requires { loss.for_each_loss([](const auto&, const auto&) {}); }) {
        loss.for_each_loss([&](const std::string& output, const auto& own) {
          compared_parts.push_back(compared(part_called(output, target_parts, "loss"), own));
        });
      } else {
        for (const row_part& part : target_parts) {
          compared_parts.push_back(compared(part, loss));
        }
      }
    }
    if constexpr (requires { Loss::applied_activation; }) {
      applied_activation = Loss::applied_activation;
    }
    if constexpr (requires { Loss::is_regression; }) {
      is_regression = Loss::is_regression;
    }
    if constexpr (requires { Loss::accepts_target(0.0F); }) {
      accepts_target = &Loss::accepts_target;
      target_range = Loss::target_range;
    }
  }

  /// Returns the loss of each sample (N). Throws `shape_error` if the loss has another shape.
  [[nodiscard]] variable apply(variable y, const targets& t) const {
    return apply_(loss_, std::move(y), t, *outputs_);
  }
  function_ref<std::string()> description;  ///< Returns the description of the loss.
  /// Parts of a row of targets for a loss over several outputs; empty for other losses.
  std::vector<row_part> target_parts;
  /// A part of the targets that a loss uses, and the properties of that loss.
  struct compared_part {
    row_part part;
    function_ref<std::string()> description;
    output_kind applied_activation = output_kind::other;
    bool (*accepts_target)(float) = nullptr;
    std::string_view target_range = {};
  };
  std::vector<compared_part> compared_parts;  ///< The parts of the targets that losses use.
  /// Activation that the loss applies to the outputs itself. The model must end without this
  /// activation, so that its outputs are logits. `Loss::applied_activation` declares it.
  output_kind applied_activation = output_kind::other;
  /// Whether the loss is for regression, in which outputs should approach the target values.
  /// `Loss::is_regression` declares it.
  bool is_regression = false;
  /// Returns whether the loss compares outputs and targets element by element, so that both need
  /// the same shape.
  [[nodiscard]] bool compares() const {
    return is_regression || applied_activation != output_kind::other || accepts_target != nullptr;
  }
  /// Returns whether a target value is valid; null if all values are valid. `Loss::accepts_target`
  /// declares it.
  bool (*accepts_target)(float) = nullptr;
  /// The valid target values, for error messages. `Loss::target_range` declares it.
  std::string_view target_range;

 private:
  template <class Loss>
  static variable apply_as(const void* self, variable y, const targets& t,
                           const std::vector<row_part>& outputs);
  template <class Loss>
  static std::string described_by([[maybe_unused]] const void* self) {
    if constexpr (described<Loss>) {
      return static_cast<const Loss*>(self)->description();
    } else {
      return "the loss";
    }
  }

  template <class Loss>
  static compared_part compared(const row_part& part, const Loss& loss) {
    compared_part result{part, {&loss, &described_by<Loss>}};
    if constexpr (requires { Loss::applied_activation; }) {
      result.applied_activation = Loss::applied_activation;
    }
    if constexpr (requires { Loss::accepts_target(0.0F); }) {
      result.accepts_target = &Loss::accepts_target;
      result.target_range = Loss::target_range;
    }
    return result;
  }

  variable (*apply_)(const void*, variable, const targets&, const std::vector<row_part>&);
  const void* loss_;
  const std::vector<row_part>* outputs_;
};

template <class Loss>
variable loss_ref::apply_as(const void* self, variable y, const targets& t,
                            [[maybe_unused]] const std::vector<row_part>& outputs) {
  const shape expected{y.shape().rank() == 0 ? 1 : y.shape()[0]};
  const Loss& loss = *static_cast<const Loss*>(self);
  variable each = [&] {
    if constexpr (loss_of_parts<Loss>) {
      return loss(std::move(y), t, outputs);
    } else {
      return loss(std::move(y), t);
    }
  }();
  require<shape_error>(each.shape() == expected, described_by<Loss>(self),
                       ": expected one number for each sample, shape ", expected, ", got shape ",
                       each.shape(), "; ops::mean_per_sample computes the mean of each sample");
  return each;
}

namespace detail {

/// Returns the targets as values with the shape of the outputs (N, K). Classes become rows with
/// `on` at the class and `off` elsewhere; for a single output (N, 1), the classes 0 and 1 become
/// `off` and `on`.
[[nodiscard]] inline tensor target_values(std::string_view loss, const variable& y,
                                          const targets& t, double on = 1, double off = 0) {
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
  return outputs == 1 ? y.device().run(kernels::one_hot{1, off, on}, t.labels)
                      : y.device().run(kernels::one_hot{outputs, on, off}, t.labels);
}

}  // namespace detail

}  // namespace glia

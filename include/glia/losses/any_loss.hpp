#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/described.hpp"
#include "glia/core/error.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/core/row_part.hpp"
#include "glia/losses/targets.hpp"
#include "glia/ops/elementwise.hpp"

namespace glia {

/// A copy of a loss of any type, for the outputs of one model. It has the properties that the
/// static members of the loss declare. It is used in code that is compiled once for all types of
/// losses.
class any_loss {
 public:
  /// `outputs` are the named outputs of the model. Throws `value_error` if the loss does not fit
  /// them.
  template <class Loss>
  any_loss(Loss loss, std::vector<row_part> outputs)
      : description(describe(loss)), apply_(&apply_as<Loss>), outputs_(std::move(outputs)) {
    if constexpr (loss_of_parts<Loss>) {
      target_parts = loss.target_parts(outputs_);
      if constexpr (requires { loss.for_each_loss([](const auto&, const auto&) {}); }) {
        loss.for_each_loss([&](const std::string& output, const auto& part_loss) {
          compared_parts.push_back(
              compared(detail::part_called(output, target_parts, "loss"), part_loss));
        });
      } else {
        for (const row_part& part : target_parts) {
          compared_parts.push_back(compared(part, loss));
        }
      }
    }
    read_properties<Loss>(*this);
    if constexpr (requires { Loss::is_regression; }) {
      is_regression = Loss::is_regression;
    }
    loss_ = std::make_shared<const Loss>(std::move(loss));
  }

  /// Returns the loss of each sample (N), multiplied by the weight of the sample. Throws
  /// `shape_error` if the loss has another shape.
  [[nodiscard]] variable operator()(variable y, const targets& t) const {
    variable losses = apply_(loss_.get(), std::move(y), t, outputs_);
    return t.weights ? losses * t.weights : losses;
  }
  std::string description;
  /// Parts of a row of targets for a loss over several outputs; empty for other losses.
  std::vector<row_part> target_parts;
  /// A part of the targets that a loss uses, and the properties of that loss.
  struct compared_part {
    row_part part;
    std::string description;
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
  [[nodiscard]] static std::string describe([[maybe_unused]] const Loss& loss) {
    if constexpr (described<Loss>) {
      return loss.description();
    } else {
      return "the loss";
    }
  }

  template <class Loss>
  [[nodiscard]] static compared_part compared(const row_part& part, const Loss& loss) {
    compared_part result{part, describe(loss)};
    read_properties<Loss>(result);
    return result;
  }

  /// Reads the properties that the static members of a loss declare.
  template <class Loss, class Properties>
  static void read_properties([[maybe_unused]] Properties& properties) {
    if constexpr (requires { Loss::applied_activation; }) {
      properties.applied_activation = Loss::applied_activation;
    }
    if constexpr (requires { Loss::accepts_target(0.0F); }) {
      properties.accepts_target = &Loss::accepts_target;
      properties.target_range = Loss::target_range;
    }
  }

  variable (*apply_)(const void*, variable, const targets&, const std::vector<row_part>&);
  std::shared_ptr<const void> loss_;
  std::vector<row_part> outputs_;
};

template <class Loss>
variable any_loss::apply_as(const void* self, variable y, const targets& t,
                            [[maybe_unused]] const std::vector<row_part>& outputs) {
  const shape expected{y.shape().rank() == 0 ? 1 : y.shape()[0]};
  const Loss& loss = *static_cast<const Loss*>(self);
  variable losses = [&] {
    if constexpr (loss_of_parts<Loss>) {
      return loss(std::move(y), t, outputs);
    } else {
      return loss(std::move(y), t);
    }
  }();
  require<shape_error>(losses.shape() == expected, describe(loss),
                       ": expected one number for each sample, shape ", expected, ", got shape ",
                       losses.shape(), "; ops::mean_per_sample computes the mean of each sample");
  return losses;
}

}  // namespace glia

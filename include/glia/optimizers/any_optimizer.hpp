#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/core/described.hpp"
#include "glia/core/error.hpp"
#include "glia/optimizers/optimizer.hpp"

namespace glia {

/// The optimizer's state: a list of tensors for each parameter.
using slot_lists = std::vector<std::vector<tensor>>;

/// A copy of an optimizer of any type. It is used in code that is compiled once for all types of
/// optimizers.
class any_optimizer {
 public:
  /// The values of a step; the first `numbers_per_step` elements are used.
  using step_numbers = std::array<double, 8>;

  template <class O>
  requires(!std::same_as<O, any_optimizer> && optimizer<O>) explicit any_optimizer(O rule)
      : state_count(rule.state_count()),
        initial_state(rule.initial_state()),
        numbers_per_step(glia::numbers_per_step<O>),
        state_name(glia::state_name(rule)),
        description(describe(rule)),
        rule_(std::make_shared<const O>(std::move(rule))),
        numbers_(&numbers_as<O>),
        learning_rate_([](const void* self, std::size_t step) -> double {
          return static_cast<const O*>(self)->learning_rate(step);
        }),
        updates_(&updates_as<O>),
        apply_(&apply_as<O>) {}

  std::size_t state_count;       ///< Number of state tensors for each parameter.
  double initial_state;          ///< Initial value of the state.
  std::size_t numbers_per_step;  ///< Number of values that change in every step.
  std::string state_name;        ///< Name of the state; see glia::state_name.
  std::string description;       ///< Description, or "an optimizer".

  /// Returns the values of a step. Throws `value_error` if `scale` is not 1 and the optimizer has
  /// no `numbers(step, scale)`.
  [[nodiscard]] step_numbers numbers(std::size_t step, double scale) const {
    return numbers_(rule_.get(), step, scale);
  }
  /// Returns the learning rate of a step.
  [[nodiscard]] double learning_rate(std::size_t step) const {
    return learning_rate_(rule_.get(), step);
  }
  /// Returns whether the parameters are updated in a step.
  [[nodiscard]] bool updates(std::size_t step) const { return updates_(rule_.get(), step); }
  /// Updates one parameter.
  void apply(const glia::device& device, tensor& parameter, tensor gradient,
             std::vector<tensor>& slots, const tensor& numbers) const {
    apply_(rule_.get(), device, parameter, std::move(gradient), slots, numbers);
  }

 private:
  template <class O>
  [[nodiscard]] static std::string describe([[maybe_unused]] const O& rule) {
    if constexpr (described<O>) {
      return rule.description();
    } else {
      return "an optimizer";
    }
  }
  template <class O>
  static step_numbers numbers_as(const void* self, std::size_t step, double scale);
  template <class O>
  static bool updates_as([[maybe_unused]] const void* self, [[maybe_unused]] std::size_t step) {
    if constexpr (requires(const O& rule) { rule.updates(step); }) {
      return static_cast<const O*>(self)->updates(step);
    } else {
      return true;
    }
  }
  template <class O>
  static void apply_as(const void* self, const glia::device& device, tensor& parameter,
                       tensor gradient, std::vector<tensor>& slots, const tensor& numbers);

  std::shared_ptr<const void> rule_;
  step_numbers (*numbers_)(const void*, std::size_t, double);
  double (*learning_rate_)(const void*, std::size_t);
  bool (*updates_)(const void*, std::size_t);
  void (*apply_)(const void*, const device&, tensor&, tensor, std::vector<tensor>&, const tensor&);
};

template <class O>
any_optimizer::step_numbers any_optimizer::numbers_as(const void* self, std::size_t step,
                                                      double scale) {
  static_assert(glia::numbers_per_step<O> <= step_numbers{}.size(),
                "expected an optimizer whose numbers(step) returns at most 8 numbers");
  step_numbers result{};
  const O& rule = *static_cast<const O*>(self);
  if constexpr (requires { rule.numbers(step, scale); }) {
    const auto values = rule.numbers(step, scale);
    std::copy(values.begin(), values.end(), result.begin());
  } else {
    require<value_error>(scale == 1,
                         "the learning rate of this optimizer cannot be changed during training; "
                         "add a member numbers(step, scale) to the optimizer");
    const auto values = rule.numbers(step);
    std::copy(values.begin(), values.end(), result.begin());
  }
  return result;
}

template <class O>
void any_optimizer::apply_as(const void* self, const glia::device& device, tensor& parameter,
                             tensor gradient, std::vector<tensor>& slots, const tensor& numbers) {
  static_cast<const O*>(self)->apply(device, parameter, std::move(gradient), slots, numbers);
}

}  // namespace glia

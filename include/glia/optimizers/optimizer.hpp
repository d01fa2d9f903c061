#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/core/described.hpp"
#include "glia/core/function_ref.hpp"

namespace glia {

/// The number of values of an optimizer that change in every step.
template <class O>
inline constexpr std::size_t numbers_per_step =
    std::tuple_size_v<std::remove_cvref_t<decltype(std::declval<const O&>().numbers(0))>>;

/// An optimizer: a copyable update rule for parameters.
///
/// - `state_count()` and `initial_state()` return the number of state tensors for each parameter
///   and their initial value.
/// - `learning_rate(step)` returns the learning rate of a step, counted from 0.
/// - `numbers(step)` returns the values that change in every step, as a std::array. It is called
///   once in a step, for all parameters. The optional overload `numbers(step, scale)` multiplies
///   the learning rate by `scale`; callbacks that change the learning rate need this overload.
/// - `apply` updates one parameter. It receives these values as a tensor.
///
/// An optimizer does not depend on layers.
template <class O>
concept optimizer = std::copyable<O> &&
    requires(const O& o, const glia::device& device, tensor& parameter, tensor gradient,
             std::vector<tensor>& slots) {
  { o.state_count() } -> std::convertible_to<std::size_t>;
  { o.initial_state() } -> std::convertible_to<double>;
  { o.learning_rate(std::size_t{}) } -> std::convertible_to<double>;
  std::span<const double>(o.numbers(std::size_t{}));
  numbers_per_step<O>;
  o.apply(device, parameter, gradient, slots, gradient);
};

/// Returns `numbers(step)` of an optimizer as a tensor on the device.
template <class O>
[[nodiscard]] tensor numbers_of(const O& rule, const glia::device& device, std::size_t step) {
  const auto numbers = rule.numbers(step);
  return device.from_host(std::span<const double>(numbers), {numbers.size()});
}

/// Returns the name of an optimizer's state. A training can continue with another optimizer if the
/// names are equal.
///
/// It is the result of the optimizer's member `state_name()` if there is one, and otherwise its
/// description without hyperparameters. It is empty if the optimizer has no state or no
/// description.
template <class O>
[[nodiscard]] std::string state_name(const O& rule) {
  if (rule.state_count() == 0) {
    return {};
  }
  if constexpr (requires { rule.state_name(); }) {
    return rule.state_name();
  } else if constexpr (described<O>) {
    const std::string all = rule.description();
    return all.substr(0, all.find('('));
  } else {
    return {};
  }
}

/// A reference to an optimizer of any type. It is used in code
/// that is compiled once for all types of optimizers. The optimizer must live as long as the
/// reference.
struct optimizer_ref {
  /// Storage for the values of a step; the first `numbers_per_step` elements are used.
  using numbers_room = std::array<double, 8>;

  template <class O>
  explicit optimizer_ref(const O& rule)
      : state_count(rule.state_count()),
        initial_state(rule.initial_state()),
        numbers_per_step(glia::numbers_per_step<O>),
        numbers(&rule, &numbers_as<O>),
        learning_rate(&rule,
                      [](const void* self, std::size_t step) -> double {
                        return static_cast<const O*>(self)->learning_rate(step);
                      }),
        state_name(&rule,
                   [](const void* self) { return glia::state_name(*static_cast<const O*>(self)); }),
        description(&rule, &described_as<O>),
        apply(&rule, &apply_as<O>) {}

  std::size_t state_count;       ///< Number of state tensors for each parameter.
  double initial_state;          ///< Initial value of the state.
  std::size_t numbers_per_step;  ///< Number of values that change in every step.
  /// Returns the values of a step. Throws `value_error` if `scale` is not 1 and the optimizer has
  /// no `numbers(step, scale)`.
  function_ref<numbers_room(std::size_t step, double scale)> numbers;
  function_ref<double(std::size_t step)> learning_rate;  ///< Returns the learning rate of a step.
  function_ref<std::string()> state_name;                ///< Returns the name of the state.
  function_ref<std::string()> description;  ///< Returns the description, or "an optimizer".
  /// Updates one parameter.
  function_ref<void(const device&, tensor& parameter, tensor gradient, std::vector<tensor>& slots,
                    const tensor& numbers)>
      apply;

 private:
  template <class O>
  static std::string described_as(const void* self) {
    if constexpr (described<O>) {
      return static_cast<const O*>(self)->description();
    } else {
      return "an optimizer";
    }
  }
  template <class O>
  static numbers_room numbers_as(const void* self, std::size_t step, double scale);
  template <class O>
  static void apply_as(const void* self, const glia::device& device, tensor& p, tensor g,
                       std::vector<tensor>& slots, const tensor& numbers);
};

template <class O>
optimizer_ref::numbers_room optimizer_ref::numbers_as(const void* self, std::size_t step,
                                                      double scale) {
  static_assert(glia::numbers_per_step<O> <= numbers_room{}.size(),
                "expected an optimizer whose numbers(step) returns at most 8 numbers");
  numbers_room room{};
  const O& rule = *static_cast<const O*>(self);
  if constexpr (requires { rule.numbers(step, scale); }) {
    const auto values = rule.numbers(step, scale);
    std::copy(values.begin(), values.end(), room.begin());
  } else {
    require<value_error>(scale == 1,
                         "the learning rate of this optimizer cannot be changed during training; "
                         "add a member numbers(step, scale) to the optimizer");
    const auto values = rule.numbers(step);
    std::copy(values.begin(), values.end(), room.begin());
  }
  return room;
}

template <class O>
void optimizer_ref::apply_as(const void* self, const glia::device& device, tensor& p, tensor g,
                             std::vector<tensor>& slots, const tensor& numbers) {
  static_cast<const O*>(self)->apply(device, p, std::move(g), slots, numbers);
}

}  // namespace glia

#pragma once

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
/// - The optional `updates(step)` returns whether a step updates the parameters; default: always.
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
    const std::string description = rule.description();
    return description.substr(0, description.find('('));
  } else {
    return {};
  }
}

}  // namespace glia

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

#include "glia/backends/backend.hpp"
#include "glia/core/described.hpp"
#include "glia/core/function_ref.hpp"

namespace glia {

/// How many numbers of an optimizer vary from step to step.
template <class O>
inline constexpr std::size_t numbers_per_step =
    std::tuple_size_v<std::remove_cvref_t<decltype(std::declval<const O&>().numbers(0))>>;

/// An optimizer is a pure update rule. `slot_count` and `slot_start` say how many tensors it keeps
/// beside each parameter and what they start from; `numbers(step)` gives what varies from step to
/// step, a std::array worked out once for all parameters; `apply` takes that step for one
/// parameter, with the numbers as a tensor. It knows nothing of layers. Where `numbers(step,
/// scale)` is there as well, with `scale` a factor of the learning rate, the rate can be lowered
/// while a training runs.
template <class O, class B>
concept optimizer = backend<B> && std::copyable<O> &&
    requires(const O& o, const B& device, typename B::tensor& parameter,
             typename B::tensor gradient, std::vector<typename B::tensor>& slots) {
  { o.slot_count() } -> std::convertible_to<std::size_t>;
  { o.slot_start() } -> std::convertible_to<double>;
  { o.learning_rate(std::size_t{}) } -> std::convertible_to<double>;
  std::span<const double>(o.numbers(std::size_t{}));
  numbers_per_step<O>;
  o.apply(device, parameter, gradient, slots, gradient);
};

/// What varies from step to step of an optimizer, as a tensor.
template <backend B, class O>
[[nodiscard]] typename B::tensor numbers_of(const O& rule, const B& device, std::size_t step) {
  const auto numbers = rule.numbers(step);
  return device.from_host(std::span<const double>(numbers), {numbers.size()});
}

/// The name of what an optimizer keeps beside each parameter: optimizers of the same name can go on
/// with each other's trainings. An optimizer may say it by a member `slots_name()`; otherwise it is
/// the description without the hyper-parameters. Empty where nothing is kept, or nothing is said.
template <class O>
[[nodiscard]] std::string slots_name(const O& rule) {
  if (rule.slot_count() == 0) {
    return {};
  }
  if constexpr (requires { rule.slots_name(); }) {
    return rule.slots_name();
  } else if constexpr (described<O>) {
    const std::string all = rule.description();
    return all.substr(0, all.find('('));
  } else {
    return {};
  }
}

/// An optimizer of any type, whose updates run on X, as what is compiled once for all of them sees
/// it. Good while the optimizer lives.
template <backend X>
struct optimizer_ref {
  using tensor = typename X::tensor;
  /// Room for what varies from step to step, of which the first numbers_per_step are used.
  using numbers_room = std::array<double, 8>;

  template <class O>
  explicit optimizer_ref(const O& rule)
      : slot_count(rule.slot_count()),
        slot_start(rule.slot_start()),
        numbers_per_step(glia::numbers_per_step<O>),
        numbers(&rule, &numbers_as<O>),
        learning_rate(&rule,
                      [](const void* self, std::size_t step) -> double {
                        return static_cast<const O*>(self)->learning_rate(step);
                      }),
        slots_name(&rule,
                   [](const void* self) { return glia::slots_name(*static_cast<const O*>(self)); }),
        description(&rule, &described_as<O>),
        apply(&rule, &apply_as<O>) {}

  std::size_t slot_count;
  double slot_start;
  std::size_t numbers_per_step;
  /// Throws `value_error` for a scale other than 1 where the optimizer does not take one.
  function_ref<numbers_room(std::size_t step, double scale)> numbers;
  function_ref<double(std::size_t step)> learning_rate;
  function_ref<std::string()> slots_name;
  function_ref<std::string()> description;  ///< "an optimizer" where it does not say
  function_ref<void(const X&, tensor& parameter, tensor gradient, std::vector<tensor>& slots,
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
  static void apply_as(const void* self, const X& device, tensor& p, tensor g,
                       std::vector<tensor>& slots, const tensor& numbers);
};

template <backend X>
template <class O>
typename optimizer_ref<X>::numbers_room optimizer_ref<X>::numbers_as(const void* self,
                                                                     std::size_t step,
                                                                     double scale) {
  static_assert(glia::numbers_per_step<O> <= numbers_room{}.size(),
                "an optimizer has at most 8 numbers that vary from step to step");
  numbers_room room{};
  const O& rule = *static_cast<const O*>(self);
  if constexpr (requires { rule.numbers(step, scale); }) {
    const auto values = rule.numbers(step, scale);
    std::copy(values.begin(), values.end(), room.begin());
  } else {
    require<value_error>(scale == 1,
                         "the optimizer's rate cannot be scaled while it trains; give it a member "
                         "numbers(step, scale)");
    const auto values = rule.numbers(step);
    std::copy(values.begin(), values.end(), room.begin());
  }
  return room;
}

template <backend X>
template <class O>
void optimizer_ref<X>::apply_as(const void* self, const X& device, tensor& p, tensor g,
                                std::vector<tensor>& slots, const tensor& numbers) {
  static_cast<const O*>(self)->apply(device, p, std::move(g), slots, numbers);
}

}  // namespace glia

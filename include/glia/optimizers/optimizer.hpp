#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"

namespace glia {

/// How many numbers of an optimizer vary from step to step.
template <class O>
inline constexpr std::size_t numbers_per_step =
    std::tuple_size_v<std::remove_cvref_t<decltype(std::declval<const O&>().numbers(0))>>;

/// An optimizer is a pure update rule. `slot_count` and `slot_start` say how many tensors it keeps
/// beside each parameter and what they start from; `numbers(step)` gives what varies from step to
/// step, a std::array worked out once for all parameters; `apply` takes that step for one
/// parameter, with the numbers as a tensor. It knows nothing of layers.
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
template <backend B, optimizer<B> O>
[[nodiscard]] typename B::tensor numbers_of(const O& rule, const B& device, std::size_t step) {
  const auto numbers = rule.numbers(step);
  return device.from_host(std::span<const double>(numbers), {numbers.size()});
}

}  // namespace glia

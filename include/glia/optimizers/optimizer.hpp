#pragma once

#include <concepts>
#include <cstddef>
#include <vector>

#include "glia/backends/backend.hpp"

namespace glia {

/// An optimizer is a pure update rule. `slot_count` and `slot_start` say how many tensors it keeps
/// beside each parameter and what they start from; `at(step)` gives the rule of one step, its
/// hyper-parameters worked out once for all parameters; `apply` takes that step for one parameter.
/// It knows nothing of layers.
template <class O, class B>
concept optimizer = backend<B> && std::copyable<O> &&
    requires(const O& o, const B& device, typename B::tensor& parameter,
             typename B::tensor gradient, std::vector<typename B::tensor>& slots) {
  { o.slot_count() } -> std::convertible_to<std::size_t>;
  { o.slot_start() } -> std::convertible_to<double>;
  { o.learning_rate(std::size_t{}) } -> std::convertible_to<double>;
  o.apply(o.at(std::size_t{}), device, parameter, gradient, slots);
};

}  // namespace glia

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/backends/recorder.hpp"
#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"

namespace glia {

namespace detail {

template <class Element, class Number>
[[nodiscard]] tensor recorded_constant(graph& calls, std::span<const Number> values,
                                       const tensor_spec& spec) {
  require_values(values.size(), spec.shape);
  return tensor::recorded(
      calls.add_constant(spec, std::vector<Element>(values.begin(), values.end())), spec);
}

[[noreturn]] inline void throw_no_elements(const tensor& x) {
  throw value_error(text("recorder: a tensor ", x.shape(),
                         " has no elements while a description is recorded; what depends on its "
                         "numbers must be an op, or run on a device that runs at once"));
}

GLIA_INLINE void require_recorded(const tensor& x, const graph& calls) {
  require<value_error>(x.home() == tensor_home::graph,
                       "recorder: expected a tensor of the recorded graph, got a tensor ",
                       x.shape(), x ? " of another device" : " without elements",
                       "; copy numbers to the host, and then pass them to from_host");
  require<value_error>(x.number() < calls.value_count() &&
                           calls.spec(x.number()) == tensor_spec{x.shape(), x.type()},
                       "recorder: expected a tensor of the recorded graph, got a tensor ",
                       x.shape(), " of another recorder; record both into one graph");
}

GLIA_INLINE void require_value(std::string_view caller, const graph& calls, value_id id) {
  if (id == no_value) {
    throw value_error(text(caller,
                           ": expected a value of the graph, got no_value, the gradient of "
                           "a value that has no influence"));
  }
  require<value_error>(id < calls.value_count(), caller,
                       ": expected a value of the graph, got the number ", id, " of ",
                       calls.value_count());
}

}  // namespace detail

GLIA_INLINE tensor recording_backend::from_host(std::span<const float> values,
                                                const shape& s) const {
  return detail::recorded_constant<double>(graph_, values, real_of(s));
}
GLIA_INLINE tensor recording_backend::from_host(std::span<const double> values,
                                                const shape& s) const {
  return detail::recorded_constant<double>(graph_, values, real_of(s));
}
GLIA_INLINE tensor recording_backend::from_host(std::span<const std::int32_t> values,
                                                const shape& s) const {
  return detail::recorded_constant<std::int32_t>(graph_, values, {s, element::index});
}

GLIA_INLINE void recording_backend::to_host(const tensor& x,
                                            std::span<float> /*destination*/) const {
  detail::throw_no_elements(x);
}
GLIA_INLINE void recording_backend::to_host(const tensor& x,
                                            std::span<double> /*destination*/) const {
  detail::throw_no_elements(x);
}
GLIA_INLINE void recording_backend::to_host(const tensor& x,
                                            std::span<std::int32_t> /*destination*/) const {
  detail::throw_no_elements(x);
}

GLIA_INLINE void recording_backend::run(const kernel_call& call) const {
  std::vector<value_id> operands;
  operands.reserve(call.operands.size());
  for (const tensor& operand : call.operands) {
    if (operand) {
      detail::require_recorded(operand, graph_);
    }
    operands.push_back(operand ? operand.number() : no_value);
  }
  const graph_node& node = graph_.add(any_kernel(call.type, call.kernel), std::move(operands));
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const value_id id = node.results[i];
    call.results[i] = id == no_value ? tensor() : tensor::recorded(id, graph_.spec(id));
  }
}

}  // namespace glia

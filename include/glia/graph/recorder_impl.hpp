#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/recorder.hpp"

namespace glia {

template <class T>
recorder::tensor recorder::constant(const tensor_spec& spec, std::vector<T> values) const {
  require<shape_error>(values.size() == spec.shape.size(), "from_host: ", values.size(),
                       " values do not match the shape ", spec.shape);
  return {graph_->add_constant(spec, std::move(values)), spec};
}

GLIA_INLINE recorder::tensor recorder::from_host(std::span<const float> values,
                                                 const shape& s) const {
  return constant(real_of(s), std::vector<double>(values.begin(), values.end()));
}
GLIA_INLINE recorder::tensor recorder::from_host(std::span<const double> values,
                                                 const shape& s) const {
  return constant(real_of(s), std::vector<double>(values.begin(), values.end()));
}
GLIA_INLINE recorder::tensor recorder::from_host(std::span<const std::int32_t> values,
                                                 const shape& s) const {
  return constant({s, element::index}, std::vector<std::int32_t>(values.begin(), values.end()));
}

GLIA_INLINE void recorder::record(const any_kernel& k, std::vector<value_id> operands,
                                  std::span<tensor> results) const {
  const graph_node& node = graph_->add(k, std::move(operands));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const value_id id = node.results[i];
    results[i] = id == no_value ? tensor{} : tensor{id, graph_->spec(id)};
  }
}

}  // namespace glia

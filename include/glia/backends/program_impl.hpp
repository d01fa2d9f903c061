#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "glia/backends/node_by_node.hpp"
#include "glia/backends/program.hpp"
#include "glia/core/inline.hpp"

namespace glia {

GLIA_INLINE void executable::run_into(std::span<tensor* const> /*inputs*/,
                                      std::span<const tensor> /*outputs*/,
                                      const finished_function& /*finished*/,
                                      timeline* /*times*/) const {
  throw value_error(
      "compiled graph: only a device in host memory writes outputs to existing tensors; use run, "
      "which makes new ones");
}

GLIA_INLINE void executable::require_counts(std::size_t inputs, std::size_t outputs) const {
  require<value_error>(inputs == calls_.inputs().size() && outputs == calls_.outputs().size(),
                       "compiled graph: expected ", calls_.inputs().size(), " inputs and ",
                       calls_.outputs().size(), " outputs, got ", inputs, " and ", outputs);
}

GLIA_INLINE void executable::require_fitting(std::size_t number, const tensor& value) const {
  const graph_input& input = calls_.inputs()[number];
  const tensor_spec expected = calls_.spec(input.value);
  require<shape_error>(value.shape() == expected.shape && value.type() == expected.type,
                       "compiled graph: expected for the input '", input.name,
                       "' a tensor of shape ", expected.shape, ", got ", value.shape(),
                       value.shape() == expected.shape ? " with another element type" : "",
                       "; a compiled graph runs only for the shapes with which it was recorded");
}

GLIA_INLINE std::shared_ptr<const executable> backend::compile(graph calls) const {
  return std::make_shared<const detail::node_by_node>(std::move(calls), shared_from_this());
}

}  // namespace glia

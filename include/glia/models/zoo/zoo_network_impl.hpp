#pragma once

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/models/zoo/zoo_network.hpp"

namespace glia {

GLIA_INLINE variable zoo_network::run_stage(scope& s, variable x, std::size_t index) const {
  const std::size_t begin = begin_of(index);
  const std::size_t end = ends_[index];
  outputs values(nodes_, begin, end, std::move(x));
  for (std::size_t n = begin; n < end; ++n) {
    std::vector<variable> inputs;
    for (const std::size_t input : nodes_[n].inputs) {
      inputs.push_back(values.take(input));
    }
    values.give(n + 1, run_node(s, nodes_[n], std::move(inputs)));
  }
  return values.last();
}

GLIA_INLINE variable zoo_network::run_node(scope& s, const zoo_node& node,
                                           std::vector<variable> inputs) {
  const scope::name_scope called(s, node.name);
  return std::visit(
      [&]<class Layer>(const Layer& layer) {
        if constexpr (branch_join<Layer>) {
          return s.run(joining<Layer>{&layer, &inputs}, inputs[0], node.name, scope::no_index);
        } else {
          return s.run(layer, std::move(inputs[0]), node.name, scope::no_index);
        }
      },
      node.layer);
}

}  // namespace glia

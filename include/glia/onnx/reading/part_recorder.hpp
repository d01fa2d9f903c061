#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "glia/onnx/reading/builder.hpp"
#include "glia/onnx/reading/read_result.hpp"

namespace glia::onnx {

/// Records the nodes and weights that are added to a graph as a part of it.
class part_recorder {
 public:
  /// The part begins with the next node and weight of the graph.
  part_recorder(const graph_builder& out, std::vector<graph_part>& parts)
      : out_(&out),
        parts_(&parts),
        first_node_(out.calls.nodes().size()),
        first_weight_(out.weights.size()) {}

  /// Adds the part, unless the graph has no new nodes and weights.
  void finish(const std::string& operation, const std::string& description) {
    const std::size_t nodes = out_->calls.nodes().size();
    const std::size_t weights = out_->weights.size();
    if (nodes == first_node_ && weights == first_weight_) {
      return;
    }
    graph_part part{operation, description, first_node_, nodes, {}};
    for (std::size_t w = first_weight_; w < weights; ++w) {
      part.weights.push_back(w);
    }
    parts_->push_back(std::move(part));
  }

 private:
  const graph_builder* out_;
  std::vector<graph_part>* parts_;
  std::size_t first_node_;
  std::size_t first_weight_;
};

}  // namespace glia::onnx

#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/integer_range.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/core/row_part.hpp"
#include "glia/graph/graph.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/layers/parameters.hpp"

namespace glia {

/// What planning a model finds out about one layer. Figures are for one sample.
struct layer_summary {
  std::string name;                  ///< dense_0
  std::string description;           ///< dense(400, relu)
  shape output;                      ///< with the batch axis, of extent 1
  std::size_t parameters = 0;        ///< elements, running statistics included
  double flops = 0;                  ///< forward; see `kernel` for how they are counted
  std::size_t activation_bytes = 0;  ///< of its tensors that the backward pass needs, in float
  bool frozen = false;
};

/// All that is known of a model before it has a device: its parameters and its layers.
struct model_plan {
  std::string description;  ///< of the whole model
  std::vector<parameter_spec> parameters;
  std::vector<layer_summary> layers;
  shape output;  ///< with the batch axis, of extent 1
  output_kind gives = output_kind::other;
  std::string giver;  ///< the layer that made them so: sequential[2] dense(3, softmax)
  std::vector<row_part> inputs = {};   ///< of a model that has several with names
  std::vector<row_part> outputs = {};  ///< likewise
  std::vector<integer_range> integers = {};
};

/// Writes the plan while a description runs on a recorder; layers do not see it.
class plan_writer {
 public:
  /// For a model of inputs of this shape, whose kernels are written to `calls`.
  plan_writer(const graph& calls, const shape& input) : calls_(&calls), given_(input) {}

  /// Opens a row; what is recorded until `finish_layer`, and belongs to no other, is its own.
  void start_layer(const std::string& name, std::string description, bool frozen) {
    assign_nodes();
    open_.push_back(plan_.layers.size());
    plan_.layers.push_back({name, std::move(description), {}});
    plan_.layers.back().frozen = frozen;
  }
  void finish_layer(const shape& output, bool arranges_axes) {
    as_given_ = as_given_ && !arranges_axes && output == given_;
    untouched_ = false;
    assign_nodes();
    plan_.layers[open_.back()].output = output;
    open_.pop_back();
  }

  /// Adds a parameter to the row that was opened last; false if there is one of its name.
  [[nodiscard]] bool add_parameter(const parameter_spec& spec) {
    plan_.layers[open_.back()].parameters += spec.shape.size();
    plan_.parameters.push_back(spec);
    return names_.insert(spec.name).second;
  }

  /// What the outputs of the layer that has just run are.
  void gives(output_kind kind, std::string giver) {
    plan_.gives = kind;
    plan_.giver = std::move(giver);
  }

  /// Whether a tensor of this shape still has the axes of the model's samples: no layer before has
  /// said what they are, nor changed the shape.
  [[nodiscard]] bool as_given(const shape& x) const { return as_given_ && x == given_; }

  /// Says that a tensor, if it is still what was given, holds whole numbers below `count`.
  void integers_below(const shape& x, std::size_t count, std::string wanted_by) {
    if (untouched_ && x == given_) {
      const std::size_t size = sample_of(x).size();
      plan_.integers.push_back({given_at_, given_at_ + size, count, std::move(wanted_by)});
    }
  }

  /// Says which input or output lies next in the row, of this shape with the batch axis; false if
  /// there is one of its name. What runs next is given that input.
  [[nodiscard]] bool add_input(std::string_view name, const shape& s) {
    given_ = s;
    given_at_ = row_size(plan_.inputs);
    as_given_ = true;
    untouched_ = true;
    return add_part(plan_.inputs, {std::string(name), sample_of(s), given_at_});
  }
  [[nodiscard]] bool add_output(std::string_view name, const shape& s) {
    return add_part(plan_.outputs, {std::string(name), sample_of(s), row_size(plan_.outputs), 0,
                                    plan_.gives, plan_.giver});
  }

  /// Says that all that is recorded from now on is the backward pass.
  void end_forward(const shape& output) {
    assign_nodes();
    plan_.output = output;
  }

  [[nodiscard]] model_plan finish() && {
    const std::vector<graph_node>& nodes = calls_->nodes();
    std::vector<std::size_t> layer_of_value(calls_->value_count(), nobody);
    for (std::size_t n = 0; n < layer_of_node_.size(); ++n) {
      const std::size_t layer = layer_of_node_[n];
      if (layer == nobody || nodes[n].kernel.as<kernels::full>() != nullptr) {
        continue;
      }
      plan_.layers[layer].flops += nodes[n].kernel.flops(calls_->specs(nodes[n].operands));
      // The same elements under another shape count where they were made.
      const bool relabels = nodes[n].kernel.relabels(calls_->specs(nodes[n].operands));
      for (const value_id id : nodes[n].results) {
        if (id != no_value) {
          layer_of_value[id] = relabels ? layer_of_value[nodes[n].operands[0]] : layer;
        }
      }
    }
    std::vector<bool> counted(layer_of_value.size(), false);
    for (std::size_t n = layer_of_node_.size(); n < nodes.size(); ++n) {
      for (const value_id id : nodes[n].operands) {
        if (id != no_value && layer_of_value[id] != nobody && !counted[id]) {
          counted[id] = true;
          const tensor_spec s = calls_->spec(id);
          plan_.layers[layer_of_value[id]].activation_bytes +=
              s.shape.size() * bytes_of<float>(s.type);
        }
      }
    }
    return std::move(plan_);
  }

 private:
  static constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] static bool add_part(std::vector<row_part>& parts, row_part part) {
    const bool is_new = std::none_of(
        parts.begin(), parts.end(), [&](const row_part& other) { return other.name == part.name; });
    parts.push_back(std::move(part));
    return is_new;
  }

  /// The nodes that are new belong to the layer that was opened last.
  void assign_nodes() {
    layer_of_node_.resize(calls_->nodes().size(), open_.empty() ? nobody : open_.back());
  }

  const graph* calls_;
  shape given_;
  std::size_t given_at_ = 0;  // in the samples
  bool as_given_ = true;
  bool untouched_ = true;                   // no layer has run yet
  std::vector<std::size_t> open_;           // layers that are running
  std::vector<std::size_t> layer_of_node_;  // of the forward pass
  model_plan plan_;
  std::set<std::string> names_;  // of parameters
};

}  // namespace glia

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
#include "glia/layers/layer_graph.hpp"
#include "glia/layers/parameters.hpp"
#include "glia/layers/plan.hpp"

namespace glia::detail {

/// Collects the plan of a model while its description runs on a recorder.
class plan_writer {
 public:
  /// Starts the plan of a model with inputs of shape `input`. The graph `calls` records the model's
  /// kernels.
  plan_writer(graph& calls, const shape& input) : calls_(&calls), links_(calls), input_(input) {}

  /// Begins a layer. Kernels that are recorded until `finish_layer` belong to this layer or to the
  /// layers inside it. `x` is its input, and `mask` the mask of sequences or `no_value`.
  void start_layer(const std::string& name, std::string description, bool frozen, value_id x,
                   value_id mask) {
    assign_nodes();
    open_.push_back(plan_.layers.size());
    plan_.layers.push_back({name, std::move(description), {}});
    plan_.layers.back().frozen = frozen;
    links_.start_layer(plan_.layers.back(), open_.back(), x, mask);
  }
  /// Ends the innermost running layer, whose output is `y`. Returns the value that later layers
  /// read instead; see `layer_graph_writer::finish_layer`.
  [[nodiscard]] value_id finish_layer(value_id y, const shape& output, bool sets_axes) {
    as_given_ = as_given_ && !sets_axes && output == input_;
    untouched_ = false;
    assign_nodes();
    plan_.layers[open_.back()].output = output;
    open_.pop_back();
    return links_.finish_layer(y, output);
  }

  /// Begins a composition, whose name can be empty.
  void start_container(const std::string& name) { links_.start_container(name); }
  /// Ends the innermost running composition.
  void finish_container() { links_.finish_container(); }

  /// Adds a parameter to the innermost running layer. Returns false if another parameter has this
  /// name.
  [[nodiscard]] bool add_parameter(const parameter_spec& spec) {
    plan_.layers[open_.back()].parameters += spec.shape.size();
    plan_.parameters.push_back(spec);
    return names_.insert(spec.name).second;
  }

  /// Sets the output kind of the layer that has just run. `giver` is the path of this layer.
  void gives(output_kind kind, std::string giver) {
    plan_.gives = kind;
    plan_.giver = std::move(giver);
  }

  /// Returns the output kind of the layer that has just run, and the path of this layer.
  [[nodiscard]] std::pair<output_kind, std::string> given() const {
    return {plan_.gives, plan_.giver};
  }

  /// Returns whether x still has the axes of the model's samples: no earlier layer defined other
  /// axes or changed the shape.
  [[nodiscard]] bool as_given(const shape& x) const { return as_given_ && x == input_; }

  /// Notes that the input x must hold integers, and sets the place of their range in a sample. Does
  /// nothing if an earlier layer has already processed the input.
  void add_integers(const shape& x, integer_range range) {
    if (untouched_ && x == input_) {
      range.first = input_offset_;
      range.end = input_offset_ + sample_of(x).size();
      plan_.integers.push_back(std::move(range));
    }
  }

  /// Notes that `adapt` must fit the innermost running layer.
  void add_adapted_layer() { plan_.adapted_layers.push_back(plan_.layers[open_.back()].name); }

  /// Adds the next input to the row of inputs. `x` is its value and `s` its shape with the batch
  /// axis. The layers that run next receive this input. Returns false if another input has this
  /// name.
  [[nodiscard]] bool add_input(std::string_view name, value_id x, const shape& s) {
    links_.add_input(name, x, s);
    input_ = s;
    input_offset_ = row_size(plan_.inputs);
    as_given_ = true;
    untouched_ = true;
    return add_part(plan_.inputs, {std::string(name), sample_of(s), input_offset_});
  }
  /// Adds the next output to the row of outputs. `y` is its value and `s` its shape with the batch
  /// axis. Returns false if another output has this name.
  [[nodiscard]] bool add_output(std::string_view name, value_id y, const shape& s) {
    links_.add_output(name, y, s);
    return add_part(plan_.outputs, {std::string(name), sample_of(s), row_size(plan_.outputs), 0,
                                    plan_.gives, plan_.giver});
  }

  /// Marks the end of the forward pass, whose result is `y`: kernels recorded from now on belong to
  /// the backward pass.
  void end_forward(value_id y, const shape& output) {
    assign_nodes();
    plan_.output = output;
    plan_.nodes = links_.finish(y);
  }

  /// Counts the operations and bytes of each layer, and returns the plan.
  [[nodiscard]] model_plan finish() && {
    const std::vector<graph_node>& nodes = calls_->nodes();
    std::vector<std::size_t> layer_of_value(calls_->value_count(), nobody);
    for (std::size_t n = 0; n < layer_of_node_.size(); ++n) {
      const std::size_t layer = layer_of_node_[n];
      if (layer == nobody || nodes[n].kernel.as<kernels::full>() != nullptr) {
        continue;
      }
      plan_.layers[layer].flops += nodes[n].kernel.flops(calls_->specs(nodes[n].operands));
      // A reshaped tensor belongs to the layer that computed its elements.
      const bool relabels = nodes[n].kernel.relabels(calls_->specs(nodes[n].operands));
      for (const value_id id : nodes[n].results) {
        if (id != no_value) {
          layer_of_value[id] =
              relabels ? layer_of_value[links_.original(nodes[n].operands[0])] : layer;
        }
      }
    }
    std::vector<bool> counted(layer_of_value.size(), false);
    for (std::size_t n = layer_of_node_.size(); n < nodes.size(); ++n) {
      for (const value_id operand : nodes[n].operands) {
        const value_id id = links_.original(operand);
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

  /// Assigns new nodes to the innermost running layer.
  void assign_nodes() {
    layer_of_node_.resize(calls_->nodes().size(), open_.empty() ? nobody : open_.back());
  }

  graph* calls_;
  layer_graph_writer links_;
  shape input_;
  std::size_t input_offset_ = 0;  // first element of the input in a sample
  bool as_given_ = true;
  bool untouched_ = true;                   // no layer has run yet
  std::vector<std::size_t> open_;           // layers that are running
  std::vector<std::size_t> layer_of_node_;  // of the forward pass
  model_plan plan_;
  std::set<std::string> names_;  // of parameters
};

}  // namespace glia::detail

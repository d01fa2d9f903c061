#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/graph/graph.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/layers/plan.hpp"

namespace glia::detail {

/// Finds out which layers read which outputs, while a description runs on a recorder. The result is
/// `model_plan::nodes`.
///
/// The source of a value is the layer whose kernels computed it. Compositions run kernels, too, for
/// example to add the outputs of two branches. If such a kernel reads values with different
/// sources, it is a join; otherwise, its result has the source of its operands.
class layer_graph_writer {
 public:
  static constexpr std::size_t no_node = std::numeric_limits<std::size_t>::max();

  /// Starts the graph of a model whose kernels `calls` records.
  explicit layer_graph_writer(graph& calls) : calls_(&calls) {}

  /// Begins a layer, with the index `layer` in the plan. Kernels that are recorded until
  /// `finish_layer` belong to this layer or to the layers inside it. `x` is its input, `mask` the
  /// mask of sequences, which does not count as an input.
  void start_layer(const layer_summary& layer, std::size_t index, value_id x, value_id mask) {
    assign_nodes();
    static_cast<void>(source_of(x));  // a join stands before its reader
    layers_.push_back({nodes_.size(), x, mask, node_owners_.size()});
    owners_.push_back({nodes_.size(), {}});
    open_.push_back(owners_.size() - 1);
    open_layers_.push_back(layers_.size() - 1);
    nodes_.push_back({layer_node_kind::layer, layer.name, layer.description, {}, {}, index});
  }
  /// Ends the innermost running layer, whose output is `y`. Returns the value that later layers
  /// read: if the layer returned its input unchanged, this is a new value, so that the layer is the
  /// source of its output.
  [[nodiscard]] value_id finish_layer(value_id y, const shape& output) {
    assign_nodes();
    const open_layer layer = layers_[open_layers_.back()];
    const std::size_t self = open_.back();
    open_layers_.pop_back();
    open_.pop_back();
    nodes_[layer.node].output = output;
    bool has_kernels = false;
    for (std::size_t n = layer.first_call; n < node_owners_.size(); ++n) {
      if (node_owners_[n] != self) {
        continue;
      }
      has_kernels = true;
      for (const value_id operand : calls_->nodes()[n].operands) {
        if (operand != no_value && operand != layer.mask) {
          add_source(nodes_[layer.node].sources, source_of(operand), layer.node);
        }
      }
    }
    if (!has_kernels) {
      add_source(nodes_[layer.node].sources, source_of(layer.x), layer.node);
    }
    if (y != layer.x) {
      return y;
    }
    const value_id renamed = calls_->add_value(calls_->spec(y));
    sources_[renamed] = layer.node;
    originals_[renamed] = original(y);
    return renamed;
  }

  /// Begins a composition. `name` can be empty.
  void start_container(const std::string& name) {
    assign_nodes();
    owners_.push_back({no_node, name});
    open_.push_back(owners_.size() - 1);
  }
  /// Ends the innermost running composition.
  void finish_container() {
    assign_nodes();
    open_.pop_back();
  }

  /// Adds a named input, whose value is `x`.
  void add_input(std::string_view name, value_id x, const shape& s) {
    sources_[x] = nodes_.size();
    nodes_.push_back({layer_node_kind::input, std::string(name), {}, s, {}, no_node});
    has_named_inputs_ = true;
  }
  /// Adds a named output, whose value is `y`.
  void add_output(std::string_view name, value_id y, const shape& s) {
    assign_nodes();
    layer_node node{layer_node_kind::output, std::string(name), {}, s, {}, no_node};
    add_source(node.sources, source_of(y), no_node);
    nodes_.push_back(std::move(node));
    has_named_outputs_ = true;
  }

  /// Ends the forward pass, whose result is `y`, and returns the graph.
  [[nodiscard]] std::vector<layer_node> finish(value_id y) {
    assign_nodes();
    if (!has_named_outputs_) {
      static_cast<void>(source_of(y));  // the model may end in a join
    }
    return std::move(nodes_);
  }

  /// Returns the value that `finish_layer` has renamed to `id`, or `id`.
  [[nodiscard]] value_id original(value_id id) const {
    const auto found = originals_.find(id);
    return found == originals_.end() ? id : found->second;
  }

 private:
  /// A layer that has begun.
  struct open_layer {
    std::size_t node;        // in nodes_
    value_id x;              // the input
    value_id mask;           // the mask of sequences
    std::size_t first_call;  // the first kernel call that can belong to it
  };
  /// A layer or composition that kernel calls belong to.
  struct owner {
    std::size_t layer_node;  // `no_node` for a composition
    std::string container;   // name of the composition
  };

  /// Assigns new kernel calls to the innermost layer or composition that is running.
  void assign_nodes() {
    const auto& calls = calls_->nodes();
    for (std::size_t n = node_owners_.size(); n < calls.size(); ++n) {
      node_owners_.push_back(open_.empty() ? no_node : open_.back());
      for (const value_id id : calls[n].results) {
        if (id != no_value) {
          makers_[id] = n;
        }
      }
    }
  }

  static void add_source(std::vector<std::size_t>& sources, std::size_t source, std::size_t self) {
    if (source != no_node && source != self &&
        std::find(sources.begin(), sources.end(), source) == sources.end()) {
      sources.push_back(source);
    }
  }

  /// Returns the node that a value comes from, or `no_node` for parameters and constants.
  [[nodiscard]] std::size_t source_of(value_id id) {
    const auto known = sources_.find(id);
    if (known != sources_.end()) {
      return known->second;
    }
    const std::size_t source = find_source(id);
    sources_[id] = source;
    return source;
  }
  [[nodiscard]] std::size_t find_source(value_id id) {
    const auto maker = makers_.find(id);
    if (maker == makers_.end()) {
      return id == calls_->inputs().front().value ? whole_input() : no_node;
    }
    const graph_node& call = calls_->nodes()[maker->second];
    const std::size_t owner_index = node_owners_[maker->second];
    if (call.operands.empty()) {
      return no_node;
    }
    if (owner_index != no_node && owners_[owner_index].layer_node != no_node) {
      return owners_[owner_index].layer_node;
    }
    std::vector<std::size_t> sources;
    for (const value_id operand : call.operands) {
      if (operand != no_value) {
        add_source(sources, source_of(operand), no_node);
      }
    }
    if (sources.size() < 2) {
      return sources.empty() ? no_node : sources.front();
    }
    const std::string joined = join_text(call.kernel);
    const std::string container = owner_index == no_node ? "" : owners_[owner_index].container;
    release_name(container, sources);
    nodes_.push_back({layer_node_kind::join, join_name(container, joined), joined,
                      calls_->spec(id).shape, std::move(sources), no_node});
    return nodes_.size() - 1;
  }

  /// Returns the node of the samples of a model without named inputs.
  [[nodiscard]] std::size_t whole_input() {
    if (has_named_inputs_) {
      return no_node;
    }
    const value_id id = calls_->inputs().front().value;
    nodes_.push_back({layer_node_kind::input, "input", {}, calls_->spec(id).shape, {}, no_node});
    return nodes_.size() - 1;
  }

  /// Takes the name of a composition away from a join that another join of this composition reads.
  void release_name(const std::string& container, const std::vector<std::size_t>& sources) {
    for (const std::size_t source : sources) {
      layer_node& node = nodes_[source];
      if (node.kind == layer_node_kind::join && !container.empty() && node.name == container) {
        node.name = text(node.description, '_', join_counts_[node.description]++);
      }
    }
  }
  /// Returns the name of a join: that of its composition for the last join in it, and otherwise the
  /// operation with a number.
  [[nodiscard]] std::string join_name(const std::string& container, const std::string& joined) {
    const bool is_new = std::none_of(nodes_.begin(), nodes_.end(), [&](const layer_node& node) {
      return node.name == container;
    });
    return !container.empty() && is_new ? container : text(joined, '_', join_counts_[joined]++);
  }
  [[nodiscard]] static std::string join_text(const any_kernel& kernel) {
    constexpr std::array<std::string_view, 8> names{"add",     "subtract", "multiply", "divide",
                                                    "maximum", "minimum",  "greater",  "equal"};
    const auto* const binary = kernel.as<kernels::binary>();
    return std::string(binary == nullptr ? kernel.name()
                                         : names[static_cast<std::size_t>(binary->function)]);
  }

  graph* calls_;
  std::vector<layer_node> nodes_;
  std::vector<open_layer> layers_;
  std::vector<owner> owners_;
  std::vector<std::size_t> open_;         // indices of the running owners
  std::vector<std::size_t> open_layers_;  // indices of the running layers
  std::vector<std::size_t> node_owners_;  // of each kernel call
  std::unordered_map<value_id, std::size_t> makers_;
  std::unordered_map<value_id, std::size_t> sources_;
  std::unordered_map<value_id, value_id> originals_;
  std::map<std::string, std::size_t, std::less<>> join_counts_;
  bool has_named_inputs_ = false;
  bool has_named_outputs_ = false;
};

}  // namespace glia::detail

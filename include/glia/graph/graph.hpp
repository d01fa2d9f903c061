#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/graph/any_kernel.hpp"
#include "glia/graph/value_id.hpp"

namespace glia {

/// The part of a training step that a node belongs to.
enum class step_phase : std::uint8_t { forward, backward, update };

/// The layer of a model, and the part of a training step, that a node belongs to.
struct graph_place {
  std::string name;  ///< path of the layer, such as features.blocks.3.expand; "loss"; or empty
  step_phase phase = step_phase::forward;

  friend bool operator==(const graph_place&, const graph_place&) = default;
};

/// A node of a graph: one call of a kernel.
struct graph_node {
  any_kernel kernel;
  std::vector<value_id> operands;
  std::vector<value_id> results;
  std::uint32_t place = 0;  ///< index of its layer and phase in graph::places
};

/// An input of a graph. If a run changes the input, as a training step changes a parameter, `next`
/// is the value that replaces it after the run. Both can use the same memory.
struct graph_input {
  std::string name;
  value_id value = no_value;
  value_id next = no_value;
  bool of_samples = false;  ///< whether it has one row for each sample

  /// Returns whether a run replaces the input by another tensor.
  [[nodiscard]] bool changes() const noexcept { return next != no_value && next != value; }
};

/// An output of a graph.
struct graph_output {
  std::string name;
  value_id value = no_value;
};

/// A tensor of a graph that is the same in every run.
struct graph_constant {
  value_id value = no_value;
  std::variant<std::vector<double>, std::vector<std::int32_t>> elements;
};

/// Nodes first ... end - 1 of a graph, which treat each of `rows` samples independently. These
/// nodes can run on batch tiles: `piece` samples go through all of them, while their intermediate
/// tensors stay in the cache.
struct stretch {
  std::size_t first = 0;
  std::size_t end = 0;
  std::size_t rows = 0;
  std::size_t piece = 0;
};

/// A recorded computation: its nodes, in an order in which they can run, and the values that they
/// exchange. A graph can be copied, printed, optimized by passes, and compiled by `program` for any
/// device.
class graph {
 public:
  graph() : places_{graph_place{}} {}

  /// Adds an input and returns its value.
  value_id add_input(std::string name, const tensor_spec& spec, bool of_samples = false) {
    const value_id id = add_value(spec);
    inputs_.push_back({.name = std::move(name), .value = id, .of_samples = of_samples});
    return id;
  }
  /// Adds a constant and returns its value. `elements` are in row-major order.
  value_id add_constant(const tensor_spec& spec,
                        std::variant<std::vector<double>, std::vector<std::int32_t>> elements) {
    const value_id id = add_value(spec);
    constants_.push_back({id, std::move(elements)});
    return id;
  }
  /// Adds a node with the current place (layer and phase). Throws `shape_error` or `value_error` if
  /// the operands do not fit the kernel.
  const graph_node& add(const any_kernel& kernel, std::vector<value_id> operands) {
    std::vector<tensor_spec> specs(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      specs[i] = spec(operands[i]);
    }
    std::vector<tensor_spec> results(kernel.type().results);
    kernel.specs(specs, results);
    graph_node node{kernel, std::move(operands), {}, place_};
    for (const tensor_spec& s : results) {
      node.results.push_back(s ? add_value(s) : no_value);
    }
    return nodes_.emplace_back(std::move(node));
  }
  /// Marks a value as an output of the graph.
  void add_output(std::string name, value_id value) {
    outputs_.push_back({std::move(name), value});
  }
  /// Sets the value that an input has after the run. Throws `value_error` if `input` is not an
  /// input.
  void set_next(value_id input, value_id next) {
    // Inputs are nearly always in the order of their values.
    auto found =
        std::partition_point(inputs_.begin(), inputs_.end(),
                             [&](const graph_input& candidate) { return candidate.value < input; });
    if (found == inputs_.end() || found->value != input) {
      found = std::find_if(inputs_.begin(), inputs_.end(),
                           [&](const graph_input& candidate) { return candidate.value == input; });
    }
    require<value_error>(found != inputs_.end(),
                         "graph: only an input can have a next value, got the value of a node");
    found->next = next;
  }

  /// Sets the place (layer and phase) of all nodes that are added after this call.
  void set_place(graph_place new_place) {
    std::uint32_t& number =
        place_numbers_[new_place.name][static_cast<std::size_t>(new_place.phase)];  // 0: none yet
    if (number == 0 && new_place != graph_place{}) {
      number = static_cast<std::uint32_t>(places_.size());
      places_.push_back(std::move(new_place));
    }
    place_ = number;
  }
  [[nodiscard]] std::uint32_t place() const noexcept { return place_; }
  void set_place(std::uint32_t number) { place_ = number; }
  [[nodiscard]] const graph_place& place_of(const graph_node& node) const {
    return places_[node.place];
  }
  [[nodiscard]] const std::vector<graph_place>& places() const noexcept { return places_; }

  /// Returns the number of values.
  [[nodiscard]] std::size_t value_count() const noexcept { return specs_.size(); }
  /// Returns the shape and element type of a value. For `no_value`, the element type is `none`.
  [[nodiscard]] tensor_spec spec(value_id id) const {
    return id == no_value ? tensor_spec{} : specs_[id];
  }
  [[nodiscard]] std::vector<tensor_spec> specs(std::span<const value_id> ids) const {
    std::vector<tensor_spec> result;
    for (const value_id id : ids) {
      result.push_back(spec(id));
    }
    return result;
  }
  /// Adds a value that no node computes yet.
  value_id add_value(const tensor_spec& spec) {
    specs_.push_back(spec);
    return static_cast<value_id>(specs_.size() - 1);
  }

  [[nodiscard]] const std::vector<graph_node>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::vector<graph_node>& nodes() noexcept { return nodes_; }
  [[nodiscard]] const std::vector<graph_input>& inputs() const noexcept { return inputs_; }
  [[nodiscard]] const std::vector<graph_output>& outputs() const noexcept { return outputs_; }
  [[nodiscard]] std::vector<graph_input>& inputs() noexcept { return inputs_; }
  [[nodiscard]] std::vector<graph_output>& outputs() noexcept { return outputs_; }
  [[nodiscard]] const std::vector<stretch>& stretches() const noexcept { return stretches_; }
  [[nodiscard]] std::vector<stretch>& stretches() noexcept { return stretches_; }
  [[nodiscard]] const std::vector<graph_constant>& constants() const noexcept { return constants_; }

 private:
  std::vector<tensor_spec> specs_;
  std::vector<graph_node> nodes_;
  std::vector<graph_input> inputs_;
  std::vector<graph_output> outputs_;
  std::vector<stretch> stretches_;
  std::vector<graph_constant> constants_;
  std::vector<graph_place> places_;
  // For each layer: the number of its place in each phase, or 0 if there is none yet.
  std::unordered_map<std::string, std::array<std::uint32_t, 3>> place_numbers_;
  std::uint32_t place_ = 0;
};

namespace detail {

/// Returns whether a run has a result: an output, or the next value of an input.
[[nodiscard]] inline bool gives_something(const graph& calls) {
  return !calls.outputs().empty() ||
         std::any_of(calls.inputs().begin(), calls.inputs().end(),
                     [](const graph_input& input) { return input.changes(); });
}

}  // namespace detail

}  // namespace glia

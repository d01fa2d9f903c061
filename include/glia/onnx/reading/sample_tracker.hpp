#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/function_ref.hpp"
#include "glia/onnx/reading/sample_axes.hpp"

namespace glia::onnx {

/// A graph that was converted to another batch size.
struct resized_graph {
  graph calls;
  std::vector<value_id> values;  ///< New number of each value.
  /// Index of each node's first new node; the last entry is the number of new nodes.
  std::vector<std::size_t> nodes;
};

/// Tracks the batch axis of each value of a graph while the graph is built for some batch size, and
/// converts the graph to another size.
///
/// The conversion is possible if every node treats the samples independently. A value that a file
/// stores once for each sample of its batch, such as a class token, must be the same for all
/// samples. `reason` tells why the conversion is impossible.
class sample_tracker {
 public:
  /// A function that returns the numbers of an input of the graph, if the input is a weight. It
  /// returns an empty vector for other inputs.
  using numbers_function = function_ref<std::vector<float>(value_id)>;

  std::size_t samples = 0;  ///< Batch size of the graph; 0: tracking is off.
  std::string place;        ///< Current node of the file, for messages.

  /// Returns the batch axis of a value. Returns nothing if the value is the same for all samples.
  [[nodiscard]] std::optional<sample_axis> axis_of(value_id id) const {
    return id < axes_.size() ? axes_[id] : std::nullopt;
  }
  void add_input(value_id id) {
    if (samples > 0) {
      set(id, sample_axis{});
    }
  }

  /// Returns whether, in a batch of one sample, another axis of this shape can be the batch axis
  /// instead.
  [[nodiscard]] bool can_move(const shape& s, const sample_axis& from,
                              const sample_axis& to) const {
    return samples == 1 && s.size() > 0 &&
           detail::count_outside(s, from, 1) == detail::count_outside(s, to, 1);
  }
  /// Sets the batch axis of a reshaped value in a batch of one sample, in which the shape does not
  /// determine the axis.
  void move(value_id id, const sample_axis& to) { set(id, to); }

  /// Returns the reason why the graph cannot be converted to another batch size. Empty if it can be
  /// converted.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  void refuse(const std::string& why) {
    if (reason_.empty()) {
      reason_ = place + ' ' + why;
    }
  }

  /// Updates the batch axes for the node that was added last.
  void add(const graph& calls, numbers_function numbers) {
    if (samples == 0 || !reason_.empty()) {
      return;
    }
    const graph_node& node = calls.nodes().back();
    const std::size_t number = calls.nodes().size() - 1;
    makers_.resize(calls.value_count(), none);
    for (const value_id id : node.results) {
      if (id != no_value) {
        makers_[id] = number;
      }
    }
    std::optional<sample_axis> result;
    bool varies = false;
    for (std::size_t i = 0; i < node.operands.size() && !result; ++i) {
      if (const auto at = axis_of(node.operands[i])) {
        varies = true;
        result = first_result(calls, node, i, *at);
      }
    }
    if (!varies) {
      return;
    }
    if (!result) {
      return refuse("combines different samples of a batch");
    }
    std::vector<std::optional<sample_axis>> changes(node.operands.size());
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const value_id id = node.operands[i];
      if (id == no_value) {
        continue;
      }
      const auto has = axis_of(id);
      const operand_samples wanted = operand_axis(calls, node, i, *result, samples);
      if (wanted.how == operand_samples::kind::impossible ||
          (has && wanted.how == operand_samples::kind::shared)) {
        return refuse("combines different samples of a batch");
      }
      if (has && *has != wanted.at) {
        if (!can_move(calls.spec(id).shape, *has, wanted.at)) {
          return refuse("has operands with different batch axes");
        }
        changes[i] = wanted.at;
      }
      if (!has && wanted.how == operand_samples::kind::varies) {
        if (!is_repeated(calls, id, wanted.at, numbers, 0)) {
          return refuse("uses numbers that differ from sample to sample of the batch");
        }
        changes[i] = wanted.at;
      }
    }
    changes_.resize(number + 1);
    changes_[number] = std::move(changes);
    set(node.results[0], *result);
    set_statistics(calls, node, *result);
  }

  /// Returns the graph for `count` samples, if conversion is possible.
  [[nodiscard]] resized_graph resized(const graph& from, std::size_t count) const {
    resized_graph to;
    to.values.resize(from.value_count(), no_value);
    for (const graph_input& one : from.inputs()) {
      tensor_spec spec = from.spec(one.value);
      if (const auto at = axis_of(one.value)) {
        spec.shape = shape_for(spec.shape, *at, count);
      }
      to.values[one.value] = to.calls.add_input(one.name, spec, one.of_samples);
    }
    for (const graph_constant& one : from.constants()) {
      to.values[one.value] = to.calls.add_constant(from.spec(one.value), one.elements);
    }
    for (std::size_t n = 0; n < from.nodes().size(); ++n) {
      const graph_node& node = from.nodes()[n];
      to.nodes.push_back(to.calls.nodes().size());
      std::vector<value_id> operands;
      for (std::size_t i = 0; i < node.operands.size(); ++i) {
        operands.push_back(operand_for(from, n, i, count, to));
      }
      const auto at = axis_of(node.results[0]);
      const std::vector<value_id> results =
          to.calls.add(at ? kernel_for(node.kernel, *at, count) : node.kernel, std::move(operands))
              .results;
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (node.results[i] != no_value) {
          to.values[node.results[i]] = results[i];
        }
      }
    }
    to.nodes.push_back(to.calls.nodes().size());
    for (const graph_output& one : from.outputs()) {
      to.calls.add_output(one.name, to.values[one.value]);
    }
    for (const graph_input& one : from.inputs()) {
      if (one.next != no_value) {
        to.calls.set_next(to.values[one.value], to.values[one.next]);
      }
    }
    return to;
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  void set(value_id id, const sample_axis& at) {
    axes_.resize(std::max<std::size_t>(axes_.size(), id + std::size_t{1}));
    axes_[id] = at;
  }

  /// Returns the axis of the result that contains the samples of operand i. In a batch of one
  /// sample, any axis of extent 1 at the same row-major position can be the batch axis.
  [[nodiscard]] std::optional<sample_axis> first_result(const graph& calls, const graph_node& node,
                                                        std::size_t i,
                                                        const sample_axis& at) const {
    std::optional<sample_axis> found = result_axis(calls, node, i, at, samples);
    const shape x = calls.spec(node.operands[i]).shape;
    for (std::size_t axis = 0; samples == 1 && !found && axis < x.rank(); ++axis) {
      const sample_axis other{axis, 1};
      if (x[axis] == 1 && can_move(x, at, other)) {
        found = result_axis(calls, node, i, other, samples);
      }
    }
    return found;
  }

  /// Sets the batch axis of the statistics that a normalization returns. The statistics have one
  /// element for each row.
  void set_statistics(const graph& calls, const graph_node& node, const sample_axis& at) {
    const auto* const k = node.kernel.as<kernels::normalize>();
    if (k == nullptr || k->kind != normalization::layer) {
      return;
    }
    const shape x = calls.spec(node.operands[0]).shape;
    std::size_t inner = at.inner;
    for (std::size_t axis = at.axis + 1; axis + 1 < x.rank(); ++axis) {
      inner *= x[axis];
    }
    set(node.results[1], {0, inner});
    set(node.results[2], {0, inner});
  }

  /// Returns whether a value that does not depend on samples is the same for each index along an
  /// axis.
  [[nodiscard]] bool is_repeated(const graph& calls, value_id id, const sample_axis& at,
                                 numbers_function numbers, std::size_t depth) {
    constexpr std::size_t deepest = 256;
    const shape s = calls.spec(id).shape;
    if (at.axis >= s.rank() || at.inner == 0 || s[at.axis] % (samples * at.inner) != 0 ||
        axis_of(id) || depth > deepest) {
      return false;
    }
    if (samples == 1) {
      return true;
    }
    const auto known = repeated_.find({id, at.axis, at.inner});
    if (known != repeated_.end()) {
      return known->second;
    }
    const bool found = finds_repeated(calls, id, at, numbers, depth);
    repeated_[{id, at.axis, at.inner}] = found;
    return found;
  }
  [[nodiscard]] bool finds_repeated(const graph& calls, value_id id, const sample_axis& at,
                                    numbers_function numbers, std::size_t depth) {
    const shape s = calls.spec(id).shape;
    const std::size_t maker = id < makers_.size() ? makers_[id] : none;
    if (maker != none) {
      const graph_node& node = calls.nodes()[maker];
      bool all = node.results[0] == id;
      for (std::size_t i = 0; all && i < node.operands.size(); ++i) {
        const value_id operand = node.operands[i];
        const operand_samples wanted = operand == no_value
                                           ? operand_samples{operand_samples::kind::shared}
                                           : operand_axis(calls, node, i, at, samples);
        all = wanted.how == operand_samples::kind::shared ||
              (wanted.how == operand_samples::kind::varies &&
               is_repeated(calls, operand, wanted.at, numbers, depth + 1));
      }
      return all;
    }
    for (const graph_constant& one : calls.constants()) {
      if (one.value == id) {
        return std::visit([&](const auto& all) { return repeats(all, s, at); }, one.elements);
      }
    }
    return repeats(numbers(id), s, at);
  }
  template <class T>
  [[nodiscard]] bool repeats(const std::vector<T>& all, const shape& s,
                             const sample_axis& at) const {
    if (all.size() != s.size() || all.empty()) {
      return false;
    }
    const std::size_t outside = detail::count_outside(s, at, samples);
    const std::size_t each = s.size() / outside / samples;
    for (std::size_t o = 0; o < outside; ++o) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(o * samples * each);
      for (std::size_t k = 1; k < samples; ++k) {
        if (!std::equal(first, first + static_cast<std::ptrdiff_t>(each),
                        first + static_cast<std::ptrdiff_t>(k * each))) {
          return false;
        }
      }
    }
    return true;
  }

  /// Returns a shape for another batch size.
  [[nodiscard]] shape shape_for(shape s, const sample_axis& at, std::size_t count) const {
    s[at.axis] = s[at.axis] / samples * count;
    return s;
  }
  [[nodiscard]] any_kernel kernel_for(const any_kernel& k, const sample_axis& at,
                                      std::size_t count) const {
    if (const auto* const r = k.as<kernels::reshape>()) {
      return kernels::reshape{shape_for(r->to, at, count)};
    }
    if (const auto* const b = k.as<kernels::broadcast_to>()) {
      return kernels::broadcast_to{shape_for(b->to, at, count)};
    }
    if (const auto* const s = k.as<kernels::sum_to>()) {
      return kernels::sum_to{shape_for(s->to, at, count)};
    }
    return k;
  }

  /// Returns an operand of node n for another batch size.
  [[nodiscard]] value_id operand_for(const graph& from, std::size_t n, std::size_t i,
                                     std::size_t count, resized_graph& to) const {
    const graph_node& node = from.nodes()[n];
    const value_id id = node.operands[i];
    if (id == no_value) {
      return no_value;
    }
    const value_id now = to.values[id];
    const bool changes =
        n < changes_.size() && i < changes_[n].size() && changes_[n][i].has_value();
    if (!changes) {
      return now;
    }
    const sample_axis at = *changes_[n][i];
    const shape s = from.spec(id).shape;
    const auto call = [&](const any_kernel& k, value_id x) {
      return to.calls.add(k, {x}).results[0];
    };
    const shape whole = shape_for(s, at, count);
    if (axis_of(id)) {
      return call(kernels::reshape{whole}, now);
    }
    const bool is_broadcast = detail::rule_of(node.kernel) == detail::axis_rule::broadcast;
    if (is_broadcast && s[at.axis] == samples) {
      return samples == 1 ? now : call(kernels::slice{at.axis, 0, 1}, now);
    }
    // Takes the part that belongs to one sample, and repeats it for all samples.
    const std::size_t outside = detail::count_outside(s, at, samples);
    const std::size_t each = s.size() / outside / samples;
    value_id one = call(kernels::reshape{shape{outside, samples, each}}, now);
    one = samples == 1 ? one : call(kernels::slice{1, 0, 1}, one);
    return call(kernels::reshape{whole},
                call(kernels::broadcast_to{shape{outside, count, each}}, one));
  }

  std::vector<std::optional<sample_axis>> axes_;  // one for each value
  std::vector<std::size_t> makers_;               // one for each value
  // For each node: one axis for each operand.
  std::vector<std::vector<std::optional<sample_axis>>> changes_;
  std::map<std::tuple<value_id, std::size_t, std::size_t>, bool> repeated_;
  std::string reason_;
};

}  // namespace glia::onnx

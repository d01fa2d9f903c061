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
  [[nodiscard]] bool can_move(const shape& s, const sample_axis& current,
                              const sample_axis& other) const {
    return samples == 1 && s.size() > 0 &&
           detail::count_outside(s, current, 1) == detail::count_outside(s, other, 1);
  }
  /// Sets the batch axis of a reshaped value in a batch of one sample, in which the shape does not
  /// determine the axis.
  void move(value_id id, const sample_axis& axis) { set(id, axis); }

  /// Returns the reason why the graph cannot be converted to another batch size. The reason is
  /// empty if the graph can be converted.
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
    makers_.resize(calls.value_count(), no_node);
    for (const value_id id : node.results) {
      if (id != no_value) {
        makers_[id] = number;
      }
    }
    std::optional<sample_axis> result;
    bool varies = false;
    for (std::size_t i = 0; i < node.operands.size() && !result; ++i) {
      if (const auto batch = axis_of(node.operands[i])) {
        varies = true;
        result = first_result(calls, node, i, *batch);
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
      const operand_samples expected = operand_axis(calls, node, i, *result, samples);
      if (expected.relation == operand_samples::kind::impossible ||
          (has && expected.relation == operand_samples::kind::shared)) {
        return refuse("combines different samples of a batch");
      }
      if (has && *has != expected.axis) {
        if (!can_move(calls.spec(id).shape, *has, expected.axis)) {
          return refuse("has operands with different batch axes");
        }
        changes[i] = expected.axis;
      }
      if (!has && expected.relation == operand_samples::kind::varies) {
        if (!is_repeated(calls, id, expected.axis, numbers, 0)) {
          return refuse("uses numbers that differ from sample to sample of the batch");
        }
        changes[i] = expected.axis;
      }
    }
    changes_.resize(number + 1);
    changes_[number] = std::move(changes);
    set(node.results[0], *result);
    set_statistics(calls, node, *result);
  }

  /// Returns the graph for `count` samples, if conversion is possible.
  [[nodiscard]] resized_graph resized(const graph& source, std::size_t count) const {
    resized_graph result;
    result.values.resize(source.value_count(), no_value);
    for (const graph_input& input : source.inputs()) {
      tensor_spec spec = source.spec(input.value);
      if (const auto batch = axis_of(input.value)) {
        spec.shape = shape_for(spec.shape, *batch, count);
      }
      result.values[input.value] = result.calls.add_input(input.name, spec, input.of_samples);
    }
    for (const graph_constant& constant : source.constants()) {
      result.values[constant.value] =
          result.calls.add_constant(source.spec(constant.value), constant.elements);
    }
    for (std::size_t n = 0; n < source.nodes().size(); ++n) {
      const graph_node& node = source.nodes()[n];
      result.nodes.push_back(result.calls.nodes().size());
      std::vector<value_id> operands;
      for (std::size_t i = 0; i < node.operands.size(); ++i) {
        operands.push_back(operand_for(source, n, i, count, result));
      }
      const auto batch = axis_of(node.results[0]);
      const std::vector<value_id> results =
          result.calls
              .add(batch ? kernel_for(node.kernel, *batch, count) : node.kernel,
                   std::move(operands))
              .results;
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (node.results[i] != no_value) {
          result.values[node.results[i]] = results[i];
        }
      }
    }
    result.nodes.push_back(result.calls.nodes().size());
    for (const graph_output& output : source.outputs()) {
      result.calls.add_output(output.name, result.values[output.value]);
    }
    for (const graph_input& input : source.inputs()) {
      if (input.next != no_value) {
        result.calls.set_next(result.values[input.value], result.values[input.next]);
      }
    }
    return result;
  }

 private:
  static constexpr std::size_t no_node = static_cast<std::size_t>(-1);

  void set(value_id id, const sample_axis& axis) {
    axes_.resize(std::max<std::size_t>(axes_.size(), id + std::size_t{1}));
    axes_[id] = axis;
  }

  /// Returns the axis of the result that contains the samples of operand i. In a batch of one
  /// sample, any axis of extent 1 at the same row-major position can be the batch axis.
  [[nodiscard]] std::optional<sample_axis> first_result(const graph& calls, const graph_node& node,
                                                        std::size_t i,
                                                        const sample_axis& batch) const {
    std::optional<sample_axis> found = result_axis(calls, node, i, batch, samples);
    const shape x = calls.spec(node.operands[i]).shape;
    for (std::size_t axis = 0; samples == 1 && !found && axis < x.rank(); ++axis) {
      const sample_axis other{axis, 1};
      if (x[axis] == 1 && can_move(x, batch, other)) {
        found = result_axis(calls, node, i, other, samples);
      }
    }
    return found;
  }

  /// Sets the batch axis of the statistics that a normalization returns. The statistics have one
  /// element for each row.
  void set_statistics(const graph& calls, const graph_node& node, const sample_axis& batch) {
    const auto* const k = node.kernel.as<kernels::normalize>();
    if (k == nullptr || k->kind != normalization::layer) {
      return;
    }
    const shape x = calls.spec(node.operands[0]).shape;
    std::size_t inner = batch.inner;
    for (std::size_t axis = batch.axis + 1; axis + 1 < x.rank(); ++axis) {
      inner *= x[axis];
    }
    set(node.results[1], {0, inner});
    set(node.results[2], {0, inner});
  }

  /// Returns whether a value that does not depend on samples is the same for each index along an
  /// axis.
  [[nodiscard]] bool is_repeated(const graph& calls, value_id id, const sample_axis& batch,
                                 numbers_function numbers, std::size_t depth) {
    constexpr std::size_t deepest = 256;
    const shape s = calls.spec(id).shape;
    if (batch.axis >= s.rank() || batch.inner == 0 ||
        s[batch.axis] % (samples * batch.inner) != 0 || axis_of(id) || depth > deepest) {
      return false;
    }
    if (samples == 1) {
      return true;
    }
    const auto known = repeated_.find({id, batch.axis, batch.inner});
    if (known != repeated_.end()) {
      return known->second;
    }
    const bool found = finds_repeated(calls, id, batch, numbers, depth);
    repeated_[{id, batch.axis, batch.inner}] = found;
    return found;
  }
  [[nodiscard]] bool finds_repeated(const graph& calls, value_id id, const sample_axis& batch,
                                    numbers_function numbers, std::size_t depth) {
    const shape s = calls.spec(id).shape;
    const std::size_t maker = id < makers_.size() ? makers_[id] : no_node;
    if (maker != no_node) {
      const graph_node& node = calls.nodes()[maker];
      bool is_same = node.results[0] == id;
      for (std::size_t i = 0; is_same && i < node.operands.size(); ++i) {
        const value_id operand = node.operands[i];
        const operand_samples expected = operand == no_value
                                             ? operand_samples{operand_samples::kind::shared}
                                             : operand_axis(calls, node, i, batch, samples);
        is_same = expected.relation == operand_samples::kind::shared ||
                  (expected.relation == operand_samples::kind::varies &&
                   is_repeated(calls, operand, expected.axis, numbers, depth + 1));
      }
      return is_same;
    }
    for (const graph_constant& constant : calls.constants()) {
      if (constant.value == id) {
        return std::visit([&](const auto& elements) { return repeats(elements, s, batch); },
                          constant.elements);
      }
    }
    return repeats(numbers(id), s, batch);
  }
  template <class T>
  [[nodiscard]] bool repeats(const std::vector<T>& elements, const shape& s,
                             const sample_axis& batch) const {
    if (elements.size() != s.size() || elements.empty()) {
      return false;
    }
    const std::size_t outside = detail::count_outside(s, batch, samples);
    const std::size_t sample_size = s.size() / outside / samples;
    for (std::size_t o = 0; o < outside; ++o) {
      const auto first = elements.begin() + static_cast<std::ptrdiff_t>(o * samples * sample_size);
      for (std::size_t k = 1; k < samples; ++k) {
        if (!std::equal(first, first + static_cast<std::ptrdiff_t>(sample_size),
                        first + static_cast<std::ptrdiff_t>(k * sample_size))) {
          return false;
        }
      }
    }
    return true;
  }

  /// Returns a shape for another batch size.
  [[nodiscard]] shape shape_for(shape s, const sample_axis& batch, std::size_t count) const {
    s[batch.axis] = s[batch.axis] / samples * count;
    return s;
  }
  [[nodiscard]] any_kernel kernel_for(const any_kernel& k, const sample_axis& batch,
                                      std::size_t count) const {
    if (const auto* const r = k.as<kernels::reshape>()) {
      return kernels::reshape{shape_for(r->target_shape, batch, count)};
    }
    if (const auto* const b = k.as<kernels::broadcast_to>()) {
      return kernels::broadcast_to{shape_for(b->target_shape, batch, count)};
    }
    if (const auto* const s = k.as<kernels::sum_to>()) {
      return kernels::sum_to{shape_for(s->target_shape, batch, count)};
    }
    return k;
  }

  /// Returns an operand of node n for another batch size.
  [[nodiscard]] value_id operand_for(const graph& source, std::size_t n, std::size_t i,
                                     std::size_t count, resized_graph& result) const {
    const graph_node& node = source.nodes()[n];
    const value_id id = node.operands[i];
    if (id == no_value) {
      return no_value;
    }
    const value_id current = result.values[id];
    const bool changes =
        n < changes_.size() && i < changes_[n].size() && changes_[n][i].has_value();
    if (!changes) {
      return current;
    }
    const sample_axis batch = *changes_[n][i];
    const shape s = source.spec(id).shape;
    const auto call = [&](const any_kernel& k, value_id x) {
      return result.calls.add(k, {x}).results[0];
    };
    const shape whole = shape_for(s, batch, count);
    if (axis_of(id)) {
      return call(kernels::reshape{whole}, current);
    }
    const bool is_broadcast = detail::rule_of(node.kernel) == detail::axis_rule::broadcast;
    if (is_broadcast && s[batch.axis] == samples) {
      return samples == 1 ? current : call(kernels::slice{batch.axis, 0, 1}, current);
    }
    // Takes the part that belongs to one sample, and repeats it for all samples.
    const std::size_t outside = detail::count_outside(s, batch, samples);
    const std::size_t sample_size = s.size() / outside / samples;
    value_id sample = call(kernels::reshape{shape{outside, samples, sample_size}}, current);
    sample = samples == 1 ? sample : call(kernels::slice{1, 0, 1}, sample);
    return call(kernels::reshape{whole},
                call(kernels::broadcast_to{shape{outside, count, sample_size}}, sample));
  }

  std::vector<std::optional<sample_axis>> axes_;  // one for each value
  std::vector<std::size_t> makers_;               // one for each value
  // For each node: one axis for each operand.
  std::vector<std::vector<std::optional<sample_axis>>> changes_;
  std::map<std::tuple<value_id, std::size_t, std::size_t>, bool> repeated_;
  std::string reason_;
};

}  // namespace glia::onnx

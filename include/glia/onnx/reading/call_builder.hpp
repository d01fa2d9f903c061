#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "glia/graph/graph.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/dropout.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/onnx/reading/read_result.hpp"
#include "glia/onnx/reading/sample_tracker.hpp"

namespace glia::onnx {

/// Builds a graph of kernel calls. It tracks which values depend on samples and which axis is their
/// batch axis. Calls that would only copy their operand are omitted.
class call_builder {
 public:
  graph calls;
  std::vector<graph_weight> weights;
  sample_tracker samples;          ///< Tracker of the batch axis of every value.
  bool whole_recurrences = false;  ///< Whether the device has the kernel `recurrence`.
  value_id key = no_value;         ///< Key of the training step, for random numbers.

  /// Returns the key of the step, which becomes an input of the graph.
  value_id random_key() {
    if (key == no_value) {
      key = calls.add_input("key", {{step_key::words}, element::index});
    }
    return key;
  }

  /// Adds a kernel call and returns its first result.
  value_id call(const any_kernel& k, std::vector<value_id> operands) {
    return add_node(k, std::move(operands))[0];
  }
  /// Adds a kernel call and returns all its results.
  std::vector<value_id> add_node(const any_kernel& k, std::vector<value_id> operands) {
    const bool varies = std::any_of(operands.begin(), operands.end(),
                                    [&](value_id id) { return depends_on_samples(id); });
    std::vector<value_id> results = calls.add(k, std::move(operands)).results;
    varying_.resize(calls.value_count(), false);
    for (const value_id id : results) {
      if (id != no_value) {
        varying_[id] = varies;
      }
    }
    samples.add(calls, [&](value_id id) { return numbers_of_weight(id); });
    return results;
  }
  /// Adds an input that contains samples.
  value_id add_samples(const std::string& name, const shape& s) {
    const value_id id = calls.add_input(name, real_of(s));
    varying_.resize(calls.value_count(), false);
    varying_[id] = true;
    samples.add_input(id);
    return id;
  }
  [[nodiscard]] bool depends_on_samples(value_id id) const {
    return id != no_value && id < varying_.size() && varying_[id];
  }
  value_id apply(const unary_map& map, value_id x) {
    return map == kernels::identity_map ? x : call(kernels::unary{map}, {x});
  }
  value_id apply(unary_function function, value_id x) { return apply(unary_map{function}, x); }
  value_id affine(value_id x, double factor, double offset) {
    return apply({unary_function::affine, factor, offset}, x);
  }
  /// Multiplies x by a number. Adds -0, which preserves the sign of zeros.
  value_id scaled(value_id x, double factor) { return affine(x, factor, -0.0); }
  value_id binary(binary_function function, value_id a, value_id b) {
    return call(kernels::binary{function}, {a, b});
  }
  value_id add(value_id a, value_id b) { return binary(binary_function::add, a, b); }
  value_id multiply(value_id a, value_id b) { return binary(binary_function::multiply, a, b); }
  value_id subtract(value_id a, value_id b) { return add(a, affine(b, -1, 0)); }
  value_id divide(value_id a, value_id b) {
    return multiply(a, apply(unary_function::reciprocal, b));
  }
  value_id reshape(value_id x, const shape& new_shape) {
    return shape_of_value(x) == new_shape ? x : call(kernels::reshape{new_shape}, {x});
  }
  /// Reshapes x to `new_shape`. `new_axes[i]` is the axis of `new_shape` that corresponds to axis i
  /// of x.
  value_id reshape(value_id x, const shape& new_shape, const std::vector<std::size_t>& new_axes) {
    const value_id y = reshape(x, new_shape);
    const auto batch_axis = samples.axis_of(x);
    if (samples.samples == 1 && batch_axis && y != x &&
        new_axes[batch_axis->axis] < new_shape.rank() &&
        new_shape[new_axes[batch_axis->axis]] == shape_of_value(x)[batch_axis->axis]) {
      samples.move(y, {new_axes[batch_axis->axis], batch_axis->inner});
    }
    return y;
  }
  value_id permute(value_id x, const std::vector<std::size_t>& order) {
    return std::is_sorted(order.begin(), order.end())
               ? x
               : call(kernels::permute_axes{kernels::axis_list(order.begin(), order.end())}, {x});
  }
  value_id sum_to(value_id x, const shape& new_shape) {
    return shape_of_value(x) == new_shape ? x : call(kernels::sum_to{new_shape}, {x});
  }
  value_id slice(value_id x, std::size_t axis, std::size_t begin, std::size_t extent) {
    return begin == 0 && extent == shape_of_value(x)[axis]
               ? x
               : call(kernels::slice{axis, begin, extent}, {x});
  }
  value_id full(const shape& s, double value) { return call(kernels::full{s, value}, {}); }
  value_id constant(const shape& s, std::vector<double> elements) {
    return calls.add_constant(real_of(s), std::move(elements));
  }
  value_id indices(const shape& s, std::vector<std::int32_t> elements) {
    return calls.add_constant({s, element::index}, std::move(elements));
  }
  /// Concatenates any number of values, with as few kernel calls as possible.
  value_id concat(std::vector<value_id> parts, std::size_t axis) {
    constexpr std::size_t max_operands = kernels::concat::operands;
    while (parts.size() > 1) {
      std::vector<value_id> joined;
      for (std::size_t i = 0; i < parts.size(); i += max_operands) {
        std::vector<value_id> group(
            parts.begin() + static_cast<std::ptrdiff_t>(i),
            parts.begin() + static_cast<std::ptrdiff_t>(std::min(i + max_operands, parts.size())));
        if (group.size() == 1) {
          joined.push_back(group[0]);
          continue;
        }
        group.resize(max_operands, no_value);
        joined.push_back(call(kernels::concat{axis}, std::move(group)));
      }
      parts = std::move(joined);
    }
    return parts.at(0);
  }
  [[nodiscard]] shape shape_of_value(value_id x) const { return calls.spec(x).shape; }

 private:
  /// Returns the elements of a weight in the order that the graph uses. Empty if the value is not a
  /// weight.
  [[nodiscard]] std::vector<float> numbers_of_weight(value_id id) const {
    const auto found = std::find_if(weights.begin(), weights.end(),
                                    [&](const graph_weight& w) { return w.value == id; });
    return found == weights.end() ? std::vector<float>{} : found->read();
  }

  std::vector<bool> varying_;  // whether each value depends on samples
};

}  // namespace glia::onnx

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/recurrence.hpp"
#include "glia/onnx/writing/writer.hpp"

namespace glia::onnx {

/// The operands of a recurrent layer with G gates: steps (N, T, I), weights of the steps (I, G U),
/// weights of the states (U, G U), and an optional bias (G U) for each of the two weights.
struct recurrent_layer {
  kernels::recurrence kernel;
  value steps;
  value weights;
  value bias;
  value recurrent;
  value recurrent_bias;
};

namespace detail {

/// Converts weights (rows, G U) to ONNX's layout, (1, G U, rows). `order` is the order of the G
/// gates, which have U columns each.
[[nodiscard]] inline std::vector<float> gates(const std::vector<float>& weights, std::size_t units,
                                              const std::vector<std::size_t>& order) {
  const std::size_t columns = order.size() * units;
  const std::size_t rows = weights.size() / columns;
  std::vector<float> result;
  result.reserve(weights.size());
  for (const std::size_t part : order) {
    for (std::size_t column = part * units; column < (part + 1) * units; ++column) {
      for (std::size_t row = 0; row < rows; ++row) {
        result.push_back(weights[row * columns + column]);
      }
    }
  }
  return result;
}

/// Returns the weights of one direction, as the operands that follow the steps.
[[nodiscard]] inline names weights_of(const lowering& l, const recurrent_layer& layer, bool bias) {
  for (const value* operand :
       {&layer.weights, &layer.bias, &layer.recurrent, &layer.recurrent_bias}) {
    require<value_error>(!*operand || operand->known != nullptr, "onnx: the weights of the layer '",
                         l.place, "' depend on the input, which ONNX does not support");
  }
  // The gates of an LSTM have the order i, f, g, o in glia and i, o, f, g in ONNX.
  const std::vector<std::size_t> order =
      layer.kernel.cell == recurrent_cell::simple ? std::vector<std::size_t>{0}
      : layer.kernel.cell == recurrent_cell::gru  ? std::vector<std::size_t>{0, 1, 2}
                                                  : std::vector<std::size_t>{0, 3, 1, 2};
  writer& w = l.out;
  const std::size_t units = layer.recurrent.known->shape[0];
  const std::size_t columns = order.size() * units;
  const auto weights = [&](const constant& c) {
    const glia::shape s{1, columns, c.numbers.size() / columns};
    const std::vector<float> numbers = gates(c.numbers, units, order);
    return c.scales.empty() ? w.numbers(c.name, s, numbers)
                            : w.dequantized(c, s, numbers, gates(c.scales, units, order), 1);
  };
  names result{weights(*layer.weights.known), weights(*layer.recurrent.known)};
  if (bias) {
    std::vector<float> both;
    for (const value& layer_bias : {layer.bias, layer.recurrent_bias}) {
      const std::vector<float> numbers = layer_bias ? gates(layer_bias.known->numbers, units, order)
                                                    : std::vector<float>(columns, 0.0F);
      both.insert(both.end(), numbers.begin(), numbers.end());
    }
    const value& named = layer.bias ? layer.bias : layer.recurrent_bias;
    result.push_back(
        w.numbers(named ? named.known->name : text(l.place, ".bias"), {1, both.size()}, both));
  }
  return result;
}

/// Writes a node with one or two directions; the axes of its result are (T, directions, N, U).
[[nodiscard]] inline std::string recurrent_node_of(const lowering& l,
                                                   std::span<const recurrent_layer> directions) {
  constexpr std::array<std::string_view, 3> operations{"RNN", "GRU", "LSTM"};
  const recurrent_layer& first = directions.front();
  writer& w = l.out;
  const bool bias = std::any_of(directions.begin(), directions.end(), [](const auto& layer) {
    return layer.bias || layer.recurrent_bias;
  });
  std::vector<names> weights;
  for (const recurrent_layer& layer : directions) {
    weights.push_back(weights_of(l, layer, bias));
  }
  names operands{w.use(w.arranged(first.steps, {1, 0, 2}))};
  for (std::size_t i = 0; i < weights[0].size(); ++i) {
    operands.push_back(weights.size() == 1 ? weights[0][i]
                                           : w.call("Concat", {weights[0][i], weights[1][i]},
                                                    [](::onnx::NodeProto& node) {
                                                      writer::set(node, "axis", std::int64_t{0});
                                                    }));
  }
  const std::string_view operation = operations[static_cast<std::size_t>(first.kernel.cell)];
  return w.call(operation, operands, [&](::onnx::NodeProto& node) {
    writer::set(node, "hidden_size", static_cast<std::int64_t>(first.recurrent.known->shape[0]));
    writer::set(node, "direction",
                directions.size() == 2   ? "bidirectional"
                : first.kernel.backwards ? "reverse"
                                         : "forward");
    if (first.kernel.cell == recurrent_cell::gru) {
      writer::set(node, "linear_before_reset", std::int64_t{1});
    }
  });
}

}  // namespace detail

/// Writes a recurrent layer, with the result (N, T, U). For a forward and a backward layer over the
/// same steps, writes one node, with the concatenated results (N, T, 2 U).
[[nodiscard]] inline values lower_recurrence(const lowering& l,
                                             std::span<const recurrent_layer> directions) {
  writer& w = l.out;
  const std::string y = detail::recurrent_node_of(l, directions);
  if (directions.size() == 1) {
    const std::string states = w.call("Squeeze", {y, w.whole({1})});
    return {l.result(states, {1, 0, 2}), value{}};
  }
  // Transposes (T, 2, N, U) to (N, T, 2, U). OpenVINO 2026.4 computes wrong results for two nodes
  // and a Concat.
  const std::string samples_first = w.call("Transpose", {y}, [](::onnx::NodeProto& node) {
    writer::set(node, "perm", integers{2, 0, 1, 3});
  });
  return {l.result(w.call("Reshape", {samples_first, w.reshape_tensor(l.results[0])}))};
}

/// Writes a forward and a backward layer over the same steps as one node, because OpenVINO computes
/// wrong results for two nodes. Returns two results (N, T, U).
[[nodiscard]] inline std::array<value, 2> lower_directions(
    const lowering& l, std::span<const recurrent_layer> directions) {
  writer& w = l.out;
  const std::string y = detail::recurrent_node_of(l, directions);
  ::onnx::NodeProto& parts = w.node("Split", {y});
  writer::set(parts, "axis", std::int64_t{1});
  std::array<value, 2> both;
  const names of_parts{text(parts.name(), "_forward"), text(parts.name(), "_backward")};
  for (const std::string& name : of_parts) {
    parts.add_output(name);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    both[i] = l.result(w.call("Squeeze", {of_parts[i], w.whole({1})}), {1, 0, 2});
  }
  return both;
}

}  // namespace glia::onnx

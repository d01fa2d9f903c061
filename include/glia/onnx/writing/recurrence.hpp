#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/recurrence.hpp"
#include "glia/onnx/writing/writer.hpp"

namespace glia::onnx {

/// What a recurrent layer makes of its input: steps (N, T, I), their weights (I, G U) in as many
/// numbers, and a bias (G U) or none.
struct projection {
  value steps;
  value weights;
  value bias;
};

namespace detail {

/// Weights (rows, G U) as ONNX has them, (1, G U, rows), the parts of U columns in this order.
[[nodiscard]] inline std::vector<float> gates(const std::vector<float>& all, std::size_t units,
                                              const std::vector<std::size_t>& order) {
  const std::size_t columns = order.size() * units;
  const std::size_t rows = all.size() / columns;
  std::vector<float> result;
  result.reserve(all.size());
  for (const std::size_t part : order) {
    for (std::size_t column = part * units; column < (part + 1) * units; ++column) {
      for (std::size_t row = 0; row < rows; ++row) {
        result.push_back(all[row * columns + column]);
      }
    }
  }
  return result;
}

}  // namespace detail

/// A recurrent layer as a whole. l.x are the operands of the kernel, of which the first is
/// projected in here.
[[nodiscard]] inline values lower_recurrence(const lowering& l, const kernels::recurrence& k,
                                             const projection& of) {
  constexpr std::array<std::string_view, 3> operations{"RNN", "GRU", "LSTM"};
  const auto cell = static_cast<std::size_t>(k.cell);
  const std::string_view operation = operations[cell];
  require<value_error>(of.weights.known != nullptr && l.x[1].known != nullptr &&
                           (!of.bias || of.bias.known != nullptr) &&
                           (!l.x[2] || l.x[2].known != nullptr),
                       "onnx: the weights of the layer '", l.place,
                       "' depend on the input, which has no counterpart in the file format");
  // Of an LSTM, glia has the parts in the order i, f, g, o, ONNX in the order i, o, f, g.
  const std::vector<std::size_t> order =
      k.cell == recurrent_cell::simple ? std::vector<std::size_t>{0}
      : k.cell == recurrent_cell::gru  ? std::vector<std::size_t>{0, 1, 2}
                                       : std::vector<std::size_t>{0, 3, 1, 2};
  writer& w = l.out;
  const constant& recurrent = *l.x[1].known;
  const std::size_t units = recurrent.shape[0];
  const std::size_t columns = order.size() * units;
  const auto weights = [&](const constant& c) {
    return w.numbers(c.name, {1, columns, c.numbers.size() / columns},
                     detail::gates(c.numbers, units, order));
  };
  names operands{w.use(w.arranged(of.steps, {1, 0, 2})), weights(*of.weights.known),
                 weights(recurrent)};
  if (of.bias || l.x[2]) {
    std::vector<float> both;
    for (const value& one : {of.bias, l.x[2]}) {
      const std::vector<float> numbers =
          one ? detail::gates(one.known->numbers, units, order) : std::vector<float>(columns, 0.0F);
      both.insert(both.end(), numbers.begin(), numbers.end());
    }
    const std::string& name = of.bias ? of.bias.known->name : l.x[2].known->name;
    operands.push_back(w.numbers(name, {1, both.size()}, both));
  }
  const std::string y = w.call(operation, operands, [&](::onnx::NodeProto& made) {
    writer::set(made, "hidden_size", static_cast<std::int64_t>(units));
    writer::set(made, "direction", k.backwards ? "reverse" : "forward");
    if (k.cell == recurrent_cell::gru) {
      writer::set(made, "linear_before_reset", std::int64_t{1});
    }
  });
  const std::string states = w.call("Squeeze", {y, w.whole({1})});
  return {l.result(states, {1, 0, 2}), value{}};
}

}  // namespace glia::onnx

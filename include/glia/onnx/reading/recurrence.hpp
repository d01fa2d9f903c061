#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/convolution.hpp"
#include "glia/kernels/recurrence.hpp"
#include "glia/onnx/reading/operation.hpp"
#include "glia/onnx/reading/parts.hpp"
#include "glia/onnx/reading/recurrent_activations.hpp"
#include "glia/onnx/reading/recurrent_steps.hpp"

// Recurrent layers. A recurrent node becomes one call of the kernel `recurrence`, if this kernel
// supports the node and the device has the kernel. Otherwise each step becomes separate nodes.
namespace glia::onnx::reading {

namespace detail {

/// Returns the part of an operand (directions, ...) that belongs to one direction.
[[nodiscard]] inline tensor direction_part(operation& n, std::size_t i, std::size_t direction,
                                           std::size_t directions) {
  const tensor& operand = n.operand(i);
  return directions == 1 ? operand : part(n.out, in_graph(n.out, operand), 0, direction, 1);
}

/// Brings the G gates of a tensor, with U columns each along an axis, into glia's order.
[[nodiscard]] inline value_id reordered_gates(graph_builder& out, value_id x, std::size_t axis,
                                              const recurrent_node& r) {
  if (r.cell != recurrent_cell::lstm) {
    return x;
  }
  std::vector<value_id> parts;
  for (const std::size_t part : {0U, 2U, 3U, 1U}) {
    parts.push_back(out.slice(x, axis, part * r.units, r.units));
  }
  return out.concat(std::move(parts), axis);
}
/// Converts weights (1, G U, rows) to glia's layout, (rows, G U).
[[nodiscard]] inline value_id gates(graph_builder& out, const tensor& w, const recurrent_node& r) {
  const value_id plain =
      out.arranged(w, graph_builder::places_in(w, {2, 0, 1}), {w.extents[2], r.parts() * r.units});
  return reordered_gates(out, plain, 1, r);
}
/// Returns half of a bias (1, 2 G U): the bias of the inputs or the bias of the states.
[[nodiscard]] inline value_id bias_of(graph_builder& out, const tensor& b, const recurrent_node& r,
                                      bool is_state_bias) {
  const std::size_t columns = r.parts() * r.units;
  const value_id biases = out.reshape(out.plain(b), {2 * columns});
  return reordered_gates(out, out.slice(biases, 0, is_state_bias ? columns : 0, columns), 0, r);
}

/// Returns the mask (N, T) of the steps, from the length of each sample's sequence (N).
[[nodiscard]] inline value_id step_mask(operation& n, const recurrent_node& r,
                                        const tensor& lengths) {
  std::vector<double> indices;
  for (std::size_t t = 0; t < r.steps; ++t) {
    indices.push_back(static_cast<double>(t));
  }
  const value_id column = n.out.reshape(n.out.plain(lengths), {r.samples, 1});
  return n.out.binary(binary_function::greater, column,
                      n.out.constant({1, r.steps}, std::move(indices)));
}

/// Returns whether the initial states are zeros, which exporters often write explicitly.
[[nodiscard]] inline bool begins_with_zeros(const operation& n, std::size_t i) {
  if (!n.has(i)) {
    return true;
  }
  if (n.x[i].known == nullptr) {
    return false;
  }
  const numbers& states = *n.x[i].known;
  for (std::size_t k = 0; k < states.size(); ++k) {
    if (states.at(k) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace detail

template <recurrent_cell Cell>
void recurrence(operation& n) {
  const bool lstm = Cell == recurrent_cell::lstm;
  const tensor& x = n.operand(0);
  const tensor& weights = n.operand(1);
  detail::recurrent_node r{Cell};
  r.samples_first = n.integer("layout", 0) != 0;
  require<data_error>(x.rank() == 3 && weights.rank() == 3 && n.operand(2).rank() == 3,
                      "expected sequences and weights with three axes, got ", words(x.extents),
                      " and ", words(weights.extents));
  r.steps = x.extents[r.samples_first ? 1 : 0];
  r.samples = x.extents[r.samples_first ? 0 : 1];
  const std::string direction = n.word("direction", "forward");
  const std::size_t directions = direction == "bidirectional" ? 2 : 1;
  const std::size_t inputs = x.extents[2];
  r.units = n.x[2].extents[2];
  require<data_error>(
      r.steps > 0 && r.samples > 0 && r.units > 0 &&
          weights.extents == dims{directions, r.parts() * r.units, inputs} &&
          n.x[2].extents == dims{directions, r.parts() * r.units, r.units} &&
          (!n.has(3) || n.x[3].extents == dims{directions, 2 * r.parts() * r.units}),
      "has weights of shapes ", words(weights.extents), " and ", words(n.x[2].extents), " for ",
      words(x.extents));
  require<data_error>(direction == "forward" || direction == "reverse" || directions == 2,
                      "has the unsupported direction '", direction, "'");
  r.clip = n.real("clip", 0);
  r.couples = n.integer("input_forget", 0) != 0;
  r.reset_after = Cell != recurrent_cell::gru || n.integer("linear_before_reset", 0) != 0;
  const std::vector<std::string> usual_names =
      lstm                          ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
      : Cell == recurrent_cell::gru ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                    : std::vector<std::string>{"Tanh"};
  const auto usual = detail::activations_of(usual_names, {}, {});
  std::vector<std::string> names = n.texts("activations");
  for (std::size_t d = 0; n.texts("activations").empty() && d < directions; ++d) {
    names.insert(names.end(), usual_names.begin(), usual_names.end());
  }
  require<data_error>(names.size() == usual.size() * directions, "has ", names.size(),
                      " activations; expected ", usual.size() * directions);
  const auto activations =
      detail::activations_of(names, n.reals("activation_alpha"), n.reals("activation_beta"));
  if (n.has(4)) {
    require<data_error>(n.x[4].extents == dims{r.samples}, "has lengths of the wrong shape ",
                        words(n.x[4].extents));
    r.counts = detail::step_mask(n, r, n.x[4]);
  }
  const value_id steps =
      n.out.stored_as(x, r.samples_first ? axis_order{0, 1, 2} : axis_order{1, 0, 2});
  const auto state_before = [&](std::size_t i, std::size_t d) {
    if (detail::begins_with_zeros(n, i)) {
      return n.out.full({r.samples, r.units}, 0);
    }
    const std::size_t axis = r.samples_first ? 1 : 0;
    require<data_error>(n.x[i].rank() == 3 && n.x[i].extents[axis] == directions &&
                            n.x[i].extents[1 - axis] == r.samples && n.x[i].extents[2] == r.units,
                        "has initial states of the wrong shape ", words(n.x[i].extents));
    const tensor state = part(n.out, in_graph(n.out, n.x[i]), axis, d, 1);
    return n.out.reshape(n.out.plain(state), {r.samples, r.units});
  };
  std::vector<detail::recurrent_results> results;
  for (std::size_t d = 0; d < directions; ++d) {
    const bool backwards = direction == "reverse" || d == 1;
    detail::recurrent_weights w;
    const auto begin = activations.begin() + static_cast<std::ptrdiff_t>(d * usual.size());
    w.f.assign(begin, begin + static_cast<std::ptrdiff_t>(usual.size()));
    const value_id kernel = detail::gates(n.out, detail::direction_part(n, 1, d, directions), r);
    w.recurrent = detail::gates(n.out, detail::direction_part(n, 2, d, directions), r);
    value_id input_bias = no_value;
    if (n.has(3)) {
      const tensor biases = detail::direction_part(n, 3, d, directions);
      input_bias = detail::bias_of(n.out, biases, r, false);
      w.bias = detail::bias_of(n.out, biases, r, true);
      if (Cell != recurrent_cell::gru) {  // the same sum adds both biases
        input_bias = n.out.add(input_bias, std::exchange(w.bias, no_value));
      }
    }
    if (lstm && n.has(7)) {
      const tensor p = detail::direction_part(n, 7, d, directions);
      require<data_error>(p.size() == 3 * r.units, "has peepholes of the wrong shape ",
                          words(p.extents));
      w.peepholes = n.out.reshape(n.out.plain(p), {3 * r.units});
    }
    // As in glia's layers, the product is a convolution of 1 x 1 over the steps.
    const std::size_t columns = r.parts() * r.units;
    w.projected = n.out.reshape(
        n.out.call(kernels::conv2d{}, {n.out.reshape(steps, {r.samples, 1, r.steps, inputs}),
                                       n.out.reshape(kernel, {1, 1, inputs, columns}), input_bias}),
        {r.samples, r.steps, columns});
    const bool single_call = n.out.whole_recurrences && w.f == usual && r.clip == 0 && !r.couples &&
                             r.reset_after && detail::begins_with_zeros(n, 5) &&
                             (!lstm || detail::begins_with_zeros(n, 6)) &&
                             w.peepholes == no_value && !(lstm && n.wants(2));
    if (single_call) {
      results.push_back(detail::run_at_once(n.out, r, w, backwards, n.training));
    } else {
      detail::recurrent_state state{state_before(5, d)};
      if (lstm) {
        state.c = state_before(6, d);
      }
      results.push_back(detail::run_steps(n.out, r, w, state, backwards));
    }
  }
  // Shapes: Y (T, D, N, U) or (N, T, D, U); Y_h and Y_c (D, N, U) or (N, D, U).
  const auto join_directions = [&](value_id detail::recurrent_results::*member,
                                   const shape& part_shape, std::size_t axis) {
    std::vector<value_id> parts;
    parts.reserve(results.size());
    for (const auto& result : results) {
      parts.push_back(n.out.reshape(result.*member, part_shape));
    }
    return n.out.concat(std::move(parts), axis);
  };
  if (n.wants(0)) {
    const value_id states =
        join_directions(&detail::recurrent_results::states, {r.samples, r.steps, 1, r.units}, 2);
    n.give(
        n.out.computed(states, r.samples_first ? axis_order{0, 1, 2, 3} : axis_order{2, 0, 1, 3}));
  }
  const axis_order ends = r.samples_first ? axis_order{0, 1, 2} : axis_order{1, 0, 2};
  if (n.wants(1)) {
    n.give(n.out.computed(
               join_directions(&detail::recurrent_results::last, {r.samples, 1, r.units}, 1), ends),
           1);
  }
  if (lstm && n.wants(2)) {
    n.give(
        n.out.computed(
            join_directions(&detail::recurrent_results::memory, {r.samples, 1, r.units}, 1), ends),
        2);
  }
}

}  // namespace glia::onnx::reading

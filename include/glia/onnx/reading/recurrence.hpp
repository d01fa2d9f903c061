#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/convolution.hpp"
#include "glia/kernels/recurrence.hpp"
#include "glia/onnx/reading/functions.hpp"
#include "glia/onnx/reading/parts.hpp"

// Recurrent layers. A recurrent node becomes one call of the kernel `recurrence`, if this kernel
// supports the node and the device has the kernel. Otherwise each step becomes separate nodes.
namespace glia::onnx::reading {

namespace detail {

/// The properties of a recurrent node that both directions share. The gates of an LSTM have the
/// order i, f, g, o in glia and i, o, f, g in the file.
struct recurrent_node {
  recurrent_cell cell;
  std::size_t steps = 0;
  std::size_t samples = 0;
  std::size_t units = 0;
  bool samples_first = false;  ///< Whether the layout is (N, T, I) instead of (T, N, I).
  double clip = 0;             ///< Largest absolute value before activations; 0: no limit.
  bool reset_after = true;
  bool couples = false;        ///< Whether an LSTM couples its input and forget gates.
  value_id counts = no_value;  ///< Mask of the steps (N, T), if some sequences are shorter.

  [[nodiscard]] std::size_t parts() const { return kernels::products_of(cell); }
};

/// Returns the part of an operand (directions, ...) that belongs to one direction.
[[nodiscard]] inline tensor of_direction(operation& n, std::size_t i, std::size_t direction,
                                         std::size_t directions) {
  const tensor& operand = n.operand(i);
  return directions == 1 ? operand : part(n.out, in_graph(n.out, operand), 0, direction, 1);
}

/// Brings the G gates of a tensor, with U columns each along an axis, into glia's order.
[[nodiscard]] inline value_id in_own_order(graph_builder& out, value_id x, std::size_t axis,
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
  return in_own_order(out, plain, 1, r);
}
/// Returns half of a bias (1, 2 G U): the bias of the inputs or the bias of the states.
[[nodiscard]] inline value_id bias_of(graph_builder& out, const tensor& b, const recurrent_node& r,
                                      bool of_states) {
  const std::size_t columns = r.parts() * r.units;
  const value_id both = out.reshape(out.plain(b), {2 * columns});
  return in_own_order(out, out.slice(both, 0, of_states ? columns : 0, columns), 0, r);
}

/// An activation that the ONNX standard defines, and its parameters.
struct recurrent_activation {
  std::string name;  ///< Name in lower case.
  double alpha = 0;
  double beta = 0;

  friend bool operator==(const recurrent_activation&, const recurrent_activation&) = default;
};

/// Returns the activations with these names. `alphas` and `betas` contain only the parameters of
/// activations that need one, in order.
[[nodiscard]] inline std::vector<recurrent_activation> activations_of(
    const std::vector<std::string>& names, const std::vector<double>& alphas,
    const std::vector<double>& betas) {
  // Default parameters. -1 means that the node must give the parameter.
  struct known {
    std::string_view name;
    std::optional<double> alpha{};
    std::optional<double> beta{};
  };
  const known known_activations[] = {{"sigmoid"},
                                     {"tanh"},
                                     {"relu"},
                                     {"softplus"},
                                     {"softsign"},
                                     {"affine", -1, -1},
                                     {"scaledtanh", -1, -1},
                                     {"elu", 1},
                                     {"leakyrelu", 0.01},
                                     {"thresholdedrelu", 1},
                                     {"hardsigmoid", 0.2, 0.5}};
  const auto next = [](const std::vector<double>& parameters, std::size_t& position,
                       double otherwise, const std::string& name) {
    require<data_error>(position < parameters.size() || otherwise >= 0, "has the activation '",
                        name, "' without its alpha and beta");
    return position < parameters.size() ? parameters[position++] : otherwise;
  };
  std::vector<recurrent_activation> result;
  std::size_t alpha = 0;
  std::size_t beta = 0;
  for (const std::string& name : names) {
    recurrent_activation activation{name};
    std::transform(name.begin(), name.end(), activation.name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto* const found =
        std::find_if(std::begin(known_activations), std::end(known_activations),
                     [&](const known& k) { return k.name == activation.name; });
    require<data_error>(found != std::end(known_activations), "has the activation '", name,
                        "', which glia does not support");
    if (found->alpha) {
      activation.alpha = next(alphas, alpha, *found->alpha, name);
    }
    if (found->beta) {
      activation.beta = next(betas, beta, *found->beta, name);
    }
    result.push_back(std::move(activation));
  }
  return result;
}

[[nodiscard]] inline value_id activated(graph_builder& out, const recurrent_activation& f,
                                        value_id x, double clip) {
  const value_id clipped =
      clip > 0 ? out.apply(unary_map{unary_function::clamp, -clip, clip}, x) : x;
  const auto select_above = [&](double limit, value_id other) {
    const value_id mask = out.binary(binary_function::greater, clipped, out.constant({}, {limit}));
    return out.call(kernels::select{}, {mask, clipped, other});
  };
  if (f.name == "sigmoid") {
    return out.apply(unary_function::sigmoid, clipped);
  }
  if (f.name == "tanh") {
    return out.apply(unary_function::tanh, clipped);
  }
  if (f.name == "relu") {
    return out.apply(unary_function::relu, clipped);
  }
  if (f.name == "softplus") {
    return out.apply(unary_function::softplus, clipped);
  }
  if (f.name == "softsign") {
    return out.binary(binary_function::divide, clipped,
                      out.affine(out.apply(unary_function::abs, clipped), 1, 1));
  }
  if (f.name == "affine") {
    return out.affine(clipped, f.alpha, f.beta);
  }
  if (f.name == "scaledtanh") {
    return out.affine(out.apply(unary_function::tanh, out.affine(clipped, f.beta, 0)), f.alpha, 0);
  }
  if (f.name == "elu") {
    return select_above(0, scaled_elu(out, clipped, f.alpha));
  }
  if (f.name == "leakyrelu") {
    return select_above(0, out.affine(clipped, f.alpha, 0));
  }
  if (f.name == "thresholdedrelu") {
    return select_above(f.alpha, out.constant({}, {0}));
  }
  return out.apply(unary_map{unary_function::clamp, 0, 1}, out.affine(clipped, f.alpha, f.beta));
}

/// The results of one direction: all states (N, T, U), the last state (N, U), and the last memory
/// of an LSTM (N, U).
struct recurrent_results {
  value_id states = no_value;
  value_id last = no_value;
  value_id memory = no_value;
};

/// The state between steps: h and c of an LSTM, h of other cells.
struct recurrent_state {
  value_id h = no_value;
  value_id c = no_value;
};

/// The weights and inputs of one direction of a node.
struct recurrent_weights {
  value_id projected = no_value;        ///< Input products (N, T, G U).
  value_id recurrent = no_value;        ///< Recurrent kernel (U, G U).
  value_id bias = no_value;             ///< Bias of the states (G U).
  value_id peepholes = no_value;        ///< Peepholes (3 U) of an LSTM, in the order i, o, f.
  std::vector<recurrent_activation> f;  ///< Activations, in the order of the node.
};

[[nodiscard]] inline recurrent_state next_state(graph_builder& out, const recurrent_node& r,
                                                const recurrent_weights& w, value_id step,
                                                const recurrent_state& s) {
  const std::size_t u = r.units;
  const auto product = [&](value_id h, std::size_t begin, std::size_t extent, bool bias) {
    return out.call(kernels::dense{},
                    {h, out.slice(w.recurrent, 1, begin, extent),
                     bias && w.bias != no_value ? out.slice(w.bias, 0, begin, extent) : no_value});
  };
  const auto act = [&](std::size_t i, value_id x) { return activated(out, w.f[i], x, r.clip); };
  if (r.cell == recurrent_cell::simple) {
    return {act(0, out.add(step, product(s.h, 0, u, true)))};
  }
  if (r.cell == recurrent_cell::gru) {
    const value_id of_h = product(s.h, 0, 2 * u, true);
    const value_id zr = act(0, out.add(out.slice(step, 1, 0, 2 * u), of_h));
    const value_id z = out.slice(zr, 1, 0, u);
    const value_id reset = out.slice(zr, 1, u, u);
    const value_id x = out.slice(step, 1, 2 * u, u);
    value_id state_term = no_value;
    if (r.reset_after) {
      state_term = out.multiply(reset, product(s.h, 2 * u, u, true));
    } else {
      state_term = product(out.multiply(reset, s.h), 2 * u, u, true);
    }
    const value_id c = act(1, out.add(x, state_term));
    return {out.add(c, out.multiply(z, out.subtract(s.h, c)))};
  }
  const value_id sums = out.add(step, product(s.h, 0, 4 * u, true));
  const auto gate = [&](std::size_t part, std::size_t peephole, value_id memory) {
    const value_id x = out.slice(sums, 1, part * u, u);
    return w.peepholes == no_value
               ? x
               : out.add(x, out.multiply(memory, out.slice(w.peepholes, 0, peephole * u, u)));
  };
  const value_id i = act(0, gate(0, 0, s.c));
  const value_id f = r.couples ? out.affine(i, -1, 1) : act(0, gate(1, 2, s.c));
  const value_id g = act(1, out.slice(sums, 1, 2 * u, u));
  const value_id c = out.add(out.multiply(f, s.c), out.multiply(i, g));
  const value_id o = act(0, gate(3, 1, c));
  return {out.multiply(o, act(2, c)), c};
}

/// Computes all steps one after the other.
[[nodiscard]] inline recurrent_results run_steps(graph_builder& out, const recurrent_node& r,
                                                 const recurrent_weights& w, recurrent_state state,
                                                 bool backwards) {
  constexpr std::size_t max_steps = 4096;
  require<data_error>(r.steps <= max_steps, "has ", r.steps,
                      " steps; for this kind of recurrence, glia supports at most ", max_steps);
  std::vector<value_id> outputs(r.steps);
  const value_id zeros = r.counts == no_value ? no_value : out.full({}, 0);
  for (std::size_t i = 0; i < r.steps; ++i) {
    const std::size_t t = backwards ? r.steps - 1 - i : i;
    const value_id step =
        out.reshape(out.slice(w.projected, 1, t, 1), {r.samples, r.parts() * r.units});
    recurrent_state next = next_state(out, r, w, step, state);
    value_id output = next.h;
    if (r.counts != no_value) {
      const value_id counts = out.slice(r.counts, 1, t, 1);
      const auto chosen = [&](value_id a, value_id b) {
        return out.call(kernels::select{}, {counts, a, b});
      };
      output = chosen(next.h, zeros);
      next.h = chosen(next.h, state.h);
      if (next.c != no_value) {
        next.c = chosen(next.c, state.c);
      }
    }
    state = next;
    outputs[t] = out.reshape(output, {r.samples, 1, r.units});
  }
  return {out.concat(std::move(outputs), 1), state.h, state.c};
}

/// Computes all steps by one call of the kernel `recurrence`, starting from states of zeros.
[[nodiscard]] inline recurrent_results run_at_once(graph_builder& out, const recurrent_node& r,
                                                   const recurrent_weights& w, bool backwards,
                                                   bool training) {
  value_id states = out.call(kernels::recurrence{r.cell, backwards, training},
                             {w.projected, w.recurrent, w.bias, no_value, r.counts});
  const std::size_t last = backwards ? 0 : r.steps - 1;
  const value_id end = out.reshape(out.slice(states, 1, last, 1), {r.samples, r.units});
  if (r.counts != no_value) {
    states = out.multiply(states, out.reshape(r.counts, {r.samples, r.steps, 1}));
  }
  return {states, end, no_value};
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
    const value_id kernel = detail::gates(n.out, detail::of_direction(n, 1, d, directions), r);
    w.recurrent = detail::gates(n.out, detail::of_direction(n, 2, d, directions), r);
    value_id of_inputs = no_value;
    if (n.has(3)) {
      const tensor both = detail::of_direction(n, 3, d, directions);
      of_inputs = detail::bias_of(n.out, both, r, false);
      w.bias = detail::bias_of(n.out, both, r, true);
      if (Cell != recurrent_cell::gru) {  // both biases are added to the same sum
        of_inputs = n.out.add(of_inputs, std::exchange(w.bias, no_value));
      }
    }
    if (lstm && n.has(7)) {
      const tensor p = detail::of_direction(n, 7, d, directions);
      require<data_error>(p.size() == 3 * r.units, "has peepholes of the wrong shape ",
                          words(p.extents));
      w.peepholes = n.out.reshape(n.out.plain(p), {3 * r.units});
    }
    // As in glia's layers, the product is a convolution of 1 x 1 over the steps.
    const std::size_t columns = r.parts() * r.units;
    w.projected = n.out.reshape(
        n.out.call(kernels::conv2d{}, {n.out.reshape(steps, {r.samples, 1, r.steps, inputs}),
                                       n.out.reshape(kernel, {1, 1, inputs, columns}), of_inputs}),
        {r.samples, r.steps, columns});
    const bool at_once = n.out.whole_recurrences && w.f == usual && r.clip == 0 && !r.couples &&
                         r.reset_after && detail::begins_with_zeros(n, 5) &&
                         (!lstm || detail::begins_with_zeros(n, 6)) && w.peepholes == no_value &&
                         !(lstm && n.wants(2));
    if (at_once) {
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
  const auto both = [&](value_id detail::recurrent_results::*member, const shape& part_shape,
                        std::size_t axis) {
    std::vector<value_id> parts;
    parts.reserve(results.size());
    for (const auto& result : results) {
      parts.push_back(n.out.reshape(result.*member, part_shape));
    }
    return n.out.concat(std::move(parts), axis);
  };
  if (n.wants(0)) {
    const value_id states =
        both(&detail::recurrent_results::states, {r.samples, r.steps, 1, r.units}, 2);
    n.give(
        n.out.computed(states, r.samples_first ? axis_order{0, 1, 2, 3} : axis_order{2, 0, 1, 3}));
  }
  const axis_order ends = r.samples_first ? axis_order{0, 1, 2} : axis_order{1, 0, 2};
  if (n.wants(1)) {
    n.give(n.out.computed(both(&detail::recurrent_results::last, {r.samples, 1, r.units}, 1), ends),
           1);
  }
  if (lstm && n.wants(2)) {
    n.give(
        n.out.computed(both(&detail::recurrent_results::memory, {r.samples, 1, r.units}, 1), ends),
        2);
  }
}

}  // namespace glia::onnx::reading

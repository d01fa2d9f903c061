#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/products.hpp"
#include "glia/kernels/recurrence.hpp"
#include "glia/onnx/reading/builder.hpp"
#include "glia/onnx/reading/recurrent_activations.hpp"

// The steps of a recurrent node in one direction.
namespace glia::onnx::reading::detail {

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
    const value_id state_products = product(s.h, 0, 2 * u, true);
    const value_id zr = act(0, out.add(out.slice(step, 1, 0, 2 * u), state_products));
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
                             {w.projected, w.recurrent, w.bias, no_value, r.counts, no_value});
  const std::size_t last = backwards ? 0 : r.steps - 1;
  const value_id end = out.reshape(out.slice(states, 1, last, 1), {r.samples, r.units});
  if (r.counts != no_value) {
    states = out.multiply(states, out.reshape(r.counts, {r.samples, r.steps, 1}));
  }
  return {states, end, no_value};
}

}  // namespace glia::onnx::reading::detail

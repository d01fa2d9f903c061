#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/kernel.hpp"
#include "glia/kernels/packing.hpp"
#include "glia/kernels/products.hpp"

namespace glia {

/// The recurrent layers whose steps one kernel can run; see layers/ for their formulas.
enum class recurrent_cell : std::uint8_t { simple, gru, lstm };

namespace kernels {

/// Returns G: the product of a cell's state and its weights has G columns for each unit.
[[nodiscard]] constexpr std::size_t products_of(recurrent_cell cell) noexcept {
  return cell == recurrent_cell::lstm ? 4 : cell == recurrent_cell::gru ? 3 : 1;
}
/// Returns K: the number of values for each unit and step that the gradient needs in addition to
/// the state. For a GRU: z, r, c and the state's contribution to c. For an LSTM: i, f, g, o and c.
[[nodiscard]] constexpr std::size_t saved_count(recurrent_cell cell) noexcept {
  return cell == recurrent_cell::lstm ? 5 : cell == recurrent_cell::gru ? 4 : 0;
}

/// Returns M: the number of values for each unit that a step takes over from the one before: the
/// state h and, for an LSTM, c.
[[nodiscard]] constexpr std::size_t memory_count(recurrent_cell cell) noexcept {
  return cell == recurrent_cell::lstm ? 2 : 1;
}

/// Runs all steps of a recurrent layer of U units. Each step multiplies the previous state by w (U,
/// G U), adds the bias (G U), if any, and then the step's row of x (N, T, G U). The activations are
/// tanh and the logistic function. A GRU applies its reset gate to the product with the bias.
///
/// `scale` (N, U), if any, is multiplied by each state before the product with w. A step with
/// `counts` (N, T) = 0 does not change the state. w can be packed by `pack_panels`, without the
/// bias. Optional for a backend.
///
/// The memory before the first step is `start` (N, M U), h before c, or 0. With `start`, the third
/// result is the memory after the last step, and the kernel has no gradients.
struct recurrence {
  recurrent_cell cell = recurrent_cell::simple;
  bool backwards = false;  ///< whether to begin with the last step
  bool keeps = true;       ///< whether to keep the values that the gradient needs
  bool packed = false;     ///< whether the weights are packed

  static constexpr std::string_view name = "recurrence";
  static constexpr std::size_t operands = 6;  // x, w, bias, scale, counts, start
  static constexpr std::size_t results = 3;   // states (N, T, U), saved (N, T, K U), end (N, M U)

  [[nodiscard]] std::array<tensor_spec, 3> result(const tensor_spec& x, const tensor_spec& w,
                                                  const tensor_spec& bias, const tensor_spec& scale,
                                                  const tensor_spec& counts,
                                                  const tensor_spec& start) const {
    require_elements("recurrence", x, element::real);
    const std::size_t units = x.shape.rank() == 3 ? x.shape[2] / products_of(cell) : std::size_t{0};
    const shape weights{units, products_of(cell) * units};
    require<shape_error>(
        x.shape.rank() == 3 && x.shape[1] > 0 && x.shape[2] == weights[1] &&
            w.shape == (packed ? pack_panels::result(real_of(weights), {}).shape : weights),
        "recurrence: expected steps (N, T, ", products_of(cell), " U) and weights (U, ",
        products_of(cell), " U), got ", x.shape, " and ", w.shape);
    const auto require_shape = [](std::string_view subject, const tensor_spec& actual,
                                  const shape& s) {
      require<shape_error>(!actual || actual == real_of(s), "recurrence: ", subject,
                           ": expected shape ", s, ", got ", actual.shape);
    };
    require_shape("bias", bias, {weights[1]});
    require_shape("scale", scale, {x.shape[0], units});
    require_shape("counts", counts, {x.shape[0], x.shape[1]});
    require_shape("start", start, {x.shape[0], memory_count(cell) * units});
    const std::size_t saved = keeps ? saved_count(cell) : 0;
    return {real_of({x.shape[0], x.shape[1], units}),
            saved > 0 ? real_of({x.shape[0], x.shape[1], saved * units}) : tensor_spec{}, start};
  }
  [[nodiscard]] double flops(const tensor_spec& x, const tensor_spec&, const tensor_spec&,
                             const tensor_spec&, const tensor_spec&, const tensor_spec&) const {
    constexpr double for_activations = 12;
    const double units = static_cast<double>(x.shape[2]) / static_cast<double>(products_of(cell));
    return detail::count(x.shape) * (2 * units + for_activations);
  }
  [[nodiscard]] static batch_axes<6, 3> axes(const tensor_spec&, const tensor_spec&,
                                             const tensor_spec&, const tensor_spec& scale,
                                             const tensor_spec& counts, const tensor_spec& start) {
    constexpr auto rows = batch_axis::rows;
    constexpr auto shared = batch_axis::shared;
    return {{rows, shared, shared, scale ? rows : shared, counts ? rows : shared,
             start ? rows : shared},
            {rows, rows, rows}};
  }
  friend bool operator==(const recurrence&, const recurrence&) = default;
};

/// Computes the gradient of `recurrence` with respect to x. For a GRU, also computes the gradient
/// with respect to the products of the states with w, because the two gradients differ. The
/// gradients of w and the bias are products and sums of these gradients.
struct recurrence_gradient {
  recurrent_cell cell = recurrent_cell::simple;
  bool backwards = false;

  static constexpr std::string_view name = "recurrence_gradient";
  static constexpr std::size_t operands = 6;  // dstates, states, saved, w, scale, counts
  static constexpr std::size_t results = 2;   // dx (N, T, G U), dproducts (N, T, G U)

  [[nodiscard]] std::array<tensor_spec, 2> result(const tensor_spec& dstates,
                                                  const tensor_spec& states,
                                                  const tensor_spec& saved, const tensor_spec& w,
                                                  const tensor_spec& scale,
                                                  const tensor_spec& counts) const {
    require_same_shape("recurrence_gradient", states.shape, dstates.shape);
    const tensor_spec dx = real_of({states.shape[0], states.shape[1], w.shape[1]});
    const auto forward = recurrence{cell, backwards}.result(dx, w, {}, scale, counts, {});
    require_same_shape("recurrence_gradient: states", forward[0].shape, states.shape);
    require_same_shape("recurrence_gradient: saved", forward[1].shape, saved.shape);
    return {dx, cell == recurrent_cell::gru ? dx : tensor_spec{}};
  }
  [[nodiscard]] static double flops(const tensor_spec&, const tensor_spec& states,
                                    const tensor_spec&, const tensor_spec& w, const tensor_spec&,
                                    const tensor_spec&) {
    constexpr double for_each = 12;  // operations for each element of dx
    return detail::count(states.shape) / static_cast<double>(w.shape[0]) *
           static_cast<double>(w.shape[1]) * (2 * static_cast<double>(w.shape[0]) + for_each);
  }
  [[nodiscard]] static batch_axes<6, 2> axes(const tensor_spec&, const tensor_spec&,
                                             const tensor_spec& saved, const tensor_spec&,
                                             const tensor_spec& scale, const tensor_spec& counts) {
    constexpr auto rows = batch_axis::rows;
    constexpr auto shared = batch_axis::shared;
    return {
        {rows, rows, saved ? rows : shared, shared, scale ? rows : shared, counts ? rows : shared},
        {rows, rows}};
  }
  friend bool operator==(const recurrence_gradient&, const recurrence_gradient&) = default;
};

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const recurrence& k) {
  return {.operands = k.keeps ? 0b111010U : 0b111111U, .results = 0b11};
}

namespace derivatives {

/// Returns the states (N T, U) before each step, multiplied by `scale` unless it is empty.
template <class Call>
[[nodiscard]] auto states_before(Call& call, bool backwards) {
  const auto& states = call.result(0);
  const auto& scale = call.operand(3);
  const std::size_t samples = states.shape()[0];
  const std::size_t steps = states.shape()[1];
  const std::size_t units = states.shape()[2];
  if (steps == 1) {
    return call.run(full{{samples, units}, 0});
  }
  const std::size_t first = backwards ? 1 : 0;
  auto previous = call.run(pad{.axis = 1, .before = 1 - first, .after = first},
                           call.run(slice{.axis = 1, .begin = first, .extent = steps - 1}, states));
  if (scale) {
    previous = call.run(binary{binary_function::multiply}, std::move(previous),
                        call.run(reshape{{samples, 1, units}}, scale));
  }
  return call.run(reshape{{samples * steps, units}}, std::move(previous));
}

}  // namespace derivatives

/// The gradients of the weights and the bias are those of one product for all steps: dw is the sum
/// of h^T da over the steps, where h are the states before each step.
template <class Call>
void add_gradients(const recurrence& k, Call& call) {
  require<value_error>(!call.operand(5), "recurrence: a call with a start has no gradients");
  auto saved = call.result(1);
  if (!k.keeps && saved_count(k.cell) > 0) {  // recorded without a gradient in view
    const recurrence keeping{k.cell, k.backwards};
    saved = call.run(keeping, call.operand(0), call.operand(1), call.operand(2), call.operand(3),
                     call.operand(4), call.omitted_operand())[1];
  }
  auto [dx, dproducts] =
      call.run(recurrence_gradient{k.cell, k.backwards}, call.dy(), call.result(0), saved,
               call.operand(1), call.operand(3), call.operand(4));
  const auto& da = dproducts ? dproducts : dx;
  const auto rows = call.run(reshape{{da.shape()[0] * da.shape()[1], da.shape()[2]}}, da);
  if (call.wants(1)) {
    call.add(
        1, call.run(matmul{transpose::first}, derivatives::states_before(call, k.backwards), rows));
  }
  if (call.wants(2)) {
    call.add(2, call.run(sum_to{{rows.shape().back()}}, rows));
  }
  if (call.wants(0)) {
    call.add(0, std::move(dx));
  }
}

}  // namespace kernels

}  // namespace glia

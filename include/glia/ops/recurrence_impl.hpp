#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/recurrence.hpp"

namespace glia::ops {

namespace detail {

GLIA_INLINE tensor states_before(const glia::device& device, const tensor& states,
                                 const tensor& scale, bool backwards) {
  const std::size_t samples = states.shape()[0];
  const std::size_t steps = states.shape()[1];
  const std::size_t units = states.shape()[2];
  if (steps == 1) {
    return device.run(kernels::full{{samples, units}, 0});
  }
  const std::size_t first = backwards ? 1 : 0;
  tensor before = device.run(
      kernels::pad{.axis = 1, .before = 1 - first, .after = first},
      device.run(kernels::slice{.axis = 1, .begin = first, .extent = steps - 1}, states));
  if (scale) {
    before = device.run(kernels::binary{binary_function::multiply}, std::move(before),
                        device.run(kernels::reshape{{samples, 1, units}}, scale));
  }
  return device.run(kernels::reshape{{samples * steps, units}}, std::move(before));
}

}  // namespace detail

GLIA_INLINE variable recurrence(recurrent_cell cell, bool backwards, variable x, const variable& w,
                                const std::optional<variable>& bias, const tensor& scale,
                                const tensor& counts) {
  tape& owner = x.owner();
  const gradient_slot to_x = x.slot();
  const gradient_slot to_bias = bias ? bias->slot() : gradient_slot{};
  const bool trained = to_x || w.needs_gradient() || to_bias;
  auto [all_states, all_kept] =
      owner.device().run(kernels::recurrence{cell, backwards, trained}, std::move(x).value(),
                         w.value(), bias ? bias->value() : tensor{}, scale, counts);
  return owner.record(
      all_states, trained,
      [cell, backwards, to_x, to_bias, w, scale, counts, states = all_states, kept = all_kept](
          auto& to, auto dy) {
        const glia::device& device = to.device();
        auto [dx, dproducts] = device.run(kernels::recurrence_gradient{cell, backwards},
                                          std::move(dy), states, kept, w.value(), scale, counts);
        const auto& da = dproducts ? dproducts : dx;
        const auto rows =
            device.run(kernels::reshape{{da.shape()[0] * da.shape()[1], da.shape()[2]}}, da);
        if (w.needs_gradient()) {
          to.add(w.slot(),
                 device.run(kernels::matmul{transpose::first},
                            detail::states_before(device, states, scale, backwards), rows));
        }
        if (to_bias) {
          to.add(to_bias, device.run(kernels::sum_to{{rows.shape().back()}}, rows));
        }
        if (to_x) {
          to.add(to_x, std::move(dx));
        }
      });
}

}  // namespace glia::ops

#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/attention.hpp"
#include "glia/ops/call.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/products.hpp"
#include "glia/ops/reductions.hpp"
#include "glia/ops/softmax.hpp"

namespace glia {

namespace detail {

GLIA_INLINE bool has_attention(const glia::device& device) {
  return has_fused<kernels::attention>(device) && has_fused<kernels::attention_gradient>(device);
}

GLIA_INLINE variable by_head(variable x, std::size_t num_heads) {
  const shape s = x.shape();
  return ops::permute(ops::reshape(std::move(x), {s[0], s[1], num_heads, s[2] / num_heads}),
                      {0, 2, 1, 3});
}

GLIA_INLINE tensor causal_mask(const glia::device& device, std::size_t steps) {
  std::vector<float> mask(steps * steps, -std::numeric_limits<float>::infinity());
  for (std::size_t row = 0; row < steps; ++row) {
    for (std::size_t column = 0; column <= row; ++column) {
      mask[row * steps + column] = 0;
    }
  }
  return device.from_host(std::span<const float>(mask), {steps, steps});
}

GLIA_INLINE variable attention_by_head(const variable& queries, const variable& keys,
                                       const variable& values,
                                       function_ref<variable(variable)> mask,
                                       function_ref<variable(variable)> change) {
  const double scale = 1 / std::sqrt(static_cast<double>(queries.shape()[3]));
  const variable weights =
      change(ops::softmax(mask(ops::batched_matmul(queries * scale, keys, transpose::second))));
  const variable attended = ops::permute(ops::batched_matmul(weights, values), {0, 2, 1, 3});
  const shape s = attended.shape();
  return ops::reshape(attended, {s[0], s[1], s[2] * s[3]});
}

}  // namespace detail

GLIA_INLINE variable ops::attention(variable queries, variable keys, variable values,
                                    const attention_options& options) {
  const bool trained = queries.needs_gradient() || keys.needs_gradient() || values.needs_gradient();
  const kernels::attention kernel{options.num_heads, options.causal, trained};
  if (glia::detail::has_attention(queries.device())) {
    return call(queries.owner(), kernel, std::move(queries), std::move(keys), std::move(values),
                tensor{});
  }
  (void)kernel.result(real_of(queries.shape()), real_of(keys.shape()), real_of(values.shape()), {});
  const std::size_t steps = queries.shape()[1];
  return glia::detail::attention_by_head(
      glia::detail::by_head(std::move(queries), options.num_heads),
      glia::detail::by_head(std::move(keys), options.num_heads),
      glia::detail::by_head(std::move(values), options.num_heads),
      [&](const variable& scores) {
        return options.causal
                   ? scores +
                         scores.owner().constant(glia::detail::causal_mask(scores.device(), steps))
                   : scores;
      },
      [](variable weights) { return weights; });
}

}  // namespace glia

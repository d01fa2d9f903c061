#pragma once

#include <cstddef>
#include <optional>

#include "glia/core/inline.hpp"
#include "glia/ops/call.hpp"
#include "glia/ops/products.hpp"

namespace glia::ops {

GLIA_INLINE variable matmul(const variable& a, const variable& b, transpose transposed_factor) {
  return call(a.owner(), kernels::matmul{transposed_factor}, a, b);
}

GLIA_INLINE variable batched_matmul(const variable& a, const variable& b,
                                    transpose transposed_factor) {
  return call(a.owner(), kernels::batched_matmul{transposed_factor}, a, b);
}

GLIA_INLINE variable dense(const variable& x, const variable& w,
                           const std::optional<variable>& bias) {
  return call(x.owner(), kernels::dense{}, x, w, bias);
}

GLIA_INLINE variable conv2d(const variable& x, const variable& w,
                            const std::optional<variable>& bias, const window2d& window,
                            std::size_t groups) {
  return call(x.owner(), kernels::conv2d{window, groups}, x, w, bias);
}

GLIA_INLINE variable conv2d_transpose(const variable& x, const variable& w, const window2d& window,
                                      const shape& images) {
  return call(x.owner(), kernels::conv2d_input_gradient{window, 1, images}, x, w);
}

}  // namespace glia::ops

#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "glia/ops/products.hpp"
#include "glia/ops/reductions.hpp"

namespace glia::detail {

/// Returns x kernel + bias, computed for all steps in one product. The shapes are (N, T, I) for x,
/// (I, O) for the kernel, (O) for the bias and (N, T, O) for the result.
[[nodiscard]] inline variable project_steps(variable x, const variable& kernel,
                                            const std::optional<variable>& bias) {
  const shape extents = x.shape();
  const std::size_t outputs = kernel.shape()[1];
  // A 1x1 convolution keeps the batch axis; a plain product would merge samples and steps into one
  // axis.
  return ops::reshape(
      ops::conv2d(ops::reshape(std::move(x), {extents[0], 1, extents[1], extents[2]}),
                  ops::reshape(kernel, {1, 1, extents[2], outputs}), bias, window2d{}),
      {extents[0], extents[1], outputs});
}

}  // namespace glia::detail

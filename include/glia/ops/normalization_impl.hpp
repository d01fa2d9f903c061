#pragma once

#include <cstddef>
#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/call.hpp"
#include "glia/ops/normalization.hpp"

namespace glia::ops {

GLIA_INLINE normalized_variable normalize(normalization kind, const variable& x,
                                          const variable& gamma, const variable& beta,
                                          double epsilon, std::size_t groups) {
  auto [output, moments] =
      call_kernel(x.owner(), kernels::normalize{kind, epsilon, groups}, {x, gamma, beta});
  return {std::move(output), std::move(moments[0]), std::move(moments[1])};
}

}  // namespace glia::ops

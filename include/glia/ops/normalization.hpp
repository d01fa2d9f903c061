#pragma once

#include <cstddef>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// The result of `normalize`: the normalized variable and its statistics, which have no gradient.
struct normalized_variable {
  variable output;  ///< The normalized variable.
  tensor mean;      ///< The means.
  tensor variance;  ///< The variances.
};

/// Normalizes x (N, ..., C) with its own statistics.
///
///     gamma (x - mean) / sqrt(variance + epsilon) + beta
///
/// gamma and beta have the shape (C). `kind` determines which elements share a mean and a variance.
/// With `batch`, these are the elements of a channel, over the batch and all positions. With
/// `layer`, these are the features of a position. With `group`, these are the elements of a group
/// of channels in a sample; there are `groups` groups. `rms` works like `layer`, but with a mean of
/// 0. PyTorch's F.normalize does something else: it divides by a norm.
[[nodiscard]] normalized_variable normalize(normalization kind, const variable& x,
                                            const variable& gamma, const variable& beta,
                                            double epsilon, std::size_t groups = 1);

}  // namespace glia::ops

#ifndef GLIA_COMPILED
#include "glia/ops/normalization_impl.hpp"
#endif

#pragma once

#include <utility>

#include "glia/kernels/noise.hpp"
#include "glia/ops/dropout.hpp"
#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Adds normally distributed noise with mean 0 and standard deviation `stddev`.
///
/// The noise depends only on `random` and on the index of the element in the batch. The gradient of
/// x equals the gradient of the result.
[[nodiscard]] variable gaussian_noise(variable x, double stddev, const random_source& random);

/// Returns random numbers from the standard normal distribution, in the shape of x.
///
/// The numbers depend only on `random` and on the index of the element in the batch, not on the
/// elements of x. The backward pass computes no gradient through them. A layer receives `random`
/// from `scope::next_random`. PyTorch: randn_like.
///
///     const variable sample = mean + ops::exp(log_stddev) * ops::random_normal_like(mean, random);
[[nodiscard]] variable random_normal_like(const variable& x, const random_source& random);

}  // namespace glia::ops

#ifndef GLIA_COMPILED
#include "glia/ops/noise_impl.hpp"
#endif

#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// The result of `normalize`: the normalized variable and its statistics, which have no gradient.
struct normalized_variable {
  variable output;  ///< The normalized variable.
  tensor mean;      ///< The means.
  tensor variance;  ///< The variances.
};

namespace detail {

/// Concatenates the vectors `own` of this rank, and gathers the concatenated vectors of all ranks:
/// (ranks, size).
[[nodiscard]] tensor gather_over_ranks(const glia::device& device, const tape::joined_batch& all,
                                       const std::array<tensor, 3>& own);

/// Returns the mean and variance of each channel over the batches of all ranks.
///
/// They are computed from the means m, the variances v and the shares w of the ranks as
/// mean = m0 + sum w (m - m0), where m0 is the mean of the first rank, and
/// variance = sum w (v + (m - mean)^2). Chan, Golub and LeVeque, "Algorithms for computing the
/// sample variance", 1983.
[[nodiscard]] std::array<tensor, 2> moments_over_ranks(const glia::device& device,
                                                       const tape::joined_batch& all,
                                                       const tensor& mean, const tensor& variance);

/// Computes `normalize` over the batches of all ranks.
///
/// The gradient kernel sums over the rows of this rank only. The gradient of x needs the sums over
/// the rows of all ranks, so this function adds the missing term:
///
///   dx += gamma / s ((b - B w) / n + xhat (g - G w) / n)
///
/// s is the standard deviation and xhat = (x - mean) / s. b and g are this rank's gradients of beta
/// and gamma, and B and G are the sums of these gradients over all ranks. w is this rank's share of
/// the rows, and n is the number of its rows.
[[nodiscard]] normalized_variable normalize_over_ranks(const variable& x, const variable& gamma,
                                                       const variable& beta, double epsilon);

}  // namespace detail

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

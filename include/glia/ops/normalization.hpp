#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// The result of `normalize`: the normalized variable and its statistics, which have no gradient.
template <backend B>
struct normalized_variable {
  variable<B> output;           ///< The normalized variable.
  typename B::tensor mean;      ///< The means.
  typename B::tensor variance;  ///< The variances.
};

namespace detail {

/// Concatenates the vectors `own` of this rank, and gathers the concatenated vectors of all ranks:
/// (ranks, size).
template <backend B>
[[nodiscard]] typename B::tensor gather_over_ranks(const B& device,
                                                   const typename tape<B>::joined_batch& all,
                                                   const std::array<typename B::tensor, 3>& own) {
  const typename B::tensor none{};
  const bool gathers = has_fused<kernels::gather_over_ranks>(device);
  require<value_error>(gathers,
                       "batch_norm: the device cannot normalize over several ranks; do not "
                       "set distributed_options::sync_batch_norm");
  if constexpr (runs<B, kernels::gather_over_ranks>) {
    return device.run(
        kernels::gather_over_ranks{all.ranks},
        device.run(kernels::concat{0}, own[0], own[1], own[2], none, none, none, none, none));
  } else {
    return none;
  }
}

/// Returns the mean and variance of each channel over the batches of all ranks.
///
/// They are computed from the means m, the variances v and the shares w of the ranks as
/// mean = m0 + sum w (m - m0), where m0 is the mean of the first rank, and
/// variance = sum w (v + (m - mean)^2). Chan, Golub and LeVeque, "Algorithms for computing the
/// sample variance", 1983.
template <backend B>
[[nodiscard]] std::array<typename B::tensor, 2> moments_over_ranks(
    const B& device, const typename tape<B>::joined_batch& all, const typename B::tensor& mean,
    const typename B::tensor& variance) {
  const std::size_t channels = mean.shape()[0];
  const auto gathered = gather_over_ranks(
      device, all, {mean, variance, device.run(kernels::reshape{{1}}, all.share)});
  const auto part = [&](std::size_t begin, std::size_t extent) {
    return device.run(kernels::slice{.axis = 1, .begin = begin, .extent = extent}, gathered);
  };
  const auto means = part(0, channels);
  const auto shares = part(2 * channels, 1);
  const auto weighted_sum = [&](const typename B::tensor& of_ranks) {
    return device.run(kernels::sum_to{{1, channels}},
                      device.run(kernels::binary{binary_function::multiply}, of_ranks, shares));
  };
  const auto combine = [&](binary_function f, const typename B::tensor& a,
                           const typename B::tensor& b) {
    return device.run(kernels::binary{f}, a, b);
  };
  const auto first = device.run(kernels::slice{.axis = 0, .begin = 0, .extent = 1}, means);
  const auto whole = combine(binary_function::add, first,
                             weighted_sum(combine(binary_function::subtract, means, first)));
  const auto off = device.run(kernels::unary{{unary_function::square}},
                              device.run(kernels::binary{binary_function::subtract}, means, whole));
  const auto spread = weighted_sum(
      device.run(kernels::binary{binary_function::add}, part(channels, channels), off));
  return {device.run(kernels::reshape{{channels}}, whole),
          device.run(kernels::reshape{{channels}}, spread)};
}

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
template <backend B>
[[nodiscard]] normalized_variable<B> normalize_over_ranks(const variable<B>& x,
                                                          const variable<B>& gamma,
                                                          const variable<B>& beta, double epsilon) {
  using tensor = typename B::tensor;
  const B& device = x.device();
  const typename tape<B>::joined_batch all = x.owner().joined();
  const auto apply = [](const B& on, binary_function f, const tensor& a, const tensor& b) {
    return on.run(kernels::binary{f}, a, b);
  };
  constexpr normalization kind = normalization::batch;
  auto own = device.run(kernels::normalize{kind, epsilon}, x.value(), gamma.value(), beta.value());
  const auto moments = moments_over_ranks(device, all, own[1], own[2]);
  const tensor& mean = moments[0];
  const tensor& variance = moments[1];
  const tensor inverse = device.run(
      kernels::unary{{unary_function::reciprocal}},
      device.run(kernels::unary{{unary_function::sqrt}},
                 device.run(kernels::unary{{unary_function::affine, 1, epsilon}}, variance)));
  const tensor factor = apply(device, binary_function::multiply, gamma.value(), inverse);
  tensor y = apply(device, binary_function::add,
                   apply(device, binary_function::multiply,
                         apply(device, binary_function::subtract, x.value(), mean), factor),
                   beta.value());
  const auto adjoint = [=, to_beta = beta.slot()](auto& to, auto dy) {
    const B& on = to.device();
    auto [dx, dgamma, dbeta] = on.run(kernels::normalize_gradient{kind, epsilon}, std::move(dy),
                                      x.value(), gamma.value(), mean, variance);
    const std::size_t channels = mean.shape()[0];
    const std::size_t rows = x.shape().size() / channels;
    const tensor sums = on.run(
        kernels::reshape{{2 * channels}},
        on.run(kernels::sum_to{{1, 2 * channels}}, gather_over_ranks(on, all, {dgamma, dbeta})));
    const auto left_out = [&](const tensor& mine, std::size_t begin) {
      const tensor of_all =
          on.run(kernels::slice{.axis = 0, .begin = begin, .extent = channels}, sums);
      const tensor difference = apply(on, binary_function::subtract, mine,
                                      apply(on, binary_function::multiply, of_all, all.share));
      return on.run(kernels::unary{{unary_function::affine, 1.0 / static_cast<double>(rows), 0}},
                    difference);
    };
    const tensor slope = apply(on, binary_function::multiply, left_out(dgamma, 0), inverse);
    const auto scaled = [&](const tensor& of_channels) {
      return apply(on, binary_function::multiply, factor, of_channels);
    };
    if (x.needs_gradient()) {
      const tensor apart = apply(on, binary_function::subtract, x.value(), mean);
      const tensor more = apply(on, binary_function::add,
                                apply(on, binary_function::multiply, apart, scaled(slope)),
                                scaled(left_out(dbeta, channels)));
      to.add(x.slot(), apply(on, binary_function::add, dx, more));
    }
    if (gamma.needs_gradient()) {
      to.add(gamma.slot(), std::move(dgamma));
    }
    if (to_beta) {
      to.add(to_beta, std::move(dbeta));
    }
  };
  variable<B> output = x.owner().record(
      std::move(y), x.needs_gradient() || gamma.needs_gradient() || beta.needs_gradient(), adjoint);
  return {std::move(output), mean, variance};
}

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
template <backend B>
[[nodiscard]] normalized_variable<B> normalize(normalization kind, const variable<B>& x,
                                               const variable<B>& gamma, const variable<B>& beta,
                                               double epsilon, std::size_t groups = 1) {
  if (kind == normalization::batch && x.owner().joined().ranks != nullptr) {
    return detail::normalize_over_ranks(x, gamma, beta, epsilon);
  }
  auto [y, means, variances] = x.device().run(kernels::normalize{kind, epsilon, groups}, x.value(),
                                              gamma.value(), beta.value());
  variable<B> output = x.owner().record(
      std::move(y), x.needs_gradient() || gamma.needs_gradient() || beta.needs_gradient(),
      [kind, x, gamma, to_beta = beta.slot(), mean = means, variance = variances, epsilon, groups](
          auto& to, auto dy) {
        auto [dx, dgamma, dbeta] =
            to.device().run(kernels::normalize_gradient{kind, epsilon, groups}, std::move(dy),
                            x.value(), gamma.value(), mean, variance);
        if (x.needs_gradient()) {
          to.add(x.slot(), std::move(dx));
        }
        if (gamma.needs_gradient()) {
          to.add(gamma.slot(), std::move(dgamma));
        }
        if (to_beta) {
          to.add(to_beta, std::move(dbeta));
        }
      });
  return {std::move(output), std::move(means), std::move(variances)};
}

}  // namespace glia::ops

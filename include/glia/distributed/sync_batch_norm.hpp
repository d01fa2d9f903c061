#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "glia/distributed/rank_kernels.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/layers/normalization.hpp"
#include "glia/ops/normalization.hpp"

namespace glia {

namespace detail {

/// Normalizes x (N, ..., C) with the statistics of the batches of all ranks.
///
/// The gradient kernel sums over the rows of this rank only. The gradient of x needs the sums over
/// the rows of all ranks, so this function adds the missing term:
///
///   dx += gamma / s ((b - B w) / n + xhat (g - G w) / n)
///
/// s is the standard deviation and xhat = (x - mean) / s. b and g are this rank's gradients of beta
/// and gamma, and B and G are the sums of these gradients over all ranks. w is this rank's share of
/// the rows, and n is the number of its rows.
[[nodiscard]] inline ops::normalized_variable normalize_over_ranks(const variable& x,
                                                                   const variable& gamma,
                                                                   const variable& beta,
                                                                   double epsilon) {
  constexpr glia::normalization kind = glia::normalization::batch;
  const glia::device& device = x.device();
  const std::size_t channels = x.shape().back();
  const std::size_t rows = x.shape().size() / channels;
  const auto apply = [](const glia::device& d, binary_function f, const tensor& a,
                        const tensor& b) { return d.run(kernels::binary{f}, a, b); };
  const auto statistics =
      device.run(kernels::normalize{kind, epsilon}, x.value(), gamma.value(), beta.value());
  const auto moments = device.run(kernels::moments_over_ranks{rows}, statistics[1], statistics[2]);
  const tensor& mean = moments[0];
  const tensor& variance = moments[1];
  const tensor& share = moments[2];
  const tensor inverse = device.run(
      kernels::unary{{unary_function::reciprocal}},
      device.run(kernels::unary{{unary_function::sqrt}},
                 device.run(kernels::unary{{unary_function::affine, 1, epsilon}}, variance)));
  const tensor factor = apply(device, binary_function::multiply, gamma.value(), inverse);
  tensor y = apply(device, binary_function::add,
                   apply(device, binary_function::multiply,
                         apply(device, binary_function::subtract, x.value(), mean), factor),
                   beta.value());
  const auto adjoint = [=, mean = mean, variance = variance, share = share, to_beta = beta.slot()](
                           auto& gradients, auto dy) {
    const glia::device& backward_device = gradients.device();
    auto [dx, dgamma, dbeta] =
        backward_device.run(kernels::normalize_gradient{kind, epsilon}, std::move(dy), x.value(),
                            gamma.value(), mean, variance);
    const tensor absent{};
    const tensor sums = backward_device.run(
        kernels::sum_over_ranks{}, backward_device.run(kernels::concat{0}, dgamma, dbeta, absent,
                                                       absent, absent, absent, absent, absent));
    const auto missing = [&](const tensor& own_sum, std::size_t begin) {
      const tensor sum =
          backward_device.run(kernels::slice{.axis = 0, .begin = begin, .extent = channels}, sums);
      const tensor difference =
          apply(backward_device, binary_function::subtract, own_sum,
                apply(backward_device, binary_function::multiply, sum, share));
      return backward_device.run(
          kernels::unary{{unary_function::affine, 1.0 / static_cast<double>(rows), 0}}, difference);
    };
    const auto scaled = [&](const tensor& of_channels) {
      return apply(backward_device, binary_function::multiply, factor, of_channels);
    };
    if (x.needs_gradient()) {
      const tensor slope =
          apply(backward_device, binary_function::multiply, missing(dgamma, 0), inverse);
      const tensor distance = apply(backward_device, binary_function::subtract, x.value(), mean);
      const tensor correction =
          apply(backward_device, binary_function::add,
                apply(backward_device, binary_function::multiply, distance, scaled(slope)),
                scaled(missing(dbeta, channels)));
      gradients.add(x.slot(), apply(backward_device, binary_function::add, dx, correction));
    }
    if (gamma.needs_gradient()) {
      gradients.add(gamma.slot(), std::move(dgamma));
    }
    if (to_beta) {
      gradients.add(to_beta, std::move(dbeta));
    }
  };
  variable output = x.owner().record(
      std::move(y), x.needs_gradient() || gamma.needs_gradient() || beta.needs_gradient(), adjoint);
  return {std::move(output), mean, variance};
}

}  // namespace detail

/// Batch normalization over the batch of all ranks that train together; see `batch_norm`.
///
/// In a training on several ranks, `batch_norm` computes mean and variance over the samples of its
/// rank only. This layer computes them over the samples of all ranks. This costs two more messages
/// for each layer and batch, and every rank needs at least one sample of each batch. It cannot be
/// combined with `distributed_options::reproducible`. In one process, the layer computes the same
/// as `batch_norm` up to rounding. Its parameters have the names of a `batch_norm`, so that models
/// with one layer can read the files of models with the other. Runs on devices in host memory.
struct sync_batch_norm {
  double momentum = 0.99;  ///< Factor of the old running statistics in an update, in [0, 1].
  double epsilon = 1e-3;   ///< Number added to the variance, above 0.
  /// Whether the layer has the factors gamma. They are not needed if a layer with a kernel follows.
  bool scale = true;
  initializer gamma_initializer = constant(1);            ///< Initial values of gamma.
  initializer beta_initializer = constant(0);             ///< Initial values of beta.
  initializer moving_mean_initializer = constant(0);      ///< Initial running means.
  initializer moving_variance_initializer = constant(1);  ///< Initial running variances.

  static constexpr std::string_view type_name = batch_norm::type_name;

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    const batch_norm local{.momentum = momentum,
                           .epsilon = epsilon,
                           .scale = scale,
                           .gamma_initializer = gamma_initializer,
                           .beta_initializer = beta_initializer,
                           .moving_mean_initializer = moving_mean_initializer,
                           .moving_variance_initializer = moving_variance_initializer};
    return local.normalize(s, x, [&](const variable& gamma, const variable& beta) {
      return detail::normalize_over_ranks(x, gamma, beta, epsilon);
    });
  }

  [[nodiscard]] std::string description() const { return "sync_batch_norm"; }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("momentum", self.momentum);
    visit("epsilon", self.epsilon);
    visit("scale", self.scale);
  }

  friend bool operator==(const sync_batch_norm&, const sync_batch_norm&) = default;
};

}  // namespace glia

#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/call.hpp"
#include "glia/ops/normalization.hpp"

namespace glia::ops {

namespace detail {

GLIA_INLINE tensor gather_over_ranks(const glia::device& device, const tape::joined_batch& joined,
                                     const std::array<tensor, 3>& own) {
  const tensor none{};
  require<value_error>(has_fused<kernels::gather_over_ranks>(device),
                       "batch_norm: the device cannot normalize over several ranks; do not "
                       "set distributed_options::sync_batch_norm");
  return device.run(
      kernels::gather_over_ranks{joined.ranks},
      device.run(kernels::concat{0}, own[0], own[1], own[2], none, none, none, none, none));
}

GLIA_INLINE std::array<tensor, 2> moments_over_ranks(const glia::device& device,
                                                     const tape::joined_batch& joined,
                                                     const tensor& mean, const tensor& variance) {
  const std::size_t channels = mean.shape()[0];
  const auto gathered = gather_over_ranks(
      device, joined, {mean, variance, device.run(kernels::reshape{{1}}, joined.share)});
  const auto part = [&](std::size_t begin, std::size_t extent) {
    return device.run(kernels::slice{.axis = 1, .begin = begin, .extent = extent}, gathered);
  };
  const auto means = part(0, channels);
  const auto shares = part(2 * channels, 1);
  const auto weighted_sum = [&](const tensor& of_ranks) {
    return device.run(kernels::sum_to{{1, channels}},
                      device.run(kernels::binary{binary_function::multiply}, of_ranks, shares));
  };
  const auto combine = [&](binary_function f, const tensor& a, const tensor& b) {
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

GLIA_INLINE normalized_variable normalize_over_ranks(const variable& x, const variable& gamma,
                                                     const variable& beta, double epsilon) {
  const glia::device& device = x.device();
  const tape::joined_batch joined = x.owner().joined();
  const auto apply = [](const glia::device& on, binary_function f, const tensor& a,
                        const tensor& b) { return on.run(kernels::binary{f}, a, b); };
  constexpr normalization kind = normalization::batch;
  auto own = device.run(kernels::normalize{kind, epsilon}, x.value(), gamma.value(), beta.value());
  const auto moments = moments_over_ranks(device, joined, own[1], own[2]);
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
    const glia::device& on = to.device();
    auto [dx, dgamma, dbeta] = on.run(kernels::normalize_gradient{kind, epsilon}, std::move(dy),
                                      x.value(), gamma.value(), mean, variance);
    const std::size_t channels = mean.shape()[0];
    const std::size_t rows = x.shape().size() / channels;
    const tensor sums = on.run(
        kernels::reshape{{2 * channels}},
        on.run(kernels::sum_to{{1, 2 * channels}}, gather_over_ranks(on, joined, {dgamma, dbeta})));
    const auto left_out = [&](const tensor& mine, std::size_t begin) {
      const tensor of_all =
          on.run(kernels::slice{.axis = 0, .begin = begin, .extent = channels}, sums);
      const tensor difference = apply(on, binary_function::subtract, mine,
                                      apply(on, binary_function::multiply, of_all, joined.share));
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
  variable output = x.owner().record(
      std::move(y), x.needs_gradient() || gamma.needs_gradient() || beta.needs_gradient(), adjoint);
  return {std::move(output), mean, variance};
}

}  // namespace detail

GLIA_INLINE normalized_variable normalize(normalization kind, const variable& x,
                                          const variable& gamma, const variable& beta,
                                          double epsilon, std::size_t groups) {
  if (kind == normalization::batch && x.owner().joined().ranks != nullptr) {
    return detail::normalize_over_ranks(x, gamma, beta, epsilon);
  }
  auto [output, moments] =
      call_kernel(x.owner(), kernels::normalize{kind, epsilon, groups}, {x, gamma, beta});
  return {std::move(output), std::move(moments[0]), std::move(moments[1])};
}

}  // namespace glia::ops

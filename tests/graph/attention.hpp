#pragma once

#include <cstdint>
#include <glia/glia.hpp>
#include <span>
#include <string>
#include <utility>

namespace test {

/// Attention with two heads over four tokens, each of which sees those before it, with learned
/// positions; what comes out is joined to what went in, and to a vector that is learned for
/// whichever of the first features is largest.
struct attention {
  glia::variable operator()(glia::scope& s, glia::variable x) const {
    namespace ops = glia::ops;
    const glia::device& device = x.device();
    const std::size_t n = x.shape()[0];
    const std::size_t width = x.shape()[1] / 12;
    const auto first = ops::slice(x, {.axis = 1, .extent = 6});
    const auto largest = ops::gather(s.parameter("features", {6, 3}, glia::he_normal()),
                                     device.run(glia::kernels::argmax{}, first.value()));
    constexpr std::int32_t numbers[] = {3, 0, 1, 2};
    const auto positions =
        ops::gather(s.parameter("positions", {4, 3 * width}, glia::he_normal()),
                    device.from_host(std::span<const std::int32_t>(numbers), {4}));
    x = ops::reshape(std::move(x), {n, 4, 3 * width}) + positions;
    const auto heads = [&](std::size_t index) {
      const auto part = ops::slice(x, {.axis = 2, .begin = index * width, .extent = width});
      return ops::permute(ops::reshape(part, {n, 4, 2, width / 2}), {0, 2, 1, 3});
    };
    constexpr float mask[] = {1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1};
    const auto lowest_score = x.owner().constant(device.run(glia::kernels::full{{}, -1e9}));
    const auto scores =
        ops::where(device.from_host(std::span<const float>(mask), {4, 4}),
                   ops::batched_matmul(heads(0), heads(1), glia::transpose::second), lowest_score);
    const auto y = ops::permute(ops::batched_matmul(ops::softmax(scores), heads(2)), {0, 2, 1, 3});
    const auto joined = ops::concat(
        {ops::reshape(y, {n, 4 * width}), largest, ops::reshape(x, {n, 12 * width})}, 1);
    return ops::pad(joined, {.axis = 1, .before = 1});
  }
  [[nodiscard]] std::string description() const { return "attention"; }
};

}  // namespace test

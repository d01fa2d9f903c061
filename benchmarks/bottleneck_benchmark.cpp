// The convolutions of MobileNetV2's blocks: pointwise and depthwise on their own, the products of
// the pointwise ones by OpenBLAS alone, and a whole block in one. Eight images, all threads.

#include <benchmark/benchmark.h>

#include <array>
#include <glia/backends/cpu/products/gemm.hpp>
#include <glia/glia.hpp>
#include <glia/testing/values.hpp>
#include <vector>

namespace {

namespace kernels = glia::kernels;
using cpu = glia::cpu<float>;

const cpu& device() {
  static const cpu value;
  return value;
}

glia::tensor values(const glia::shape& s) {
  const auto numbers = glia::testing::test_values(s, 1);
  return device().from_host(std::span<const float>(numbers), s);
}

float* data(const glia::tensor& x) { return glia::detail::tensor_view<float>(x).data(); }

constexpr glia::window2d pixel{};
constexpr glia::window2d three{3, 3, 1, 1, 1, 1, 1, 1, 1, 1};

/// A block's extent, the channels that come in and go out, and those in between.
struct block {
  explicit block(const benchmark::State& state)
      : extent(static_cast<std::size_t>(state.range(0))),
        channels(static_cast<std::size_t>(state.range(1))),
        inner(6 * channels) {}

  [[nodiscard]] double pixels() const { return static_cast<double>(8 * extent * extent); }
  [[nodiscard]] glia::shape narrow() const { return {8, extent, extent, channels}; }
  [[nodiscard]] glia::shape wide() const { return {8, extent, extent, inner}; }
  [[nodiscard]] double pointwise_flops() const {
    return 2 * pixels() * static_cast<double>(channels * inner);
  }
  [[nodiscard]] double depthwise_flops() const {
    return 2 * 9 * pixels() * static_cast<double>(inner);
  }

  std::size_t extent, channels, inner;
};

void blocks(benchmark::internal::Benchmark* b) {
  b->ArgNames({"extent", "channels"})
      ->Args({56, 24})
      ->Args({28, 32})
      ->Args({14, 64})
      ->Args({14, 96})
      ->Args({7, 160})
      ->UseRealTime();
}

void report_flops(benchmark::State& state, double flops) {
  state.counters["FLOP/s"] = benchmark::Counter(flops * static_cast<double>(state.iterations()),
                                                benchmark::Counter::kIsRate);
}

#ifndef GLIA_BLAS_NONE
void openblas_of_pointwise_size(benchmark::State& state) {
  const block b(state);
  const auto x = values(b.narrow());
  const auto w = values({b.channels, b.inner});
  const auto y = device().run(kernels::full{b.wide(), 0});
  for (auto _ : state) {
    glia::cpu_loops::gemm<float>(8 * b.extent * b.extent, b.inner, b.channels,
                                 {data(x), b.channels}, {data(w), b.inner}, 0.0F, data(y), b.inner);
    benchmark::ClobberMemory();
  }
  report_flops(state, b.pointwise_flops());
}
BENCHMARK(openblas_of_pointwise_size)->Apply(blocks);
#endif

void pointwise(benchmark::State& state) {
  const block b(state);
  const auto x = values(b.narrow());
  const auto w = values({1, 1, b.channels, b.inner});
  const auto bias = values({b.inner});
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        device().run(kernels::conv2d{pixel, 1, glia::relu6.map}, x, w, bias).bytes());
  }
  report_flops(state, b.pointwise_flops());
}
BENCHMARK(pointwise)->Apply(blocks);

void depthwise(benchmark::State& state) {
  const block b(state);
  const auto x = values(b.wide());
  const auto w = values({3, 3, 1, b.inner});
  const auto bias = values({b.inner});
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        device().run(kernels::conv2d{three, b.inner, glia::relu6.map}, x, w, bias).bytes());
  }
  report_flops(state, b.depthwise_flops());
}
BENCHMARK(depthwise)->Apply(blocks);

void bottleneck_in_one(benchmark::State& state) {
  const block b(state);
  const auto x = values(b.narrow());
  const kernels::conv2d_chain chain{3,
                                    {{{pixel, 1, glia::relu6.map},
                                      {three, b.inner, glia::relu6.map},
                                      {pixel, 1, glia::kernels::identity_map}}}};
  const auto expand = values({1, 1, b.channels, b.inner});
  const auto depthwise = values({3, 3, 1, b.inner});
  const auto project = values({1, 1, b.inner, b.channels});
  const auto wide = values({b.inner});
  const auto narrow = values({b.channels});
  const glia::tensor absent;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        device()
            .run(chain, x, expand, wide, depthwise, wide, project, narrow, absent, absent)
            .bytes());
  }
  report_flops(state, 2 * b.pointwise_flops() + b.depthwise_flops());
}
BENCHMARK(bottleneck_in_one)->Apply(blocks);

}  // namespace

// The cpu backend's kernels, one by one. Rates are of the operations and bytes that the cost
// backend counts for a dense computation.

#include <benchmark/benchmark.h>

#include <glia/glia.hpp>
#include <glia/testing/values.hpp>
#include <vector>

namespace {

const glia::cpu<float>& device() {
  static const glia::cpu<float> value;
  return value;
}

glia::cpu<float>::tensor values(const glia::shape& s, std::uint32_t stream = 1) {
  const auto numbers = glia::testing::test_values(s, stream);
  return device().from_host(std::span<const float>(numbers), s);
}

/// Zeroes all but the given share of the elements.
glia::cpu<float>::tensor values_with_zeros(const glia::shape& s, double density) {
  auto numbers = glia::testing::test_values(s, 2);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = glia::random_bits({.seed = 5}, i) * 0x1p-32 < density ? numbers[i] : 0.0F;
  }
  return device().from_host(std::span<const float>(numbers), s);
}

/// Reports FLOP/s and bytes/s, `kernel` being run once on the cost backend to count them.
template <class Kernel>
void count_rates(benchmark::State& state, const Kernel& kernel) {
  const glia::cost<float> counter;
  kernel(counter);
  const auto runs = static_cast<double>(state.iterations());
  state.counters["FLOP/s"] =
      benchmark::Counter(counter.totals().flops * runs, benchmark::Counter::kIsRate);
  state.counters["bytes/s"] =
      benchmark::Counter(counter.totals().bytes_moved * runs, benchmark::Counter::kIsRate);
}

void dense(benchmark::State& state) {
  const glia::shape x{static_cast<std::size_t>(state.range(0)),
                      static_cast<std::size_t>(state.range(1))};
  const glia::shape w{x[1], static_cast<std::size_t>(state.range(2))};
  const auto a = values_with_zeros(x, static_cast<double>(state.range(3)) / 100);
  const auto b = values(w);
  const auto bias = values({w[1]});
  for (auto _ : state) {
    benchmark::DoNotOptimize(device().dense(a, b, bias, glia::relu.map).data());
  }
  count_rates(state, [&](const auto& c) {
    benchmark::DoNotOptimize(
        c.dense(c.full(x, 0), c.full(w, 0), c.full({w[1]}, 0), glia::relu.map).shape());
  });
}
// Batch, inputs, outputs, per cent of the inputs that are not zero.
BENCHMARK(dense)
    ->ArgsProduct({{100}, {784}, {400}, {5, 19, 35, 45, 55, 100}})
    ->Args({32, 784, 400, 100})
    ->Args({512, 784, 400, 100})
    ->Args({100, 500, 10, 100})
    ->UseRealTime();

void conv2d(benchmark::State& state) {
  const auto channels = static_cast<std::size_t>(state.range(0));
  const auto filters = static_cast<std::size_t>(state.range(1));
  const auto size = static_cast<std::size_t>(state.range(2));
  const glia::shape x{64, 28, 28, channels};
  const glia::shape w{size, size, channels, filters};
  const auto window = glia::resolve_window(x, size, 1, 1, glia::same);
  const auto images = values(x);
  const auto kernel = values(w);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        device().conv2d(images, kernel, {}, glia::identity_map, window, 1).data());
  }
  count_rates(state, [&](const auto& c) {
    benchmark::DoNotOptimize(
        c.conv2d(c.full(x, 0), c.full(w, 0), {}, glia::identity_map, window, 1).shape());
  });
}
// Input channels, filters, kernel size.
BENCHMARK(conv2d)
    ->Args({1, 64, 2})
    ->Args({64, 32, 2})
    ->Args({32, 64, 3})
    ->Args({64, 64, 1})
    ->UseRealTime();

void max_pool2d(benchmark::State& state) {
  const glia::shape x{64, 28, 28, static_cast<std::size_t>(state.range(0))};
  const auto images = values(x);
  const glia::window2d window{2, 2, 2, 2};
  for (auto _ : state) {
    benchmark::DoNotOptimize(device().max_pool2d(images, window).output.data());
  }
  count_rates(state, [&](const auto& c) {
    benchmark::DoNotOptimize(c.max_pool2d(c.full(x, 0), window).output.shape());
  });
}
BENCHMARK(max_pool2d)->Arg(1)->Arg(64)->UseRealTime();

void unary(benchmark::State& state) {
  const glia::unary_map map{static_cast<glia::unary_function>(state.range(0))};
  const glia::shape s{1 << 18};
  const auto x = values(s);
  for (auto _ : state) {
    benchmark::DoNotOptimize(device().unary(map, x).data());
  }
  count_rates(state,
              [&](const auto& c) { benchmark::DoNotOptimize(c.unary(map, c.full(s, 0)).shape()); });
  state.SetLabel(std::string(glia::name_of(map.function)));
}
BENCHMARK(unary)
    ->Arg(static_cast<int>(glia::unary_function::relu))
    ->Arg(static_cast<int>(glia::unary_function::exponential))
    ->Arg(static_cast<int>(glia::unary_function::tanh))
    ->Arg(static_cast<int>(glia::unary_function::gelu))
    ->UseRealTime();

void dropout(benchmark::State& state) {
  const glia::shape s{1 << 18};
  const auto x = values(s);
  for (auto _ : state) {
    benchmark::DoNotOptimize(device().dropout(x, 0.3, {.seed = 1}, 0).data());
  }
  count_rates(state, [&](const auto& c) {
    benchmark::DoNotOptimize(c.dropout(c.full(s, 0), 0.3, {}, 0).shape());
  });
}
BENCHMARK(dropout)->UseRealTime();

void adam(benchmark::State& state) {
  const glia::shape s{679910};
  auto p = values(s, 1);
  const auto g = values(s, 2);
  auto m = values(s, 3);
  auto v = device().full(s, 1);
  const auto rule = glia::adam{}.at(0);
  for (auto _ : state) {
    auto next = device().update(rule, std::move(p), g, std::move(m), std::move(v));
    p = std::move(next.parameter);
    m = std::move(next.first);
    v = std::move(next.second);
  }
  count_rates(state, [&](const auto& c) {
    benchmark::DoNotOptimize(
        c.update(rule, c.full(s, 0), c.full(s, 0), c.full(s, 0), c.full(s, 0)).parameter.shape());
  });
}
BENCHMARK(adam)->UseRealTime();

}  // namespace

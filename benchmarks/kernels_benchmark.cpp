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

/// A convolution of square images with square kernels, padding same: the benchmark's arguments.
struct convolution {
  explicit convolution(const benchmark::State& state)
      : images(argument(state, 0)),
        extent(argument(state, 1)),
        channels(argument(state, 2)),
        filters(argument(state, 3)),
        kernel(argument(state, 4)),
        stride(argument(state, 5)),
        groups(argument(state, 6)) {}

  static std::size_t argument(const benchmark::State& state, std::size_t i) {
    return static_cast<std::size_t>(state.range(i));
  }
  [[nodiscard]] glia::shape x() const { return {images, extent, extent, channels}; }
  [[nodiscard]] glia::shape w() const { return {kernel, kernel, channels / groups, filters}; }
  [[nodiscard]] glia::window2d window() const {
    return glia::resolve_window(x(), kernel, stride, 1, glia::same);
  }
  [[nodiscard]] glia::shape y() const {
    return glia::conv2d_rule(x(), w(), window(), groups).output();
  }

  std::size_t images, extent, channels, filters, kernel, stride, groups;
};

/// Few channels, general ones, 1 x 1, 3 x 3, strided, depthwise.
void convolutions(benchmark::internal::Benchmark* b) {
  b->ArgNames({"images", "extent", "channels", "filters", "kernel", "stride", "groups"})
      ->Args({64, 28, 1, 64, 2, 1, 1})
      ->Args({64, 14, 64, 32, 2, 1, 1})
      ->Args({4, 224, 3, 32, 3, 2, 1})
      ->Args({16, 28, 32, 64, 3, 1, 1})
      ->Args({4, 56, 64, 128, 3, 2, 1})
      ->Args({16, 28, 64, 64, 1, 1, 1})
      ->Args({8, 56, 144, 144, 3, 1, 144})
      ->Args({16, 14, 576, 576, 3, 2, 576})
      ->UseRealTime();
}

void conv2d(benchmark::State& state) {
  const convolution c(state);
  const auto images = values(c.x());
  const auto kernel = values(c.w());
  const auto bias = values({c.filters});
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        device().conv2d(images, kernel, bias, glia::relu.map, c.window(), c.groups).data());
  }
  count_rates(state, [&](const auto& b) {
    benchmark::DoNotOptimize(b.conv2d(b.full(c.x(), 0), b.full(c.w(), 0), b.full({c.filters}, 0),
                                      glia::relu.map, c.window(), c.groups)
                                 .shape());
  });
}
BENCHMARK(conv2d)->Apply(convolutions);

void conv2d_input_gradient(benchmark::State& state) {
  const convolution c(state);
  const auto dy = values(c.y());
  const auto kernel = values(c.w());
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        device().conv2d_input_gradient(dy, kernel, c.window(), c.groups, c.x()).data());
  }
  count_rates(state, [&](const auto& b) {
    benchmark::DoNotOptimize(
        b.conv2d_input_gradient(b.full(c.y(), 0), b.full(c.w(), 0), c.window(), c.groups, c.x())
            .shape());
  });
}
BENCHMARK(conv2d_input_gradient)->Apply(convolutions);

void conv2d_kernel_gradient(benchmark::State& state) {
  const convolution c(state);
  const auto images = values(c.x());
  const auto dy = values(c.y());
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        device().conv2d_kernel_gradient(images, dy, c.window(), c.groups, c.w()).data());
  }
  count_rates(state, [&](const auto& b) {
    benchmark::DoNotOptimize(
        b.conv2d_kernel_gradient(b.full(c.x(), 0), b.full(c.y(), 0), c.window(), c.groups, c.w())
            .shape());
  });
}
BENCHMARK(conv2d_kernel_gradient)->Apply(convolutions);

/// The convolutions of the MNIST network with their ReLU and max-pooling, in one kernel. Rates are
/// those of the three one after the other.
void pooled_convolutions(benchmark::internal::Benchmark* b) {
  b->ArgNames({"images", "extent", "channels", "filters", "kernel", "stride", "groups"})
      ->Args({64, 28, 1, 64, 2, 1, 1})
      ->Args({64, 14, 64, 32, 2, 1, 1})
      ->UseRealTime();
}

void conv2d_max_pool2d(benchmark::State& state) {
  const convolution c(state);
  const auto images = values(c.x());
  const auto kernel = values(c.w());
  const glia::convolution_pooling how{c.window(), c.groups, {2, 2, 2, 2}};
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        device().conv2d_max_pool2d(images, kernel, {}, glia::relu.map, how, true).output.data());
  }
  count_rates(state, [&](const auto& b) {
    auto y = b.conv2d(b.full(c.x(), 0), b.full(c.w(), 0), {}, glia::relu.map, c.window(), c.groups);
    benchmark::DoNotOptimize(b.max_pool2d(std::move(y), how.pool).output.shape());
  });
}
BENCHMARK(conv2d_max_pool2d)->Apply(pooled_convolutions);

void conv2d_max_pool2d_gradient(benchmark::State& state) {
  const convolution c(state);
  const auto images = values(c.x());
  const auto kernel = values(c.w());
  const glia::convolution_pooling how{c.window(), c.groups, {2, 2, 2, 2}};
  const auto y = device().conv2d_max_pool2d(images, kernel, {}, glia::relu.map, how, true);
  const auto dy = values_with_zeros(y.output.shape(), 0.7);  // as behind a dropout
  const bool first_layer = c.channels == 1;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        device()
            .conv2d_max_pool2d_gradient(dy, images, kernel, y.position, how, !first_layer)
            .kernel.data());
  }
  count_rates(state, [&](const auto& b) {
    const auto pooled = b.max_pool2d(b.full(c.y(), 0), how.pool);
    auto before =
        b.max_pool2d_gradient(b.full(y.output.shape(), 0), pooled.position, how.pool, c.y());
    before = b.unary_gradient(glia::relu.map, std::move(before), b.full(c.y(), 0));
    benchmark::DoNotOptimize(
        b.conv2d_kernel_gradient(b.full(c.x(), 0), before, c.window(), c.groups, c.w()).shape());
    if (!first_layer) {
      benchmark::DoNotOptimize(
          b.conv2d_input_gradient(before, b.full(c.w(), 0), c.window(), c.groups, c.x()).shape());
    }
  });
}
BENCHMARK(conv2d_max_pool2d_gradient)->Apply(pooled_convolutions);

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

void max_pool2d_gradient(benchmark::State& state) {
  const glia::shape x{64, 28, 28, static_cast<std::size_t>(state.range(0))};
  const glia::window2d window{2, 2, 2, 2};
  const auto y = device().max_pool2d(values(x), window);
  const auto dy = values(y.output.shape());
  for (auto _ : state) {
    benchmark::DoNotOptimize(device().max_pool2d_gradient(dy, y.position, window, x).data());
  }
  count_rates(state, [&](const auto& c) {
    const auto pooled = c.max_pool2d(c.full(x, 0), window);
    benchmark::DoNotOptimize(
        c.max_pool2d_gradient(c.full(dy.shape(), 0), pooled.position, window, x).shape());
  });
}
BENCHMARK(max_pool2d_gradient)->Arg(1)->Arg(64)->UseRealTime();

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

// The cpu backend's kernels, one by one. Rates are of the operations and bytes that the kernels
// count for a dense computation.

#include <benchmark/benchmark.h>

#include <glia/glia.hpp>
#include <glia/testing/values.hpp>
#include <tuple>
#include <vector>

namespace {

namespace kernels = glia::kernels;

const glia::cpu<float>& device() {
  static const glia::cpu<float> value;
  return value;
}

using tensor = glia::tensor;

tensor values(const glia::shape& s, std::uint32_t stream = 1) {
  const auto numbers = glia::testing::test_values(s, stream);
  return device().from_host(std::span<const float>(numbers), s);
}

/// Zeroes all but the given share of the elements.
tensor values_with_zeros(const glia::shape& s, double density) {
  auto numbers = glia::testing::test_values(s, 2);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = glia::detail::random_bits({.seed = 5}, i) * 0x1p-32 < density ? numbers[i] : 0.0F;
  }
  return device().from_host(std::span<const float>(numbers), s);
}

double bytes_of(const glia::tensor& x) {
  return x ? static_cast<double>(x.size() * glia::bytes_of<float>(x.type())) : 0;
}
template <std::size_t N>
double bytes_of(const std::array<glia::tensor, N>& tensors) {
  double sum = 0;
  for (const glia::tensor& x : tensors) {
    sum += bytes_of(x);
  }
  return sum;
}

/// Runs a kernel again and again, and reports its FLOP/s and bytes/s.
template <glia::kernel K, class... Operands>
void measure(benchmark::State& state, const K& kernel, const Operands&... operands) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(device().run(kernel, operands...));
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["FLOP/s"] = benchmark::Counter(kernel.flops(glia::spec_of(operands)...) * runs,
                                                benchmark::Counter::kIsRate);
  state.counters["bytes/s"] = benchmark::Counter(
      (bytes_of(device().run(kernel, operands...)) + ... + bytes_of(operands)) * runs,
      benchmark::Counter::kIsRate);
}

void dense(benchmark::State& state) {
  const glia::shape x{static_cast<std::size_t>(state.range(0)),
                      static_cast<std::size_t>(state.range(1))};
  const glia::shape w{x[1], static_cast<std::size_t>(state.range(2))};
  const auto a = values_with_zeros(x, static_cast<double>(state.range(3)) / 100);
  const auto b = values(w);
  const auto bias = values({w[1]});
  measure(state, kernels::dense{glia::relu.map}, a, b, bias);
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
    return glia::detail::resolve_window(x(), kernel, stride, 1, glia::same);
  }
  [[nodiscard]] glia::shape y() const {
    return glia::kernels::conv2d_rule(x(), w(), window(), groups).output();
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
  measure(state, kernels::conv2d{c.window(), c.groups, glia::relu.map}, values(c.x()),
          values(c.w()), values({c.filters}));
}
BENCHMARK(conv2d)->Apply(convolutions);

void conv2d_input_gradient(benchmark::State& state) {
  const convolution c(state);
  measure(state, kernels::conv2d_input_gradient{c.window(), c.groups, sample_of(c.x())},
          values(c.y()), values(c.w()));
}
BENCHMARK(conv2d_input_gradient)->Apply(convolutions);

void conv2d_kernel_gradient(benchmark::State& state) {
  const convolution c(state);
  measure(state, kernels::conv2d_kernel_gradient{c.window(), c.groups}, values(c.x()),
          values(c.y()));
}
BENCHMARK(conv2d_kernel_gradient)->Apply(convolutions);

/// The convolutions of the MNIST network with their ReLU and max-pooling, in one kernel.
void pooled_convolutions(benchmark::internal::Benchmark* b) {
  b->ArgNames({"images", "extent", "channels", "filters", "kernel", "stride", "groups"})
      ->Args({64, 28, 1, 64, 2, 1, 1})
      ->Args({64, 14, 64, 32, 2, 1, 1})
      ->UseRealTime();
}

void conv2d_max_pool2d(benchmark::State& state) {
  const convolution c(state);
  const glia::kernels::convolution_pooling pooling{c.window(), c.groups, {2, 2, 2, 2}};
  measure(state, kernels::conv2d_max_pool2d{pooling, glia::relu.map}, values(c.x()), values(c.w()),
          tensor{});
}
BENCHMARK(conv2d_max_pool2d)->Apply(pooled_convolutions);

void conv2d_max_pool2d_gradient(benchmark::State& state) {
  const convolution c(state);
  const tensor images = values(c.x());
  const tensor weights = values(c.w());
  const glia::kernels::convolution_pooling pooling{c.window(), c.groups, {2, 2, 2, 2}};
  const auto [y, position] =
      device().run(kernels::conv2d_max_pool2d{pooling, glia::relu.map}, images, weights, tensor{});
  const tensor dy = values_with_zeros(y.shape(), 0.7);  // as behind a dropout
  const bool first_layer = c.channels == 1;
  measure(state, kernels::conv2d_max_pool2d_gradient{pooling, !first_layer}, dy, images, weights,
          position);
}
BENCHMARK(conv2d_max_pool2d_gradient)->Apply(pooled_convolutions);

void max_pool2d(benchmark::State& state) {
  const glia::shape x{64, 28, 28, static_cast<std::size_t>(state.range(0))};
  measure(state, kernels::max_pool2d{{2, 2, 2, 2}}, values(x));
}
BENCHMARK(max_pool2d)->Arg(1)->Arg(64)->UseRealTime();

void max_pool2d_gradient(benchmark::State& state) {
  const glia::shape x{64, 28, 28, static_cast<std::size_t>(state.range(0))};
  const glia::window2d window{2, 2, 2, 2};
  const auto [y, position] = device().run(kernels::max_pool2d{window}, values(x));
  measure(state, kernels::max_pool2d_gradient{window, sample_of(x)}, values(y.shape()), position);
}
BENCHMARK(max_pool2d_gradient)->Arg(1)->Arg(64)->UseRealTime();

void unary(benchmark::State& state) {
  const glia::unary_map map{static_cast<glia::unary_function>(state.range(0))};
  measure(state, kernels::unary{map}, values({1 << 18}));
  state.SetLabel(std::string(glia::name_of(map.function)));
}
BENCHMARK(unary)
    ->Arg(static_cast<int>(glia::unary_function::relu))
    ->Arg(static_cast<int>(glia::unary_function::exp))
    ->Arg(static_cast<int>(glia::unary_function::tanh))
    ->Arg(static_cast<int>(glia::unary_function::gelu))
    ->UseRealTime();

void dropout(benchmark::State& state) {
  const auto words = glia::step_key{.seed = 1}.to_words();
  const tensor key = device().from_host(std::span<const std::int32_t>(words), {words.size()});
  measure(state, kernels::dropout{0.3}, values({1 << 18}), key);
}
BENCHMARK(dropout)->UseRealTime();

void adam(benchmark::State& state) {
  const glia::shape s{679910};
  tensor p = values(s, 1);
  const tensor g = values(s, 2);
  tensor m = values(s, 3);
  tensor v = device().run(kernels::full{s, 1});
  const tensor numbers = glia::numbers_of(glia::adam{}, device(), 0);
  // In place, as in training.
  for (auto _ : state) {
    std::tie(p, m, v) = std::tuple_cat(device().run(kernels::adam{0.9, 0.999}, std::move(p), g,
                                                    std::move(m), std::move(v), numbers));
  }
  const auto steps = static_cast<double>(state.iterations());
  state.counters["bytes/s"] = benchmark::Counter(
      7 * sizeof(float) * static_cast<double>(s.size()) * steps, benchmark::Counter::kIsRate);
}
BENCHMARK(adam)->UseRealTime();

}  // namespace

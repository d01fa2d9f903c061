// One training step of the MNIST perceptron: forward, backward, Adam. Inputs have the density of
// MNIST's images, 19 %; --benchmark_filter=step/100 runs one batch size.

#include <benchmark/benchmark.h>

#include <glia/glia.hpp>

namespace {

void step(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  glia::model net{glia::sequential{glia::dense{400, glia::relu}, glia::dense{400, glia::relu},
                                   glia::dense{500, glia::relu}, glia::dense{10}},
                  {784}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
  glia::batch b;
  b.size = n;
  b.input_shape = {n, 784};
  for (std::size_t i = 0; i < n * 784; ++i) {
    const double u = glia::random_bits({.seed = 1}, i) * 0x1p-32;
    b.inputs.push_back(u < 0.19 ? static_cast<float>(u / 0.19) : 0.0F);
  }
  for (std::size_t i = 0; i < n; ++i) {
    b.classes.push_back(static_cast<std::int32_t>(i % 10));
  }
  for (auto _ : state) {
    trainer.step(b);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(step)->Arg(32)->Arg(100)->Arg(512)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

// One training step of the MNIST perceptron and of the MNIST convolutional network: forward,
// backward, Adam. Inputs have the density of MNIST's images, 19 %;
// --benchmark_filter=perceptron/100 runs one batch size.

#include <benchmark/benchmark.h>

#include <glia/glia.hpp>

namespace {

/// n images of the given shape.
glia::batch batch_of_digits(std::size_t n, const glia::shape& image) {
  glia::batch b;
  b.size = n;
  b.input_shape = glia::batch_of(n, image);
  for (std::size_t i = 0; i < b.input_shape.size(); ++i) {
    const double u = glia::detail::random_bits({.seed = 1}, i) * 0x1p-32;
    b.inputs.push_back(u < 0.19 ? static_cast<float>(u / 0.19) : 0.0F);
  }
  for (std::size_t i = 0; i < n; ++i) {
    b.labels.push_back(static_cast<std::int32_t>(i % 10));
  }
  return b;
}

template <class Description>
void step(benchmark::State& state, const Description& layers, const glia::shape& image,
          const glia::model_options& options = {}) {
  glia::model net{layers, image, glia::cpu<>(), options};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
  const glia::batch b = batch_of_digits(static_cast<std::size_t>(state.range(0)), image);
  for (auto _ : state) {
    trainer.step(b);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void perceptron(benchmark::State& state) {
  step(state,
       glia::sequential{glia::dense{400, glia::relu}, glia::dense{400, glia::relu},
                        glia::dense{500, glia::relu}, glia::dense{10}},
       {784});
}
BENCHMARK(perceptron)->Arg(32)->Arg(100)->Arg(512)->Unit(benchmark::kMillisecond)->UseRealTime();

void convolutional(benchmark::State& state) {
  const auto convolution = [](std::size_t filters) {
    return glia::conv2d{
        .filters = filters, .kernel_size = 2, .padding = glia::same, .activation = glia::relu};
  };
  step(state,
       glia::sequential{convolution(64), glia::max_pool2d{}, glia::dropout{0.3},  //
                        convolution(32), glia::max_pool2d{}, glia::dropout{0.3},  //
                        glia::flatten{}, glia::dense{256, glia::relu}, glia::dropout{0.5},
                        glia::dense{10}},
       {28, 28, 1}, {.depth_first = state.range(1) != 0});
}
BENCHMARK(convolutional)
    ->ArgNames({"images", "depth_first"})
    ->ArgsProduct({{256, 512, 1024}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace

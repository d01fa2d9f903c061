// Gradient accumulation: a step by the gradients of several batches, as with one large batch.

#include <glia/glia.hpp>
#include <iostream>

auto network() {
  return glia::model{
      glia::sequential{glia::dense{8, glia::tanh}, glia::dense{1}}, {2}, glia::cpu<double>{}};
}

int main() {
  xt::xarray<float> x = xt::zeros<float>({64, 2});
  glia::random_stream random({.seed = 1});
  for (float& element : x) {
    element = static_cast<float>(random.normal());
  }
  const glia::target_arrays data{x, xt::prod(x, {1}, xt::keep_dims)};
  const glia::fit_options options{
      .epochs = 10, .batch_size = 32, .shuffle = false, .progress = nullptr};

  auto large = network();
  glia::trainer large_trainer{large, glia::mean_squared_error{}, glia::adam{0.01}};
  large_trainer.fit(data, options);

  auto small = network();
  glia::trainer small_trainer{small, glia::mean_squared_error{},
                              glia::gradient_accumulation{glia::adam{0.01}, 4}};
  glia::fit_options small_options = options;
  small_options.batch_size = 8;
  small_trainer.fit(data, small_options);

  const double difference = xt::amax(
      xt::abs(large.get<double>("dense_0.kernel") - small.get<double>("dense_0.kernel")))();
  std::cout << "20 steps of 32 and of 4 times 8: the same weights to "
            << (difference < 1e-12 ? "12" : "fewer") << " digits\n";
}

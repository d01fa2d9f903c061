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
  for (float& one : x) {
    one = static_cast<float>(random.normal());
  }
  const glia::target_arrays data{x, xt::prod(x, {1}, xt::keep_dims)};
  const glia::fit_options options{
      .epochs = 10, .batch_size = 32, .shuffle = false, .progress = nullptr};

  auto large = network();
  glia::trainer at_once{large, glia::mean_squared_error{}, glia::adam{0.01}};
  at_once.fit(data, options);

  auto small = network();
  glia::trainer in_parts{small, glia::mean_squared_error{},
                         glia::gradient_accumulation{glia::adam{0.01}, 4}};
  glia::fit_options a_quarter = options;
  a_quarter.batch_size = 8;
  in_parts.fit(data, a_quarter);

  const double apart = xt::amax(
      xt::abs(large.get<double>("dense_0.kernel") - small.get<double>("dense_0.kernel")))();
  std::cout << "20 steps of 32 and of 4 times 8: the same weights to "
            << (apart < 1e-12 ? "12" : "fewer") << " digits\n";
}

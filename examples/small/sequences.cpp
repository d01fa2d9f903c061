// Sequences of different lengths: is the number of ones odd?

#include <glia/glia.hpp>
#include <iostream>

int main() {
  // 1 is a zero, 2 is a one, and 0 fills short sequences up to the longest.
  constexpr std::size_t sequences = 600;
  constexpr std::size_t longest = 8;
  xt::xarray<float> x = xt::zeros<float>({sequences, longest});
  xt::xarray<int> odd = xt::zeros<int>({sequences});
  glia::random_stream random({.seed = 1});
  for (std::size_t n = 0; n < sequences; ++n) {
    const std::size_t length = 2 + n % (longest - 1);
    for (std::size_t t = 0; t < length; ++t) {
      const bool is_one = random.uniform() < 0.5;
      x(n, t) = is_one ? 2 : 1;
      odd(n) ^= is_one ? 1 : 0;
    }
  }

  glia::model net{
      glia::sequential{glia::embedding{.input_dim = 3, .output_dim = 4, .mask_zero = true},
                       glia::gru{.units = 16}, glia::dense{2}},
      {longest}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{0.02}};
  trainer.fit(glia::labeled_arrays{x, odd}, {.epochs = 60, .batch_size = 30, .progress = nullptr});

  const xt::xarray<float> questions{{2, 1, 2, 0, 0, 0, 0, 0}, {1, 1, 2, 1, 2, 2, 0, 0}};
  const xt::xarray<float> y = net.predict(questions);
  for (std::size_t n = 0; n < 2; ++n) {
    std::cout << (n == 0 ? "101" : "001011") << " has an " << (y(n, 1) > y(n, 0) ? "odd" : "even")
              << " number of ones\n";
  }
}

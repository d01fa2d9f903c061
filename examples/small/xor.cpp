// The smallest network that learns something: exclusive or.

#include <glia/glia.hpp>
#include <iostream>

int main() {
  const xt::xarray<float> x{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const xt::xarray<int> y{0, 1, 1, 0};

  glia::model net{glia::sequential{glia::dense{8, glia::tanh}, glia::dense{2}}, {2}};
  std::cout << net.summary() << '\n';

  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{0.05}};
  trainer.fit(glia::labeled_arrays{x, y}, {.epochs = 200, .batch_size = 4, .progress = nullptr});

  const xt::xarray<float> probabilities = glia::softmax(net.predict(x));
  for (std::size_t n = 0; n < 4; ++n) {
    std::cout << x(n, 0) << " xor " << x(n, 1) << " is "
              << (probabilities(n, 1) > 0.95F   ? "1"
                  : probabilities(n, 0) > 0.95F ? "0"
                                                : "unclear")
              << '\n';
  }
}

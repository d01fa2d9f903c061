// Trains and predicts with arrays of whichever xtensor there is, and prints its version.
#include <glia/glia.hpp>
#include <iostream>
#if __has_include(<xtensor/core/xtensor_config.hpp>)
#include <xtensor/core/xtensor_config.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xtensor_config.hpp>
#include <xtensor/xview.hpp>
#endif

int main() {
  const xt::xarray<float> x{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const xt::xarray<int> y{0, 1, 1, 0};
  glia::model net{glia::sequential{glia::dense{8, glia::tanh}, glia::dense{2}}, {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{0.05f}};
  trainer.fit(glia::labeled_arrays{x, y}, {.epochs = 300, .batch_size = 4, .progress = nullptr});
  const xt::xarray<float> scores = glia::softmax(net.predict(x));
  const auto of_one = xt::view(scores, xt::all(), 1);
  std::cout << "xtensor " << XTENSOR_VERSION_MAJOR << '.' << XTENSOR_VERSION_MINOR << ": " << of_one
            << '\n';
  bool learned = true;
  for (std::size_t i = 0; i < 4; ++i) {
    learned = learned && (of_one(i) > 0.5f) == (y(i) == 1);
  }
  return learned ? 0 : 1;
}

// Trains a model, and says whether it learned.
#include <glia/glia.hpp>

int main() {
  const xt::xarray<float> x{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const xt::xarray<int> y{0, 1, 1, 0};
  glia::model net{glia::sequential{glia::dense{8, glia::tanh}, glia::dense{2}}, {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{.learning_rate = 0.05}};
  const glia::history h = trainer.fit(glia::labeled_arrays{x, y},
                                      {.epochs = 200, .batch_size = 4, .progress = nullptr});
  return h.epochs.back().training.loss < 0.1 ? 0 : 1;
}

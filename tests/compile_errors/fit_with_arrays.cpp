// expects: glia::labelled_arrays{x, classes} or glia::valued_arrays{x, values}
#include <glia/layers/dense.hpp>
#include <glia/losses/regression.hpp>
#include <glia/optimizers/sgd.hpp>
#include <glia/training/trainer.hpp>

void train(const xt::xarray<float>& x, const xt::xarray<float>& y) {
  glia::model net{glia::dense{1}, {1}};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{}};
  trainer.fit(x, y, {.epochs = 3});
}

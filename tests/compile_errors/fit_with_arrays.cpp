// expects: glia::labeled_arrays{inputs, labels} or glia::target_arrays{inputs, targets}
#include <glia/layers/dense.hpp>
#include <glia/losses/regression.hpp>
#include <glia/optimizers/sgd.hpp>
#include <glia/trainer.hpp>

void train(const xt::xarray<float>& x, const xt::xarray<float>& y) {
  glia::model net{glia::dense{1}, {1}};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{}};
  trainer.fit(x, y, {.epochs = 3});
}

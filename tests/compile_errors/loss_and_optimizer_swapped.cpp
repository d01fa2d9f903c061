// expects: the loss must come before the optimizer
#include <glia/data/array_dataset.hpp>
#include <glia/layers/dense.hpp>
#include <glia/losses/regression.hpp>
#include <glia/optimizers/sgd.hpp>
#include <glia/trainer.hpp>

void train(const glia::target_arrays& data) {
  glia::model net{glia::dense{1}, {1}};
  glia::trainer trainer{net, glia::sgd{}, glia::mean_squared_error{}};
  trainer.fit(data, {.epochs = 3});
}

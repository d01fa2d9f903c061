// expects: trainer: expected a loss
#include <glia/data/array_dataset.hpp>
#include <glia/layers/dense.hpp>
#include <glia/losses/regression.hpp>
#include <glia/optimizers/sgd.hpp>
#include <glia/trainer.hpp>

void train(const glia::target_arrays& data) {
  glia::model net{glia::dense{1}, {1}};
  glia::trainer trainer{net, [](double y, double) { return y; }, glia::sgd{}};
  trainer.fit(data, {.epochs = 3});
}

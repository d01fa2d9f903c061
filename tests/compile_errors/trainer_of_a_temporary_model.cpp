// expects: the model must outlive the trainer
#include <glia/data/array_dataset.hpp>
#include <glia/layers/dense.hpp>
#include <glia/losses/regression.hpp>
#include <glia/optimizers/sgd.hpp>
#include <glia/trainer.hpp>

void train(const glia::target_arrays& data) {
  glia::model net{glia::dense{1}, {1}};
  glia::trainer trainer{glia::model{glia::dense{1}, {1}}, glia::mean_squared_error{}, glia::sgd{}};
  trainer.fit(data, {.epochs = 3});
}

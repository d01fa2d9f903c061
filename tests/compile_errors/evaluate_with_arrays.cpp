// expects: glia::labeled_arrays{inputs, labels} or glia::target_arrays{inputs, targets}
#include <glia/layers/dense.hpp>
#include <glia/losses/regression.hpp>
#include <glia/training/evaluate.hpp>

double loss_of(const xt::xarray<float>& x, const xt::xarray<float>& y) {
  const glia::model net{glia::dense{1}, {1}};
  return glia::evaluate(net, x, y, glia::mean_squared_error{}).loss;
}

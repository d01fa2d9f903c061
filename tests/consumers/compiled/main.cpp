// What programs that link glia::compiled must find in it, or still compile themselves.
#include <glia/glia.hpp>
#include <glia/testing/gradient_check.hpp>
#include <iostream>

int main() {
  const glia::sequential layers{glia::named{"first", glia::dense{4, glia::tanh}}, glia::dense{2},
                                glia::lambda{"halve", [](auto x) { return x * 0.5; }}};
  glia::model net{layers, {3}};
  const xt::xarray<float> x = xt::ones<float>({5, 3});
  std::cout << net.summary() << net.predict(x) << net.prepare({.batch = 5})(x) << '\n';

  const xt::xarray<int> y = xt::zeros<int>({5});
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
  trainer.fit(glia::labelled_arrays{x, y}, {.epochs = 2, .progress = nullptr});
  trainer.restore(trainer.state());

  glia::tape<glia::cpu<float>> on(net.device());
  std::vector<glia::gradient_slot> slots;
  const std::vector<float> one{1, 2, 3};
  const auto at_once = net.forward(on.constant(net.device().from_host(std::span(one), {1, 3})),
                                   slots, glia::run_mode::inference, {});
  const bool planned = glia::plan_model(layers, {3}).parameters.size() == 4;
  const double error =
      glia::testing::layer_gradient_error(glia::cpu<double>(), glia::dense{2}, {{5, 4}, 1U});
  glia::model exact{layers, {3}, glia::cpu<double>()};
  return at_once.shape() == glia::shape{1, 2} && planned && error < 1e-6 &&
                 exact.predict<double>(x).size() == 10
             ? 0
             : 1;
}

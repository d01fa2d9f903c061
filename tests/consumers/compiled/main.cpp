// A program that compiles header-only and with glia::compiled, and links either way: models on the
// cpu backend in float and double, on the reference backend and on one of its own.
#include <cmath>
#include <glia/glia.hpp>
#include <glia/onnx.hpp>
#include <glia/testing/gradient_check.hpp>
#include <iostream>

#include "../../forwarding_backend.hpp"

/// A backend of the program's own, which hands all kernels to the reference backend. It has none of
/// the optional functions.
class own_backend : public test::forwarding_backend {
 public:
  own_backend() : forwarding_backend(glia::reference<float>()) {}

  [[nodiscard]] std::string_view name() const override { return "own"; }
  [[nodiscard]] glia::fused_kernel_set fused() const override { return {}; }
};

/// The loss after two epochs.
double trained_loss(const glia::device& device) {
  const glia::sequential layers{glia::named{"first", glia::dense{4, glia::tanh}}, glia::dense{2},
                                glia::lambda{"halve", [](auto x) { return x * 0.5; }}};
  glia::model net{layers, {3}, device};
  const xt::xarray<float> x = xt::ones<float>({5, 3});
  const xt::xarray<int> y = xt::zeros<int>({5});
  const glia::labeled_arrays data{x, y};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
  trainer.fit(data, {.epochs = 2, .progress = nullptr});
  trainer.restore(trainer.state());
  const double loss = glia::evaluate(net, data, glia::softmax_cross_entropy{}).loss;
  std::cout << device.name() << ": loss " << loss << '\n';
  return net.predict(x).size() == 10 && net.summary().size() > 10 ? loss : -1;
}

int main() {
  const double exact = trained_loss(glia::reference<double>());
  bool trained = true;
  for (const double loss : {trained_loss(glia::cpu<float>()), trained_loss(glia::cpu<double>()),
                            trained_loss(glia::reference<float>()),
                            trained_loss(glia::device(std::make_shared<const own_backend>()))}) {
    trained = trained && std::abs(loss - exact) < 1e-5;
  }

  const glia::sequential layers{glia::conv2d{.filters = 2, .kernel_size = 3}, glia::relu,
                                glia::max_pool2d{}, glia::flatten{}, glia::dense{2}};
  glia::model net{layers, {8, 8, 1}};
  const xt::xarray<float> images = xt::ones<float>({2, 8, 8, 1});
  const auto expected = net.prepare({.batch_size = 2})(images);
  glia::write_onnx(net, "net.onnx");
  glia::model read{glia::onnx_model{"net.onnx"}};
  const bool same = xt::allclose(read.predict(images), expected, 1e-5, 1e-5);

  const double error =
      glia::testing::layer_gradient_error(glia::cpu<double>(), glia::dense{2}, {{5, 4}, 1U});
  std::cout << "written and read: " << same << ", gradient's error " << error << '\n';
  return trained && same && error < 1e-6 ? 0 : 1;
}

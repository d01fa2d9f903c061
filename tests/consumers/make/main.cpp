// Trains a model, writes it to an ONNX file and reads it back.
#include <glia/glia.hpp>
#include <glia/onnx.hpp>

int main() {
  const xt::xarray<float> x{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const xt::xarray<int> y{0, 1, 1, 0};
  glia::model net{glia::sequential{glia::dense{8, glia::tanh}, glia::dense{2}}, {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{.learning_rate = 0.05}};
  const glia::history history = trainer.fit(glia::labeled_arrays{x, y},
                                            {.epochs = 200, .batch_size = 4, .progress = nullptr});
  glia::write_onnx(net, "net.onnx");
  const glia::model read{glia::onnx_model{"net.onnx"}};
  const bool same = xt::allclose(read.predict(x), net.predict(x), 1e-5, 1e-5);
  return history.epochs.back().training.loss < 0.1 && same ? 0 : 1;
}

// Predictions with an ONNX file: the program does not know the network, the file has everything.

#include <glia/glia.hpp>
#include <glia/onnx.hpp>
#include <iostream>

/// What another program, or PyTorch, or Keras, has left.
void write_network(const std::filesystem::path& path) {
  const xt::xarray<float> x{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  glia::model net{glia::sequential{glia::dense{8, glia::tanh}, glia::dense{2}, glia::softmax}, {2}};
  const auto loss = [](const auto& y, const auto& t) {
    return glia::ops::mean_per_sample(glia::ops::square(y - t.values));
  };
  glia::trainer trainer{net, loss, glia::adam{0.05}};
  const xt::xarray<float> y{{1, 0}, {0, 1}, {0, 1}, {1, 0}};
  trainer.fit(glia::target_arrays{x, y}, {.epochs = 300, .batch_size = 4, .progress = nullptr});
  glia::write_onnx(
      net, path,
      {.metadata = glia::model_info{.class_names = {"same", "different"}}.to_metadata()});
}

int main() {
  write_network("xor.onnx");

  const glia::onnx_model file{"xor.onnx"};
  const glia::model net{file};
  const auto ready = net.prepare({.batch_size = 1});
  const auto classes = glia::model_info::from_metadata(file.metadata()).class_names;
  for (const auto& [a, b] : {std::pair{0.0F, 1.0F}, {1.0F, 1.0F}}) {
    const xt::xarray<float> y = ready(xt::xarray<float>{{a, b}});
    std::cout << a << " and " << b << " are " << classes[y(0, 1) > y(0, 0) ? 1 : 0] << '\n';
  }
}

// Save a model to a file and load it: complete and verified, or not at all.

#include <glia/glia.hpp>
#include <glia/models/model_file.hpp>
#include <iostream>

auto network(std::size_t hidden) {
  return glia::sequential{glia::dense{hidden, glia::relu}, glia::dense{1}};
}

int main() {
  xt::xarray<float> x = xt::linspace<float>(-1, 1, 50);
  x.reshape({50, 1});
  glia::model net{network(16), {1}};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::adam{0.01}};
  trainer.fit(glia::target_arrays{x, x * x},
              {.epochs = 100, .batch_size = 10, .progress = nullptr});
  glia::save(net, "parabola.safetensors");

  // The same in another program, which knows the network.
  glia::model loaded{network(16), {1}};
  glia::load(loaded, "parabola.safetensors");
  std::cout << std::boolalpha << "the same outputs: " << (loaded.predict(x) == net.predict(x))
            << '\n';

  glia::model other{network(8), {1}};
  try {
    glia::load(other, "parabola.safetensors");
  } catch (const glia::data_error& e) {
    std::cout << e.what() << '\n';
  }
}

#include <glia/glia.hpp>
#include <glia/models/model_file.hpp>

int main() {
  glia::model net{glia::sequential{glia::dense{4, glia::relu}, glia::dense{2}}, {3}};
  glia::save(net, "net.safetensors");
  glia::load(net, "net.safetensors");
  const xt::xarray<float> y = net.predict(xt::ones<float>({5, 3}));
  return y.size() == 10 && net.parameter_count() == 26 ? 0 : 1;
}

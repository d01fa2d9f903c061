#include <glia/compression/gzip.hpp>
#include <glia/glia.hpp>
#include <glia/image.hpp>
#include <glia/io/npz.hpp>
#include <glia/io/safetensors.hpp>
#include <iostream>

int main() {
  glia::model net{glia::sequential{glia::dense{4, glia::relu}, glia::dense{2}}, {3}};
  const xt::xarray<float> x = xt::ones<float>({5, 3});
  std::cout << net.summary() << net.predict(x) << '\n';
  return net.parameter_count() == 26 ? 0 : 1;
}

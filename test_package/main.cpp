#include <glia/glia.hpp>
#include <iostream>

#ifdef WITH_compression
#include <glia/compression/gzip.hpp>
#endif
#ifdef WITH_image
#include <glia/image.hpp>
#endif
#ifdef WITH_safetensors
#include <glia/io/parameters.hpp>
#include <glia/io/safetensors.hpp>
#endif
#ifdef WITH_npz
#include <glia/io/npz.hpp>
#endif

int main() {
  glia::model net{glia::sequential{glia::dense{4, glia::relu}, glia::dense{2}}, {3}};
  const xt::xarray<float> x = xt::ones<float>({5, 3});
  std::cout << net.summary() << net.predict(x) << '\n';
#ifdef WITH_safetensors
  glia::write_safetensors("net.safetensors", glia::parameters_of(net));
  glia::load_parameters(net, glia::read_safetensors("net.safetensors"), glia::same_names(net));
#endif
  return net.parameter_count() == 26 ? 0 : 1;
}

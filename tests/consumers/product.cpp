// A product of matrices: what a consumer has to find is headers and BLAS, which this compiles and
// links in a third of the time of a model. (find_package's and Conan's consumer has all components,
// pkg-config's a model.)
#include <glia/glia.hpp>

int main() {
  const glia::cpu<float> device;
  const std::vector<float> ones(12, 1);
  const auto a = device.from_host(std::span(ones).first(6), {2, 3});
  const auto b = device.from_host(std::span(ones), {3, 4});
  const glia::cpu<float>::tensor no_bias;
  std::vector<float> y(8);
  device.to_host(device.run(glia::kernels::dense{}, a, b, no_bias), std::span(y));
  return y == std::vector<float>(8, 3) ? 0 : 1;
}

// Parallel branches of one picture, and a shortcut around a block.

#include <glia/glia.hpp>
#include <iostream>

int main() {
  // Inception: windows of several sizes, their channels one behind the other.
  const glia::parallel inception{
      glia::conv2d{.filters = 8, .kernel_size = 1},
      glia::sequential{glia::conv2d{.filters = 4, .kernel_size = 1, .activation = glia::relu},
                       glia::conv2d{.filters = 8, .kernel_size = 3, .padding = glia::same}}};
  // ResNet: what the body gives is added to what went in.
  const glia::residual block{
      glia::sequential{glia::conv2d{.filters = 16, .kernel_size = 3, .padding = glia::same},
                       glia::batch_norm{}, glia::relu,
                       glia::conv2d{.filters = 16, .kernel_size = 3, .padding = glia::same},
                       glia::batch_norm{}},
      glia::identity{}, glia::relu};

  glia::model net{glia::sequential{inception, glia::relu, block, block, glia::global_avg_pool2d{},
                                   glia::dense{3}},
                  {16, 16, 3}};
  std::cout << net.summary();
  const xt::xarray<float> y = net.predict(xt::ones<float>({2, 16, 16, 3}));
  std::cout << "2 pictures give " << y.shape(0) << " x " << y.shape(1) << " numbers\n";
}

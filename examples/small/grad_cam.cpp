// The strokes by which a network recognizes digits: Grad-CAM maps, drawn on the digits.

#include <glia/compression/gzip.hpp>
#include <glia/glia.hpp>
#include <glia/image.hpp>
#include <iostream>
#include <span>
#include <utility>
#include <vector>
#include <xtensor/xview.hpp>

int main() {
  auto digits = glia::load_mnist(GLIA_EXAMPLE_DATA "/mnist", glia::gzip_files{});
  digits.train.keep_first(6000);
  const glia::image_bytes train = std::move(digits.train).reshaped({28, 28, 1});
  const auto conv = [](std::size_t filters) {
    return glia::conv2d{.filters = filters, .kernel_size = 3, .activation = glia::relu};
  };
  // Maps are clearest for a layer before global pooling, which weighs all positions equally.
  glia::model net{glia::sequential{conv(16), glia::max_pool2d{}, conv(32), conv(32),
                                   glia::global_avg_pool2d{}, glia::dense{10}},
                  {28, 28, 1}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{0.005}};
  trainer.fit(train, {.epochs = 3, .progress = nullptr});

  // The first test image of each digit.
  xt::xarray<float> images = xt::zeros<float>({10, 28, 28, 1});
  for (std::size_t digit = 0; digit < 10; ++digit) {
    std::size_t i = 0;
    while (digits.test.label(i) != static_cast<std::int32_t>(digit)) {
      ++i;
    }
    digits.test.input(i, std::span<float>(images.data() + digit * 784, 784));
  }
  const xt::xarray<float> maps = glia::grad_cam(net, images, {.layer = "conv2d_2"});

  std::vector<glia::framed_image> pictures;
  for (std::size_t digit = 0; digit < 10; ++digit) {
    const glia::image picture = glia::to_image(xt::view(images, digit));
    pictures.push_back({glia::overlay(picture, xt::view(maps, digit), {.scale = 5})});
  }
  glia::write_png("digits.png", glia::image_grid(pictures));
  std::cout << "10 maps of " << maps.shape(1) << " x " << maps.shape(2)
            << " values are drawn in digits.png\n";
}

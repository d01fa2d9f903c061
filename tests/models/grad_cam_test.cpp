#include <xtensor/xview.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using glia::conv2d;
using glia::dense;
using glia::grad_cam;
using glia::sequential;
using test::contains;
using test::message_of;

namespace {

/// Two 1 x 1 filters, the mean over the pixels, and two classes.
auto image_network() {
  return sequential{conv2d{.filters = 2, .kernel_size = 1}, glia::global_avg_pool2d{}, dense{2}};
}

}  // namespace

TEST_CASE(
    "a Grad-CAM map is the weighted sum of the channels, cut at 0 and divided by its "
    "maximum") {
  glia::model net{image_network(), {2, 2, 1}};
  net.set("conv2d_0.kernel", xt::xarray<float>({1, 1, 1, 2}, 1));
  net.set("conv2d_0.bias", xt::xarray<float>{0, -2});
  net.set("dense_0.kernel", xt::xarray<float>{{1, -1}, {3, 0}});
  // Class 0: each pixel has the gradients (1, 3) / 4. With the mean over the pixels, the weights
  // are 1/4 and 3/4, and the map is relu(x / 4 + 3 (x - 2) / 4) = relu(x - 1.5).
  const xt::xarray<float> pixels{{1, 2, 3.5, 0.5}, {0, 1, 1, -1}};
  const xt::xarray<float> x = xt::reshape_view(pixels, {2, 2, 2, 1});
  const xt::xarray<float> map = grad_cam(net, x, {.layer = "conv2d_0", .class_index = 0});
  CHECK(map.shape(0) == 2);
  CHECK(map.shape(2) == 2);
  CHECK((xt::view(map, 0) == xt::xarray<float>{{0, 0.25}, {1, 0}}));
  CHECK((xt::view(map, 1) == xt::zeros<float>({2, 2})));
  CHECK((grad_cam(net, x, {.class_index = 0, .batch_size = 1}) == map));
  // Class 1: relu(-x / 4).
  CHECK((xt::view(grad_cam(net, x, {.class_index = 1}), 1) == xt::xarray<float>{{0, 0}, {0, 1}}));
}

TEST_CASE("by default, a map explains the predicted class of each image") {
  glia::model net{image_network(), {3, 2, 1}, glia::reference<double>{}};
  xt::xarray<double> x = xt::zeros<double>({4, 3, 2, 1});
  glia::random_stream random({.seed = 3});
  for (double& value : x) {
    value = random.normal();
  }
  const xt::xarray<double> y = net.predict<double>(x);
  const xt::xarray<double> predicted = grad_cam<double>(net, x);
  CHECK(y(0, 0) != y(0, 1));
  for (std::size_t n = 0; n < 4; ++n) {
    const std::size_t best = y(n, 1) > y(n, 0) ? 1 : 0;
    CHECK((xt::view(predicted, n) == xt::view(grad_cam<double>(net, x, {.class_index = best}), n)));
  }
}

TEST_CASE("Grad-CAM reads compositions, and refuses layers without images") {
  const glia::model net{
      sequential{
          glia::residual{conv2d{.filters = 1, .kernel_size = 3, .padding = glia::same}},
          glia::named{"last", sequential{conv2d{.filters = 3, .kernel_size = 2}, glia::relu}},
          glia::flatten{}, dense{2}},
      {4, 5, 1}};
  const xt::xarray<float> x = xt::ones<float>({1, 4, 5, 1});
  CHECK(grad_cam(net, x, {.layer = "residual_0"}).shape(2) == 5);
  CHECK((grad_cam(net, x, {.layer = "last"}) == grad_cam(net, x)));
  CHECK(grad_cam(net, x).shape(1) == 3);
  const auto message = [&](const glia::grad_cam_options& options) {
    return message_of<glia::error>([&] { static_cast<void>(grad_cam(net, x, options)); });
  };
  CHECK(message({.layer = "dense_0"}) ==
        "grad_cam: expected a layer with outputs (N, H, W, C), got (N, 2) of the layer 'dense_0'; "
        "choose a layer of images, such as the last convolution");
  CHECK(
      contains(message({.layer = "conv"}), "grad_cam: there is no layer 'conv'; the layers are: "));
  CHECK(contains(message({.class_index = 2}), "expected an output index below 2"));
  const glia::model plain{dense{2}, {3}};
  CHECK(message_of<glia::value_error>([&] {
          static_cast<void>(grad_cam(plain, xt::ones<float>({1, 3})));
        }) ==
        "grad_cam: expected a model with a layer whose output is (N, H, W, C), such as a "
        "convolution of images, got dense(2)");
}

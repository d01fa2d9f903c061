#include <algorithm>
#include <cmath>
#include <filesystem>
#include <glia/models/zoo/xception.hpp>
#include <glia/onnx.hpp>
#include <optional>
#include <string>
#include <vector>

#include "../examples/flowers/network.hpp"
#include "../examples/flowers/xception.hpp"
#include "../examples/mnist_networks.hpp"
#include "../examples/video/clip_network.hpp"
#include "../examples/video/network.hpp"
#include "catch.hpp"
#include "helpers.hpp"
#include "onnx/other_runtimes.hpp"
#include "run_python.hpp"
#include "temporary_folder.hpp"

namespace {

/// A network of the examples, written and read again: the same bits; by other runtimes, where they
/// are there, the same numbers.
template <class Description>
void check_example(const std::string& name, const Description& description,
                   const glia::shape& sample) {
  INFO(name);
  const test::temporary_folder scratch;
  const glia::model net{description, sample, glia::cpu<float>{}, {.seed = 5}};
  const auto file = scratch.path() / "net.onnx";
  glia::write_onnx(net, file);
  const glia::shape batch = glia::batch_of(3, sample);
  xt::xarray<float> x = xt::zeros<float>(std::vector<std::size_t>(batch.begin(), batch.end()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<float>(
        glia::detail::random_bits({.seed = 4}, static_cast<std::uint32_t>(i)) * 0x1p-31 - 1);
  }
  const xt::xarray<float> y = net.predict(x);
  const glia::model reread{glia::onnx_model{file}};
  CHECK(test::distance(reread.predict(x), y) == 0);
  for (const std::string runtime : {"onnxruntime", "openvino"}) {
    const auto python = test::python_with(runtime);
    if (!python) {
      continue;
    }
    INFO(runtime);
    const std::vector<float> other = test::run_by(runtime, *python, file, x);
    REQUIRE(other.size() == y.size());
    const float largest = xt::amax(xt::abs(y))();
    CHECK(test::distance(other, y) < 1e-5 * std::max(1.0F, largest));
  }
}

}  // namespace

TEST_CASE("the examples' networks are read again to the same bits, and run by others") {
  check_example("perceptron", perceptron(), {784});
  check_example("convolutional network", convolutional_network(), {28, 28, 1});
  check_example("the model garden's", garden_network(), {28, 28, 1});
  check_example("one layer", one_layer_network(), {28, 28, 1});
  check_example("flowers", flowers_network(glia::mobilenet_v2({.width = 0.35}), 2, 5), {96, 96, 3});
  check_example("xception", xception_network({.width = 0.25}, 5), {71, 71, 3});
  check_example("two views of videos", two_views(16, 14), {25, 64});
  check_example(
      "clips",
      clip_network(glia::conv2d{.filters = 8, .kernel_size = 3, .activation = glia::relu}, 16, 4),
      {5, 12, 12, 3});
}

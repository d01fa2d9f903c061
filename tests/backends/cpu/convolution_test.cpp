#include <glia/backends/cpu.hpp>

#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("convolutions refuse an empty batch") {
  using tensor = glia::tensor;
  const glia::cpu<float> device;
  const auto empty = device.run(kernels::full{{0, 5, 5, 1}, 0});
  const auto kernel = device.run(kernels::full{{2, 2, 1, 3}, 0});
  const glia::window2d window{2, 2};
  const std::string refusal = "pooling: expected at least one image, got (0, 5, 5, 1)";
  using test::message_of;
  CHECK(message_of<glia::shape_error>([&] {
          (void)device.run(kernels::conv2d{window, 1, glia::kernels::identity_map}, empty, kernel,
                           tensor{});
        }) == "conv2d: expected at least one image, got (0, 5, 5, 1)");
  CHECK(message_of<glia::shape_error>([&] {
          (void)device.run(kernels::conv2d_max_pool2d{{window, 1, {2, 2, 2, 2}}}, empty, kernel,
                           tensor{});
        }) == "conv2d: expected at least one image, got (0, 5, 5, 1)");
  CHECK(message_of<glia::shape_error>(
            [&] { (void)device.run(kernels::max_pool2d{window}, empty); }) == refusal);
}

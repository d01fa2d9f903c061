#include <glia/backends/cpu.hpp>

#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("a fused pooling that would need more than a byte is refused") {
  const glia::cpu<float> device;
  const auto refused = [&](const glia::unary_map& map, const glia::window2d& pool) {
    return test::message_of<glia::value_error>([&] {
      (void)device.run(kernels::conv2d_max_pool2d{{glia::window2d{}, 1, pool}, map},
                       device.run(kernels::full{{1, 6, 6, 1}, 0}),
                       device.run(kernels::full{{1, 1, 1, 2}, 0}), glia::tensor{});
    });
  };
  CHECK(test::contains(refused(glia::tanh.map, {2, 2, 2, 2}), "got tanh"));
  CHECK(test::contains(refused(glia::relu.map, {2, 2, 1, 2}), "neither overlap"));
  CHECK(refused(glia::relu.map, {2, 2, 3, 2}).empty());
}

#include "catch.hpp"
#include "cost_device.hpp"
#include "helpers.hpp"

TEST_CASE("the cost backend counts operations, traffic and live memory") {
  const test::cost device;
  auto x = device.run(kernels::full{{100, 784}, 0});
  auto w = device.run(kernels::full{{784, 400}, 0});
  const std::size_t initial_bytes = device.totals().live_bytes;
  CHECK(initial_bytes == 4 * (100 * 784 + 784 * 400));
  const double written = device.totals().bytes_moved;
  CHECK(written == 4.0 * (100 * 784 + 784 * 400));
  {
    const auto y = device.run(kernels::matmul{glia::transpose::none}, x, w);
    CHECK(y.shape() == glia::shape{100, 400});
    CHECK(device.totals().flops == 2.0 * 100 * 784 * 400);
    CHECK(device.totals().bytes_moved - written == 4.0 * (100 * 784 + 784 * 400 + 100 * 400));
    CHECK(device.totals().live_bytes == initial_bytes + 4 * 100 * 400);
  }
  CHECK(device.totals().live_bytes == initial_bytes);
  CHECK(device.totals().peak_bytes == initial_bytes + 4 * 100 * 400);
}

TEST_CASE("an operand that was given up takes no new memory") {
  const test::cost device;
  auto x = device.run(kernels::full{{10, 10}, 0});
  const auto y = device.run(kernels::unary{{glia::unary_function::relu}}, std::move(x));
  CHECK(device.totals().peak_bytes == 400);
  const auto z = device.run(kernels::unary{{glia::unary_function::relu}}, y);
  CHECK(device.totals().peak_bytes == 800);
}

TEST_CASE("a training step can be counted without a number") {
  const test::cost device;
  glia::model net{glia::sequential{glia::dense{400, glia::relu}, glia::dense{10}}, {784}, device};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
  const double initial_flops = device.totals().flops;
  glia::batch b{.size = 100,
                .input_shape = {100, 784},
                .inputs = std::vector<float>(78400),
                .labels = std::vector<std::int32_t>(100),
                .target_shape = {},
                .targets = {}};
  trainer.step(b);
  // Three products per layer but no input gradient for the first; all else is small beside them.
  const double products = 2.0 * 100 * (2 * 784 * 400 + 3 * 400 * 10);
  CHECK(device.totals().flops - initial_flops > products);
  CHECK(device.totals().flops - initial_flops < 1.1 * products);
}

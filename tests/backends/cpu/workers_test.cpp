#include <glia/backends/cpu.hpp>
#include <glia/testing/bench.hpp>

#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("the cpu backend gives the same bits for any number of threads") {
  const auto run = [](std::size_t threads) {
    const glia::cpu<float> device({.threads = threads});
    glia::testing::detail::bench b(device, false);
    b.out(device.run(kernels::matmul{glia::transpose::none}, b.input({100, 784}, 1),
                     b.input({784, 400}, 2)));
    b.out(device.run(kernels::matmul{glia::transpose::first}, b.sparse({784, 100}, 3),
                     b.input({784, 400}, 4)));
    b.out(device.run(kernels::matmul{glia::transpose::second}, b.sparse({100, 300}, 5),
                     b.input({401, 300}, 6)));
    b.out(device.run(kernels::matmul{glia::transpose::none}, b.sparse({200, 300}, 5),
                     b.input({300, 23}, 6)));
    const glia::window2d window{3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
    b.out(device.run(kernels::conv2d_kernel_gradient{window, 1}, b.input({37, 9, 8, 3}, 7),
                     b.input({37, 9, 8, 5}, 8)));
    b.out(device.run(kernels::conv2d_kernel_gradient{window, 1}, b.input({37, 9, 8, 16}, 7),
                     b.sparse({37, 9, 8, 5}, 8)));
    for (const std::size_t channels : {std::size_t{3}, std::size_t{32}}) {
      const auto x = b.input({37, 9, 8, channels}, 7);
      const auto w = b.input({3, 3, channels, 5}, 8);
      const glia::kernels::convolution_pooling pooling{window, 1, {2, 2, 2, 2}};
      const auto [y, position] =
          device.run(kernels::conv2d_max_pool2d{pooling, glia::relu.map}, x, w, glia::tensor{});
      b.out(y);
      b.out(device.run(kernels::conv2d_max_pool2d_gradient{pooling}, b.input({37, 4, 4, 5}, 9), x,
                       w, position)[1]);
    }
    b.out(device.run(kernels::sum_to{{37}}, b.input({3000, 37}, 9)));
    b.out(device.run(kernels::normalize_gradient{glia::normalization::layer, 1e-3},
                     b.input({300, 65}, 10), b.input({300, 65}, 11), b.input({65}, 12),
                     b.input({300}, 13), b.input({300}, 14, 0.5F, 1))[1]);
    b.out(device.run(kernels::batched_matmul{}, b.input({3, 90, 200}, 15),
                     b.input({3, 200, 130}, 16)));
    b.out(
        device.run(kernels::batched_matmul{}, b.input({70, 9, 20}, 15), b.input({70, 20, 13}, 16)));
    std::vector<std::int32_t> indices(500);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      indices[i] = static_cast<std::int32_t>(i * i % 7);
    }
    b.out(device.run(kernels::scatter_add{7}, b.input({500, 300}, 17), b.integers(indices)));
    return b.outputs();
  };
  const auto expected = run(1);
  CHECK(expected == run(2));
  CHECK(expected == run(3));
}

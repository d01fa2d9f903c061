#include <glia/backends/cpu.hpp>
#include <glia/core/flush_denormals.hpp>

#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("tensors without elements are computed with as any others") {
  const glia::cpu<float> device({.threads = 2});
  using glia::transpose;
  CHECK(device
            .run(kernels::binary{glia::binary_function::add}, device.run(kernels::full{{0}, 1}),
                 device.run(kernels::full{{}, 1}))
            .size() == 0);
  CHECK(test::values_of(device,
                        device.run(kernels::sum_to{{}}, device.run(kernels::full{{0, 3}, 1}))) ==
        std::vector<float>{0});
  CHECK(device
            .run(kernels::matmul{transpose::none}, device.run(kernels::full{{0, 3}, 1}),
                 device.run(kernels::full{{3, 0}, 1}))
            .size() == 0);
  CHECK(device
            .run(kernels::matmul{transpose::first}, device.run(kernels::full{{4, 0}, 1}),
                 device.run(kernels::full{{4, 3}, 1}))
            .size() == 0);
  CHECK(test::values_of(device, device.run(kernels::matmul{transpose::none},
                                           device.run(kernels::full{{2, 0}, 1}),
                                           device.run(kernels::full{{0, 3}, 1}))) ==
        std::vector<float>(6, 0.0F));
  CHECK(device.run(kernels::unary{glia::relu.map}, device.run(kernels::full{{0, 7}, 1})).size() ==
        0);
}

TEST_CASE("shapes that no memory holds are refused and not wrapped around") {
  const glia::cpu<float> device({.threads = 1});
  for (const glia::shape& s :
       {glia::shape{std::size_t{1} << 32, std::size_t{1} << 32},
        glia::shape{(std::size_t{1} << 62) + 1}, glia::shape{(std::size_t{1} << 62) - 1}}) {
    CHECK_THROWS_AS(test::host_of(device).uninitialized(glia::real_of(s)), glia::shape_error);
  }
  CHECK(device.run(kernels::full{{std::size_t{1} << 40, std::size_t{1} << 40, 0}, 1}).size() == 0);
  const std::string message = test::message_of<glia::error>([] {
    const glia::model net{glia::sequential{glia::dense{(std::size_t{1} << 52) - 1}},
                          {std::size_t{1} << 20}};
  });
  CHECK(test::contains(message, "sequential[0] dense("));
}

TEST_CASE("numbers too small for full precision count as zero, on every thread and only there") {
  const glia::cpu<float> device({.threads = 2});
  const float tiny = 1e-39F;
  const std::vector<float> many(100'000, tiny);
  const auto doubled = device.run(kernels::unary{{glia::unary_function::affine, 2, 0}},
                                  device.from_host(std::span<const float>(many), {many.size()}));
  CHECK(test::values_of(device, doubled) == std::vector<float>(many.size(), 0.0F));
  const auto product =
      device.run(kernels::matmul{glia::transpose::none}, device.run(kernels::full{{2, 2}, 1e-30}),
                 device.run(kernels::full{{2, 2}, 1e-10}));
  CHECK(test::values_of(device, product) == std::vector<float>(4, 0.0F));
  const volatile float value = tiny;
  CHECK(value * 2 > 0);
  {
    const glia::flush_denormals guard;
    CHECK(value * 2 == 0);
  }
  CHECK(value * 2 > 0);
}

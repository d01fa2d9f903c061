#include <glia/backends/broadcast_plan.hpp>
#include <glia/kernels/kernels.hpp>

#include "catch.hpp"
#include "helpers.hpp"

using test::contains;
using test::message_of;

TEST_CASE("broadcasting follows NumPy") {
  CHECK(glia::broadcast_shape({2, 3, 5}, {3, 1}) == glia::shape{2, 3, 5});
  CHECK(glia::broadcast_shape({}, {4}) == glia::shape{4});
  CHECK(contains(message_of<glia::shape_error>([] {
                   (void)glia::broadcast_shape({2, 3}, {2});
                 }),
                 "(2, 3) and (2,) do not broadcast"));
}

TEST_CASE("a broadcast plan merges axes that behave alike") {
  const glia::shape image{4, 5, 6};
  const glia::broadcast_plan same(image, image, image);
  CHECK(same.rows() == 1);
  CHECK(same.inner() == 120);
  const glia::broadcast_plan bias(image, image, glia::shape{6});
  CHECK(bias.rows() == 20);
  CHECK(bias.inner_step(1) == 1);
  CHECK(bias.row_offsets(3) == std::array<std::size_t, 2>{18, 0});
  const glia::broadcast_plan column(image, image, glia::shape{5, 1}, glia::shape{});
  CHECK(column.rows() == 20);
  CHECK(column.inner_step(1) == 0);
  CHECK(column.row_offsets(8) == std::array<std::size_t, 3>{48, 3, 0});
  CHECK(glia::broadcast_plan(glia::shape{}, glia::shape{}).rows() == 1);
  CHECK(glia::broadcast_plan(glia::shape{2, 0}, glia::shape{2, 1}).rows() == 0);
}

TEST_CASE("matrix products refuse what does not fit") {
  CHECK(glia::matmul_rule({2, 3}, {4, 3}, glia::transpose::second).n == 4);
  CHECK(contains(message_of<glia::shape_error>([] {
                   (void)glia::matmul_rule({2, 3}, {4, 5}, glia::transpose::none);
                 }),
                 "inner extents disagree: (2, 3) times (4, 5)"));
  CHECK(contains(message_of<glia::shape_error>([] {
                   (void)glia::matmul_rule({2, 3, 1}, {4, 5}, glia::transpose::none);
                 }),
                 "expected two matrices"));
}

TEST_CASE("convolutions and pools refuse what does not fit") {
  const glia::window2d window{3, 3};
  CHECK(glia::conv2d_rule({1, 5, 7, 2}, {3, 3, 2, 4}, window, 1).output() ==
        glia::shape{1, 3, 5, 4});
  CHECK(contains(message_of<glia::shape_error>([&] {
                   (void)glia::conv2d_rule({0, 5, 7, 2}, {3, 3, 2, 4}, window, 1);
                 }),
                 "expected at least one image"));
  CHECK(contains(message_of<glia::shape_error>([&] {
                   (void)glia::conv2d_rule({1, 2, 7, 2}, {3, 3, 2, 4}, window, 1);
                 }),
                 "reaches over 3 positions, but the input has only 2"));
  CHECK(contains(message_of<glia::shape_error>([&] {
                   (void)glia::conv2d_rule({1, 5, 7, 2}, {3, 3, 1, 4}, window, 1);
                 }),
                 "takes 1 channels a group"));
  CHECK(contains(message_of<glia::value_error>([&] {
                   (void)glia::conv2d_rule({1, 5, 7, 3}, {3, 3, 1, 4}, window, 2);
                 }),
                 "groups must divide the channels"));
  CHECK(contains(message_of<glia::shape_error>([] {
                   (void)glia::pool_rule({5, 7}, {2, 2});
                 }),
                 "expected images (N, H, W, C)"));
  CHECK(contains(message_of<glia::value_error>([] {
                   (void)glia::pool_rule({1, 5, 7, 1}, {2, 2, 0});
                 }),
                 "stride"));
}

TEST_CASE("kernels refuse operands of the wrong shape in release builds too") {
  const glia::cpu<float> device;
  CHECK_THROWS_AS(
      device.run(kernels::dense{glia::identity_map}, device.run(kernels::full{{2, 3}, 0}),
                 device.run(kernels::full{{3, 4}, 0}), device.run(kernels::full{{5}, 0})),
      glia::shape_error);
  CHECK_THROWS_AS(device.run(kernels::reshape{{7}}, device.run(kernels::full{{2, 3}, 0})),
                  glia::shape_error);
  std::vector<float> small(3);
  CHECK_THROWS_AS(device.to_host(device.run(kernels::full{{2, 3}, 0}), std::span<float>(small)),
                  glia::shape_error);
  CHECK_THROWS_AS(device.run(kernels::softmax_cross_entropy{}, device.run(kernels::full{{2, 3}, 0}),
                             device.run(kernels::full{{2, 4}, 0})),
                  glia::shape_error);
}

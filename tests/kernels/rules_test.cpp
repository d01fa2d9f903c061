#include <glia/backends/broadcast_plan.hpp>
#include <glia/kernels/kernels.hpp>

#include "catch.hpp"
#include "helpers.hpp"

using test::contains;
using test::message_of;

TEST_CASE("broadcasting follows NumPy") {
  CHECK(glia::kernels::broadcast_shape({2, 3, 5}, {3, 1}) == glia::shape{2, 3, 5});
  CHECK(glia::kernels::broadcast_shape({}, {4}) == glia::shape{4});
  CHECK(contains(message_of<glia::shape_error>([] {
                   (void)glia::kernels::broadcast_shape({2, 3}, {2});
                 }),
                 "(2, 3) and (2,) cannot be broadcast"));
}

TEST_CASE("a broadcast plan merges axes that behave alike") {
  const glia::shape image{4, 5, 6};
  const glia::detail::broadcast_plan same(image, image, image);
  CHECK(same.rows() == 1);
  CHECK(same.inner() == 120);
  const glia::detail::broadcast_plan bias(image, image, glia::shape{6});
  CHECK(bias.rows() == 20);
  CHECK(bias.inner_step(1) == 1);
  CHECK(bias.row_offsets(3) == std::array<std::size_t, 2>{18, 0});
  const glia::detail::broadcast_plan column(image, image, glia::shape{5, 1}, glia::shape{});
  CHECK(column.rows() == 20);
  CHECK(column.inner_step(1) == 0);
  CHECK(column.row_offsets(8) == std::array<std::size_t, 3>{48, 3, 0});
  CHECK(glia::detail::broadcast_plan(glia::shape{}, glia::shape{}).rows() == 1);
  CHECK(glia::detail::broadcast_plan(glia::shape{2, 0}, glia::shape{2, 1}).rows() == 0);
}

TEST_CASE("matrix products refuse what does not fit") {
  CHECK(glia::kernels::matmul_rule({2, 3}, {4, 3}, glia::transpose::second).n == 4);
  CHECK(contains(message_of<glia::shape_error>([] {
                   (void)glia::kernels::matmul_rule({2, 3}, {4, 5}, glia::transpose::none);
                 }),
                 "the inner extents differ: (2, 3) times (4, 5)"));
  CHECK(contains(message_of<glia::shape_error>([] {
                   (void)glia::kernels::matmul_rule({2, 3, 1}, {4, 5}, glia::transpose::none);
                 }),
                 "expected two matrices"));
}

TEST_CASE("batches of products refuse what does not fit") {
  using glia::transpose;
  const auto refusal = [](const glia::shape& a, const glia::shape& b, transpose mode) {
    return message_of<glia::shape_error>(
        [&] { (void)glia::kernels::batched_matmul_rule(a, b, mode); });
  };
  CHECK(glia::kernels::batched_matmul_rule({7, 2, 3}, {7, 4, 3}, transpose::second).n == 4);
  CHECK(refusal({2, 3}, {3, 4}, transpose::none) ==
        "batched_matmul: expected two batches of matrices (..., m, k) and (..., k, n), with the "
        "same extents in all axes but the last two, got shapes (2, 3) and (3, 4); use broadcast_to "
        "to repeat one of them, or matmul for two matrices");
  CHECK(contains(refusal({7, 2, 3}, {6, 3, 4}, transpose::none), "(7, 2, 3) and (6, 3, 4)"));
  CHECK(contains(refusal({7, 2, 3}, {3, 4}, transpose::none), "(7, 2, 3) and (3, 4)"));
  CHECK(refusal({7, 2, 3}, {7, 3, 4}, transpose::first) ==
        "batched_matmul: the inner extents differ: (7, 2, 3) transposed times (7, 3, 4)");
}

namespace {

template <class K, class... Specs>
std::string refusal_of(const K& k, const Specs&... specs) {
  return message_of<glia::error>([&] { (void)k.result(specs...); });
}

}  // namespace

TEST_CASE("what arranges elements refuses what does not fit") {
  const auto x = glia::real_of({2, 3});
  const glia::tensor_spec classes{{2, 3}, glia::element::index};
  const glia::tensor_spec absent;
  CHECK(refusal_of(kernels::concat{2}, absent, x) ==
        "concat: got axis 2 for a tensor of shape (2, 3); axes are counted from 0");
  CHECK(refusal_of(kernels::concat{1}, x, absent, glia::real_of({3, 3})) ==
        "concat along axis 1: the shape (3, 3) cannot be joined to (2, 3); their other extents "
        "must be equal");
  CHECK(contains(refusal_of(kernels::concat{0}, x, glia::real_of({2, 3, 1})), "cannot be joined"));
  CHECK(refusal_of(kernels::concat{0}, x, classes) ==
        "concat: expected a tensor of numbers, got a tensor of integers");
  CHECK(refusal_of(kernels::concat{0}, absent, absent) ==
        "concat: expected at least one tensor, got none");
  CHECK(refusal_of(kernels::slice{1, 2, 2}, x) ==
        "slice: 2 elements from index 2 exceed axis 1 of the shape (2, 3)");
  CHECK(contains(refusal_of(kernels::slice{0, 1, std::numeric_limits<std::size_t>::max()}, x),
                 "exceed axis 0"));
  CHECK(contains(refusal_of(kernels::slice{0, 0, 1}, glia::real_of({})),
                 "slice: got axis 0 for a tensor of shape ()"));
  CHECK(contains(refusal_of(kernels::pad{2, 1, 1}, x), "pad: got axis 2"));
  CHECK(contains(refusal_of(kernels::pad{0, 1, std::numeric_limits<std::size_t>::max()}, x),
                 "too many to count"));
  CHECK(refusal_of(kernels::pad{0, 1, 1}, classes) ==
        "pad: expected a tensor of numbers, got a tensor of integers");
  for (const glia::kernels::axis_list& order :
       {glia::kernels::axis_list{0}, glia::kernels::axis_list{0, 0},
        glia::kernels::axis_list{1, 2}}) {
    CHECK(
        refusal_of(kernels::permute_axes{order}, x) ==
        glia::text("permute_axes: expected each axis of (2, 3) once, counted from 0, got ", order));
  }
  CHECK_THROWS_AS(glia::cpu<float>().run(kernels::pad{0, 0, std::size_t{1} << 60},
                                         glia::cpu<float>().run(kernels::full{{2, 3}, 0})),
                  glia::shape_error);
}

TEST_CASE("rows by index and choices refuse what does not fit") {
  const auto table = glia::real_of({5, 3});
  const glia::tensor_spec indices{{2, 4}, glia::element::index};
  CHECK(refusal_of(kernels::gather{}, table, glia::real_of({2, 4})) ==
        "gather: indices: expected a tensor of integers, got a tensor of numbers");
  CHECK(refusal_of(kernels::gather{}, indices, indices) ==
        "gather: expected a tensor of numbers, got a tensor of integers");
  CHECK(refusal_of(kernels::gather{}, glia::real_of({}), indices) ==
        "gather: expected a table (V, ...), got a number");
  CHECK(
      refusal_of(kernels::gather{}, glia::real_of({5, 1, 1, 1, 1, 1}), indices) ==
      "gather: a row of a table (5, 1, 1, 1, 1, 1) for each index of (2, 4) would need more than 6 "
      "axes");
  CHECK(refusal_of(kernels::scatter_add{5}, glia::real_of({2, 3}), indices) ==
        "scatter_add: expected a row for each index of (2, 4), got (2, 3)");
  CHECK(contains(refusal_of(kernels::scatter_add{5}, table, table), "tensor of integers"));
  const glia::tensor_spec place{{}, glia::element::index};
  CHECK(refusal_of(kernels::update_slice{1}, table, glia::real_of({5, 4}), place) ==
        "update_slice: part: expected shape (5, 3), got (5, 4)");
  CHECK(refusal_of(kernels::update_slice{1}, table, glia::real_of({4, 2}), place) ==
        "update_slice: part: expected shape (5, 2), got (4, 2)");
  CHECK(refusal_of(kernels::update_slice{0}, table, glia::real_of({3}), place) ==
        "update_slice: part: expected shape (5, 3), got (3,)");
  CHECK(contains(refusal_of(kernels::update_slice{2}, table, table, place), "got axis 2"));
  CHECK(refusal_of(kernels::update_slice{0}, table, table, indices) ==
        "update_slice: begin: expected shape (), got (2, 4)");
  CHECK(refusal_of(kernels::update_slice{0}, table, table, glia::real_of({})) ==
        "update_slice: begin: expected a tensor of integers, got a tensor of numbers");
  CHECK(refusal_of(kernels::select{}, indices, table, table) ==
        "select: condition: expected a tensor of numbers, got a tensor of integers");
  CHECK(contains(refusal_of(kernels::select{}, table, glia::real_of({2, 1, 3}), glia::real_of({4})),
                 "cannot be broadcast"));
}

TEST_CASE("convolutions and pools refuse what does not fit") {
  const glia::window2d window{3, 3};
  CHECK(glia::kernels::conv2d_rule({1, 5, 7, 2}, {3, 3, 2, 4}, window, 1).output() ==
        glia::shape{1, 3, 5, 4});
  CHECK(contains(message_of<glia::shape_error>([&] {
                   (void)glia::kernels::conv2d_rule({0, 5, 7, 2}, {3, 3, 2, 4}, window, 1);
                 }),
                 "expected at least one image"));
  CHECK(contains(message_of<glia::shape_error>([&] {
                   (void)glia::kernels::conv2d_rule({1, 2, 7, 2}, {3, 3, 2, 4}, window, 1);
                 }),
                 "the window covers 3 positions, but the input has only 2"));
  CHECK(contains(message_of<glia::shape_error>([&] {
                   (void)glia::kernels::conv2d_rule({1, 5, 7, 2}, {3, 3, 1, 4}, window, 1);
                 }),
                 "takes 1 channels for each group"));
  CHECK(contains(message_of<glia::value_error>([&] {
                   (void)glia::kernels::conv2d_rule({1, 5, 7, 3}, {3, 3, 1, 4}, window, 2);
                 }),
                 "groups must divide the channels"));
  CHECK(contains(message_of<glia::shape_error>([] {
                   (void)glia::kernels::pool_rule({5, 7}, {2, 2});
                 }),
                 "expected images (N, H, W, C)"));
  CHECK(contains(message_of<glia::value_error>([] {
                   (void)glia::kernels::pool_rule({1, 5, 7, 1}, {2, 2, 0});
                 }),
                 "stride"));
}

TEST_CASE("kernels refuse operands of the wrong shape in release builds too") {
  const glia::cpu<float> device;
  CHECK_THROWS_AS(
      device.run(kernels::dense{glia::kernels::identity_map}, device.run(kernels::full{{2, 3}, 0}),
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

TEST_CASE("a chain takes packed weights of the shape that packing gives") {
  const glia::cpu<float> device;
  kernels::conv2d_chain chain{2};
  chain.links[1].groups = 4;
  chain.links[1].window = {3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
  chain.packed = {glia::shape{1, 1, 2, 4}, glia::shape{3, 3, 1, 4}};
  const auto full = [&](const glia::shape& s) { return device.run(kernels::full{s, 1}); };
  const auto bias = full({4});
  const glia::tensor absent;
  const auto first = device.run(kernels::pack_panels{}, full({1, 1, 2, 4}), bias);
  const auto second = device.run(kernels::pack_panels{}, full({3, 3, 1, 4}), bias);
  const auto run = [&](const auto& a, const auto& b, const auto& shift) {
    return device.run(chain, full({1, 5, 5, 2}), a, shift, b, absent, absent, absent, absent,
                      absent);
  };
  CHECK(run(first, second, absent).shape() == glia::shape{1, 5, 5, 4});
  CHECK(test::message_of<glia::shape_error>([&] { (void)run(second, second, absent); }) ==
        "conv2d_chain: expected (3, 32) of packed weights for (1, 1, 2, 4) and no bias, got (10, "
        "32)");
  CHECK_THROWS_AS((void)run(first, second, bias), glia::shape_error);
  CHECK_THROWS_AS((void)device.run(kernels::pack_panels{}, full({4}), bias), glia::shape_error);
  CHECK_THROWS_AS((void)device.run(kernels::pack_panels{}, full({1, 1, 2, 3}), bias),
                  glia::shape_error);
}

TEST_CASE("products take packed weights of the shape that packing gives") {
  const glia::cpu<float> device;
  const auto full = [&](const glia::shape& s) { return device.run(kernels::full{s, 1}); };
  const auto w = full({2, 5});
  const auto packed = device.run(kernels::pack_panels{}, w, glia::tensor{});
  const auto dense = [&](const auto& panels) {
    return device.run(kernels::packed_dense{}, full({3, 2}), w, full({5}), panels);
  };
  CHECK(dense(packed).shape() == glia::shape{3, 5});
  CHECK(test::message_of<glia::shape_error>([&] {
          (void)dense(full({2, 32}));
        }) == "packed_dense: packed weights: expected shape (3, 32), got (2, 32)");
  CHECK_THROWS_AS((void)dense(glia::tensor{}), glia::shape_error);

  const auto pool = [&](const glia::shape& extents, std::size_t groups, const auto& panels) {
    return device.run(kernels::packed_conv2d_max_pool2d{{{2, 2}, groups, {2, 2, 2, 2}}},
                      full({1, 5, 5, extents[2]}), full(extents), full({extents[3]}), panels);
  };
  const glia::shape wide{2, 2, 16, 16};
  const auto transformed = device.run(kernels::pack_transformed{}, full(wide));
  CHECK(transformed.shape() == glia::shape{9, 17, 32});
  CHECK(pool(wide, 1, transformed).shape() == glia::shape{1, 2, 2, 16});
  CHECK_THROWS_AS((void)pool(wide, 1, packed), glia::shape_error);
  CHECK_THROWS_AS((void)pool({2, 2, 8, 16}, 2, transformed), glia::value_error);
  CHECK_THROWS_AS((void)device.run(kernels::pack_transformed{}, full({2, 2, 8, 16})),
                  glia::shape_error);

  const auto convolve = [&](const glia::window2d& window, const auto& packed_weights) {
    return device.run(kernels::packed_conv2d{window}, full({1, 5, 4, 16}), full({3, 3, 16, 48}),
                      glia::tensor{}, packed_weights);
  };
  const auto sixteen = device.run(kernels::pack_transformed{}, full({3, 3, 16, 48}));
  CHECK(sixteen.shape() == glia::shape{16, 17, 64});
  CHECK(convolve({3, 3}, sixteen).shape() == glia::shape{1, 3, 2, 48});
  CHECK_THROWS_AS((void)convolve({3, 3}, transformed), glia::shape_error);
  CHECK_THROWS_AS((void)convolve({3, 3, 2, 2}, sixteen), glia::value_error);
}

#include <glia/graph/passes.hpp>

#include "catch.hpp"
#include "graph/compared_with_reference.hpp"
#include "graph/recorded_convolution.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

namespace {

using glia::batch_norm;
using glia::conv2d;
using glia::real_of;
using glia::relu6;
using glia::sequential;
using test::calls;
using test::fusion::bottlenecks;
using test::fusion::compare;
using test::fusion::comparison;
using test::fusion::depthwise;
using test::fusion::pointwise;
using test::fusion::predictions;
using convolution = test::recorded_convolution;

}  // namespace

TEST_CASE("convolutions one after the other become one, as far as a chain goes") {
  const convolution c;
  const auto depthwise = c.rec.input("depthwise", real_of({3, 3, 1, 4}));
  const auto wide = c.rec.input("wide", real_of({1, 1, 4, 9}));
  const auto y = c.rec.run(kernels::conv2d{{3, 3}, 4}, c.y, depthwise, glia::tensor{});
  const auto z = c.rec.run(kernels::conv2d{}, y, wide, glia::tensor{});
  c.rec.output("z", z);
  glia::graph g = c.rec.recorded();
  glia::passes::chain_convolutions(g);
  REQUIRE(calls(g) == "conv2d_chain conv2d");  // one that widens begins anew
  CHECK(g.nodes()[0].kernel.as<kernels::conv2d_chain>()->count == 2);

  c.rec.output("y", c.y);
  g = c.rec.recorded();
  glia::passes::chain_convolutions(g);
  CHECK(calls(g) == "conv2d conv2d conv2d");
}

TEST_CASE("convolutions and normalizations in inference are what the reference computes") {
  const comparison result = compare(bottlenecks(), {15, 18, 3});
  CHECK(result.distance < tolerance::float_kernel);
  // One that widens its input begins a chain.
  CHECK(result.chains == std::vector<std::size_t>{3, 3});
}

TEST_CASE("chains agree with the reference for every number of images") {
  const glia::shape sample{15, 18, 3};
  for (const std::size_t count : {1U, 2U, 7U, 8U, 9U, 16U, 21U}) {
    INFO(count);
    CHECK(compare(bottlenecks(), sample, count).distance < tolerance::float_kernel);
    const auto expected = predictions(bottlenecks(), sample, count, glia::reference<float>());
    // This one has lanes, and sends pieces through.
    const auto actual = predictions(bottlenecks(), sample, count, glia::cpu<float>());
    CHECK(test::distance(actual, expected) < tolerance::float_kernel * 20);
  }
}

TEST_CASE("chains give the same bits for 1, 2 and 3 threads") {
  for (const std::size_t count : {1U, 5U, 11U, 40U}) {
    INFO(count);
    const auto predict = [&](std::size_t threads) {
      return predictions(bottlenecks(), {15, 18, 3}, count, glia::cpu<float>({.threads = threads}));
    };
    const auto expected = predict(1);
    CHECK((predict(2) == expected));
    CHECK((predict(3) == expected));
  }
}

TEST_CASE("convolutions that no chain takes break it") {
  const auto result =
      compare(sequential{conv2d{.filters = 6, .kernel_size = 1, .groups = 2}, batch_norm{},
                         pointwise(6), depthwise(6, 1),
                         conv2d{.filters = 5, .kernel_size = 3, .padding = 1}, relu6, pointwise(4),
                         conv2d{.filters = 4, .kernel_size = 2, .dilation_rate = 2, .groups = 4},
                         pointwise(3), batch_norm{}},
              {8, 9, 4});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{2, 4});
}

TEST_CASE("residuals in chains add what came before") {
  const auto result = compare(
      sequential{conv2d{.filters = 6, .kernel_size = 3}, batch_norm{}, relu6,
                 glia::residual{sequential{pointwise(12), batch_norm{}, relu6, depthwise(12, 1),
                                           batch_norm{}, relu6, pointwise(6), batch_norm{}}},
                 pointwise(4), batch_norm{}},
      {8, 9, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{1, 3, 1});
}

TEST_CASE("a chain has at most four convolutions") {
  const auto result = compare(sequential{pointwise(8), depthwise(8, 1), depthwise(8, 1),
                                         depthwise(8, 1), depthwise(8, 1), pointwise(3)},
                              {6, 7, 8});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{4, 1});
}

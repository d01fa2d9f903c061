#include <glia/graph/passes.hpp>
#include <glia/graph/uses.hpp>

#include "catch.hpp"
#include "graph/compared_with_reference.hpp"
#include "graph/recorded_convolution.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

namespace {

using glia::batch_norm;
using glia::conv2d;
using glia::relu6;
using glia::sequential;
using test::calls;
using test::fusion::compare;
using test::fusion::depthwise;
using test::fusion::pointwise;
using convolution = test::recorded_convolution;

}  // namespace

TEST_CASE("a pooling joins its convolution, forward and backward") {
  for (const bool activated : {false, true}) {
    for (const bool to_input : {false, true}) {
      const convolution c;
      const glia::unary_map map = activated ? glia::relu.map : glia::kernels::identity_map;
      const auto z = c.rec.run(kernels::conv2d{{3, 3}, 1, map}, c.x, c.w, c.b);
      const auto [y, position] = c.rec.run(kernels::max_pool2d{{2, 2, 2, 2}}, z);
      c.rec.output("y", y);
      auto dz = c.rec.run(kernels::max_pool2d_gradient{{2, 2, 2, 2}, {4, 4, 4}}, y, position);
      if (activated) {
        dz = c.rec.run(kernels::unary_gradient{map}, dz, z);
      }
      c.rec.output("db", c.rec.run(kernels::sum_to{{4}}, dz));
      c.rec.output("dw", c.rec.run(kernels::conv2d_kernel_gradient{{3, 3}}, c.x, dz));
      if (to_input) {
        c.rec.output("dx",
                     c.rec.run(kernels::conv2d_input_gradient{{3, 3}, 1, {6, 6, 3}}, dz, c.w));
      }
      glia::graph g = c.rec.recorded();
      glia::prune(g);
      glia::passes::fuse_pooling(g);
      REQUIRE(calls(g) == "conv2d_max_pool2d conv2d_max_pool2d_gradient");
      const auto* backward = g.nodes()[1].kernel.as<kernels::conv2d_max_pool2d_gradient>();
      CHECK(backward->to_input == to_input);
      CHECK(g.nodes()[1].results[1] == g.outputs()[2].value);
      CHECK(g.nodes()[1].results[2] == g.outputs()[1].value);
      CHECK((g.nodes()[1].results[0] == glia::no_value) == !to_input);
    }
  }
}

TEST_CASE("a pooling stays on its own where its windows overlap or its convolution is wanted") {
  const convolution c;
  const auto overlapping = c.rec.run(kernels::max_pool2d{{2, 2, 1, 1}}, c.y);
  c.rec.output("y", overlapping[0]);
  glia::graph g = c.rec.recorded();
  glia::passes::fuse_pooling(g);
  CHECK(calls(g) == "conv2d max_pool2d");

  const convolution exposed;
  exposed.rec.output("y", exposed.rec.run(kernels::max_pool2d{{2, 2, 2, 2}}, exposed.y)[0]);
  exposed.rec.output("z", exposed.y);
  g = exposed.rec.recorded();
  glia::passes::fuse_pooling(g);
  CHECK(calls(g) == "conv2d max_pool2d");

  const convolution inferred;
  inferred.rec.output("y", inferred.rec.run(kernels::max_pool2d{{2, 2, 2, 2}}, inferred.y)[0]);
  g = inferred.rec.recorded();
  glia::passes::fuse_pooling(g);
  CHECK(calls(g) == "conv2d_max_pool2d");
  CHECK_FALSE(g.nodes()[0].kernel.as<kernels::conv2d_max_pool2d>()->keeps_positions);
}

TEST_CASE("pooling behind a convolution goes on in one kernel, chained or not") {
  const auto result = compare(
      sequential{conv2d{.filters = 8, .kernel_size = 3, .activation = glia::relu},
                 glia::max_pool2d{}, conv2d{.filters = 8, .kernel_size = 1}, batch_norm{}, relu6,
                 glia::max_pool2d{}, pointwise(6), depthwise(6, 1), glia::avg_pool2d{}},
      {18, 18, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{2});
}

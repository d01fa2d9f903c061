#include <glia/graph/passes.hpp>
#include <numeric>

#include "catch.hpp"
#include "graph/compared_with_reference.hpp"
#include "graph/recorded_convolution.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

namespace {

using glia::batch_norm;
using glia::conv2d;
using glia::sequential;
using test::calls;
using test::fusion::compare;
using test::fusion::predictions;
using convolution = test::recorded_convolution;

}  // namespace

TEST_CASE("an activation becomes part of what comes before it") {
  const convolution c;
  c.rec.output("y", c.unary(glia::gelu.map, c.y));
  glia::graph g = c.rec.recorded();
  glia::passes::fuse_activation(g);
  REQUIRE(calls(g) == "conv2d");
  CHECK(g.nodes()[0].kernel.as<kernels::conv2d>()->map == glia::gelu.map);
  CHECK(g.nodes()[0].results[0] == g.outputs()[0].value);
}

TEST_CASE("an activation stays where somebody else wants what is before it") {
  const convolution c;
  const auto y = c.unary(glia::gelu.map, c.y);
  c.rec.output("y", y);
  // Its gradient is computed from its operand.
  c.rec.output("dy", c.rec.run(kernels::unary_gradient{glia::gelu.map}, y, c.y));
  glia::graph g = c.rec.recorded();
  glia::passes::fuse_activation(g);
  CHECK(calls(g) == "conv2d unary unary_gradient");

  const convolution output;
  output.rec.output("y", output.unary(glia::relu.map, output.y));
  output.rec.output("before", output.y);
  g = output.rec.recorded();
  glia::passes::fuse_activation(g);
  CHECK(calls(g) == "conv2d unary");
}

TEST_CASE("only one activation becomes part of a product") {
  const convolution c;
  c.rec.output("y", c.unary(glia::tanh.map, c.unary(glia::relu.map, c.y)));
  glia::graph g = c.rec.recorded();
  glia::passes::fuse_activation(g);
  CHECK(calls(g) == "conv2d unary");
  CHECK(g.nodes()[1].kernel.as<kernels::unary>()->map == glia::tanh.map);
}

TEST_CASE("activations that no chain takes are applied all the same") {
  const auto result =
      compare(sequential{conv2d{.filters = 5, .kernel_size = 1}, batch_norm{}, glia::gelu,
                         conv2d{.filters = 4, .kernel_size = 1}, batch_norm{},
                         glia::leaky_relu(0.2), conv2d{.filters = 3, .kernel_size = 1},
                         glia::linear, conv2d{.filters = 6, .kernel_size = 1}, glia::tanh},
              {4, 5, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{1});
}

TEST_CASE("softmax behind a convolution is over the channels") {
  const auto result =
      compare(sequential{conv2d{.filters = 5, .kernel_size = 1}, glia::softmax,
                         conv2d{.filters = 4, .kernel_size = 1}, batch_norm{},
                         conv2d{.filters = 3, .kernel_size = 1, .activation = glia::softmax}},
              {4, 5, 2});
  CHECK(result.distance < tolerance::float_kernel);
  const auto y = predictions(sequential{conv2d{.filters = 4, .kernel_size = 1},
                                        conv2d{.filters = 5, .kernel_size = 1}, glia::softmax},
                             {4, 5, 2}, 2, glia::cpu<float>());
  for (std::size_t i = 0; i < y.size(); i += 5) {
    REQUIRE(std::abs(std::accumulate(y.data() + i, y.data() + i + 5, 0.0F) - 1) < 1e-5F);
  }
}

#include <glia/graph/passes.hpp>

#include "catch.hpp"
#include "graph/recorded_convolution.hpp"
#include "helpers.hpp"

namespace {

using test::calls;
using convolution = test::recorded_convolution;

}  // namespace

TEST_CASE("what depends on parameters alone is computed once") {
  const convolution c;
  const auto doubled = c.unary({glia::unary_function::affine, 2, 0}, c.b);
  const auto shifted = c.unary({glia::unary_function::affine, 1, 1}, doubled);
  c.rec.output("y", c.rec.run(kernels::binary{glia::binary_function::add}, c.y, shifted));
  c.rec.output("twice", doubled);
  const auto parts = glia::passes::hoist(c.rec.recorded(), {0});
  CHECK(calls(parts.fixed) == "unary unary");
  CHECK(calls(parts.varying) == "conv2d binary");
  CHECK(parts.fixed.inputs().size() == 2);  // all but the samples
  CHECK(parts.fixed.outputs().size() == 2);
  REQUIRE(parts.varying.inputs().size() == 5);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(parts.varying.inputs()[3 + i].value == parts.fixed.outputs()[i].value);
  }
}

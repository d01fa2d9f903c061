#include <glia/graph/uses.hpp>

#include "catch.hpp"
#include "graph/recorded_convolution.hpp"
#include "helpers.hpp"

namespace {

using test::calls;
using convolution = test::recorded_convolution;

}  // namespace

TEST_CASE("nodes whose results nobody wants are taken out") {
  const convolution c;
  c.rec.output("b", c.unary(glia::relu.map, c.b));
  static_cast<void>(c.unary(glia::relu.map, c.y));
  glia::graph g = c.rec.recorded();
  glia::prune(g);
  CHECK(calls(g) == "unary");
}

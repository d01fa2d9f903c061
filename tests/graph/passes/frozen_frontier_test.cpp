#include <glia/graph/passes.hpp>
#include <glia/graph/uses.hpp>

#include "catch.hpp"
#include "graph/recorded_convolution.hpp"
#include "helpers.hpp"

namespace {

using glia::real_of;
using test::calls;
using convolution = test::recorded_convolution;

/// Two dense layers of which only the second has weights that change.
struct half_frozen {
  glia::recorder rec;
  glia::tensor x = rec.samples("x", real_of({2, 3}));
  glia::tensor frozen = rec.input("frozen", real_of({3, 4}));
  glia::tensor trained = rec.input("trained", real_of({4, 2}));
  glia::tensor features =
      rec.run(kernels::unary{glia::relu.map}, rec.run(kernels::dense{}, x, frozen, glia::tensor{}));
  glia::tensor y = rec.run(kernels::dense{}, features, trained, glia::tensor{});
};

}  // namespace

TEST_CASE("the frontier is the last tensor that only frozen layers compute") {
  const half_frozen layers;
  layers.rec.output("y", layers.y);
  const glia::graph& g = layers.rec.recorded();
  CHECK(glia::passes::frozen_frontier(g, 0, {2}) == layers.features.number());
  CHECK_FALSE(glia::passes::frozen_frontier(g, 0, {1, 2}));  // it is the input itself
}

TEST_CASE("there is no frontier where trained layers read two tensors or samples mix") {
  const half_frozen twice;
  const auto doubled = twice.rec.run(kernels::dense{}, twice.x, twice.frozen, glia::tensor{});
  twice.rec.output("y", twice.y);
  twice.rec.output("doubled", doubled);
  CHECK_FALSE(glia::passes::frozen_frontier(twice.rec.recorded(), 0, {2}));

  const convolution mixed;
  mixed.rec.output("sum", mixed.rec.run(kernels::sum_to{{4}}, mixed.y));
  CHECK_FALSE(glia::passes::frozen_frontier(mixed.rec.recorded(), 0, {}));
}

TEST_CASE("a graph begins at its frontier, unless something else reads the samples") {
  const half_frozen layers;
  layers.rec.output("y", layers.y);
  glia::graph g = layers.rec.recorded();
  REQUIRE(glia::passes::begin_at(g, 0, layers.features.number()));
  CHECK(calls(g) == "dense");
  CHECK(g.inputs()[0].value == layers.features.number());
  CHECK(g.nodes()[0].operands[0] == layers.features.number());

  layers.rec.output("again", layers.rec.run(kernels::unary{glia::tanh.map}, layers.x));
  g = layers.rec.recorded();
  CHECK_FALSE(glia::passes::begin_at(g, 0, layers.features.number()));
}

TEST_CASE("values that two graphs compute alike are counterparts") {
  const half_frozen first;
  half_frozen second;
  const auto activated = second.rec.run(kernels::unary{glia::tanh.map}, second.features);
  second.rec.output("more", activated);
  const glia::passes::counterpart counterparts(second.rec.recorded(), first.rec.recorded());
  CHECK(counterparts.find(second.features.number()) == first.features.number());
  CHECK(counterparts.find(second.y.number()) == first.y.number());
  CHECK_FALSE(counterparts.find(activated.number()));
}

#include <glia/graph/passes.hpp>
#include <glia/graph/uses.hpp>

#include "catch.hpp"
#include "graph/recorded_convolution.hpp"
#include "helpers.hpp"

namespace {

using glia::real_of;
using test::calls;
using convolution = test::recorded_convolution;

/// Two convolutions, the second pointwise, whose inputs and weights are quantized.
glia::graph quantized_convolutions(std::size_t filters) {
  const convolution c;
  const auto pointwise = c.rec.input("pointwise", real_of({1, 1, 4, filters}));
  const auto quantized = [&](const glia::tensor& x, const glia::kernels::byte_range& range,
                             std::size_t count) {
    const std::vector<float> scales(count, 0.5F);
    return c.rec.run(kernels::fake_quantize{range}, x,
                     c.rec.from_host(std::span<const float>(scales), {count}));
  };
  const auto y = c.rec.run(kernels::conv2d{{3, 3}}, quantized(c.x, {}, 1),
                           quantized(c.w, glia::signed_bytes, 4), c.b);
  c.rec.output("z", c.rec.run(kernels::conv2d{}, quantized(y, {}, 1),
                              quantized(pointwise, glia::signed_bytes, filters), glia::tensor{}));
  return c.rec.recorded();
}

}  // namespace

TEST_CASE("convolutions of quantized numbers become one that computes with integers") {
  glia::graph g = quantized_convolutions(3);
  glia::prune(g);
  glia::passes::fuse_quantized(g, glia::detail::fixed_values(g, {0}));
  REQUIRE(calls(g) == "pack_quantized pack_quantized quantized_chain");
  CHECK(g.nodes()[2].kernel.as<kernels::quantized_chain>()->count == 2);

  g = quantized_convolutions(5);  // one that widens begins anew
  glia::prune(g);
  glia::passes::fuse_quantized(g, glia::detail::fixed_values(g, {0}));
  CHECK(calls(g) == "pack_quantized quantized_chain pack_quantized quantized_chain");
}

TEST_CASE("quantized weights that change from run to run are not packed") {
  glia::graph g = quantized_convolutions(3);
  glia::prune(g);
  const std::string original = calls(g);
  glia::passes::fuse_quantized(g, glia::detail::fixed_values(g, {0, 1, 3}));
  CHECK(calls(g) == original);
}

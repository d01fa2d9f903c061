#include <glia/graph/passes.hpp>
#include <glia/graph/uses.hpp>

#include "catch.hpp"
#include "graph/recorded_convolution.hpp"
#include "helpers.hpp"

namespace {

using test::calls;
using convolution = test::recorded_convolution;

/// A convolution, a quantization, an activation or a reshape, and a quantization by another scale
/// or the same.
glia::graph quantized_twice(bool activated, float scale) {
  const convolution c;
  const auto scale_of = [&](float value) {
    return c.rec.from_host(std::span<const float>(&value, 1), {1});
  };
  const auto first = c.rec.run(kernels::fake_quantize{}, c.y, scale_of(0.5F));
  const auto middle =
      activated ? c.unary(glia::tanh.map, first) : c.rec.run(kernels::reshape{{2, 64}}, first);
  c.rec.output("y", c.rec.run(kernels::fake_quantize{}, middle, scale_of(scale)));
  glia::graph g = c.rec.recorded();
  glia::passes::merge_quantizers(g);
  glia::prune(g);
  return g;
}

}  // namespace

TEST_CASE("a quantization is redundant where the same one follows a rearrangement") {
  CHECK(calls(quantized_twice(false, 0.5F)) == "conv2d reshape fake_quantize");
}

TEST_CASE("quantizations by another scale, or around an activation, all stay") {
  CHECK(calls(quantized_twice(false, 0.25F)) == "conv2d fake_quantize reshape fake_quantize");
  CHECK(calls(quantized_twice(true, 0.5F)) == "conv2d fake_quantize unary fake_quantize");
}

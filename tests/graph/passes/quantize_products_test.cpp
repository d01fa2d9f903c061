#include <glia/graph/passes.hpp>
#include <glia/graph/uses.hpp>

#include "catch.hpp"
#include "graph/recorded_convolution.hpp"
#include "helpers.hpp"

namespace {

using test::calls;
using test::contains;
using convolution = test::recorded_convolution;

/// The graph of a convolution in the layer 'conv', with samples and fixed weights.
glia::graph recorded_layer() {
  const convolution c;
  c.rec.set_place("conv");
  c.rec.output("y", c.rec.run(kernels::conv2d{{3, 3}}, c.x, c.w, c.b));
  return c.rec.recorded();
}

void quantize(glia::graph& g, const glia::quantized_product& product) {
  glia::passes::quantize_products(g, glia::detail::fixed_values(g, {0}), {.products = {product}});
}

const glia::quantized_product of_conv{
    .layer = "conv", .input_scale = 0.5F, .input_zero = 3, .weight_scales = {1, 2, 3, 4}};

}  // namespace

TEST_CASE("the inputs and the weights of a listed product are quantized") {
  glia::graph g = recorded_layer();
  const auto places = glia::passes::fixed_products(g, glia::detail::fixed_values(g, {0}));
  REQUIRE(places.size() == 2);
  CHECK(places[1].layer == "conv");
  CHECK(places[1].number == 0);
  CHECK(glia::passes::fixed_products(g, glia::detail::fixed_values(g, {0, 1})).empty());

  quantize(g, of_conv);
  REQUIRE(calls(g) == "conv2d fake_quantize fake_quantize conv2d");
  CHECK(g.nodes()[1].kernel.as<kernels::fake_quantize>()->range ==
        glia::kernels::byte_range{3, 0, 255});
  CHECK(g.nodes()[2].kernel.as<kernels::fake_quantize>()->range == glia::signed_bytes);
  CHECK(g.spec(g.nodes()[1].operands[1]).shape == glia::shape{1});
  CHECK(g.spec(g.nodes()[2].operands[1]).shape == glia::shape{4});
  CHECK(g.nodes()[3].operands[0] == g.nodes()[1].results[0]);
  CHECK(g.nodes()[3].operands[1] == g.nodes()[2].results[0]);
}

TEST_CASE("a quantization that does not fit the graph is refused") {
  const auto refusal_of = [](const auto& change) {
    glia::quantized_product product = of_conv;
    change(product);
    glia::graph g = recorded_layer();
    return test::message_of<glia::value_error>([&] { quantize(g, product); });
  };
  CHECK(contains(refusal_of([](auto& p) { p.layer = "other"; }),
                 "no product 0 with fixed weights in the layer 'other'"));
  CHECK(contains(refusal_of([](auto& p) { p.number = 1; }),
                 "no product 1 with fixed weights in the layer 'conv'"));
  CHECK(contains(refusal_of([](auto& p) { p.weight_scales.pop_back(); }),
                 "expected one scale for each of 4 outputs of 'conv', got 3"));
  CHECK(contains(refusal_of([](auto& p) { p.weight_scales[0] = 0; }), "expected scales above 0"));
  CHECK(contains(refusal_of([](auto& p) { p.input_zero = 256; }), "got 0.5 and 256"));
}

#include <glia/graph/passes.hpp>
#include <glia/graph/uses.hpp>

#include "catch.hpp"
#include "graph/recorded_convolution.hpp"
#include "helpers.hpp"

namespace {

using glia::real_of;
using test::calls;
using convolution = test::recorded_convolution;

}  // namespace

TEST_CASE("weights of a chain are packed where they stay as they are") {
  const convolution c;
  const auto depthwise = c.rec.input("depthwise", real_of({3, 3, 1, 4}));
  c.rec.output("y", c.rec.run(kernels::conv2d{{3, 3}, 4}, c.y, depthwise, glia::tensor{}));
  glia::graph g = c.rec.recorded();
  glia::passes::chain_convolutions(g);
  glia::graph varying = g;
  glia::passes::pack_weights(varying, glia::detail::fixed_values(varying, {0, 3}));
  CHECK(calls(varying) == "conv2d_chain");  // one of its weights is another one in each run

  glia::passes::pack_weights(g, glia::detail::fixed_values(g, {0}));
  REQUIRE(calls(g) == "pack_panels pack_panels conv2d_chain");
  CHECK(g.nodes()[2].kernel.as<kernels::conv2d_chain>()->is_packed());
  const auto parts = glia::passes::hoist(g, {0});
  CHECK(calls(parts.fixed) == "pack_panels pack_panels");
  CHECK(calls(parts.varying) == "conv2d_chain");
  const auto repack = [&] {
    glia::passes::pack_weights(g, glia::detail::fixed_values(g, {0}));
    return calls(g);
  };
  CHECK(repack() == "pack_panels pack_panels conv2d_chain");
}

TEST_CASE("weights of products and of single convolutions are packed where they stay") {
  const convolution c;
  const auto pooled = c.rec.run(kernels::max_pool2d{{2, 2, 2, 2}}, c.y)[0];
  const auto wide = c.rec.input("wide", real_of({2, 2, 4, 16}));
  const auto wider = c.rec.input("wider", real_of({2, 2, 16, 16}));
  const auto convolved =
      c.rec.run(kernels::conv2d{{2, 2, 1, 1, 1, 1, 1, 1, 1, 1}}, pooled, wide, glia::tensor{});
  const auto convolved_twice =
      c.rec.run(kernels::conv2d{{2, 2, 1, 1, 1, 1, 1, 1, 1, 1}}, convolved, wider, glia::tensor{});
  const auto halved = c.rec.run(kernels::max_pool2d{{2, 2, 2, 2}}, convolved_twice)[0];
  const auto w = c.rec.input("dense", real_of({64, 3}));
  c.rec.output("y", c.rec.run(kernels::dense{}, c.rec.run(kernels::reshape{{2, 64}}, halved), w,
                              glia::tensor{}));
  glia::graph g = c.rec.recorded();
  glia::passes::fuse_pooling(g);
  REQUIRE(calls(g) == "conv2d_max_pool2d conv2d conv2d_max_pool2d reshape dense");
  glia::graph varying = g;
  glia::passes::pack_weights(varying, glia::detail::fixed_values(varying, {0, 1, 3, 4, 5}));
  CHECK(calls(varying) == calls(g));
  glia::passes::pack_weights(g, glia::detail::fixed_values(g, {0}));
  const std::string packed =
      "pack_panels packed_conv2d_max_pool2d pack_panels conv2d_chain pack_transformed "
      "packed_conv2d_max_pool2d reshape pack_panels packed_dense";
  REQUIRE(calls(g) == packed);
  CHECK(g.nodes()[3].kernel.as<kernels::conv2d_chain>()->count == 1);
  glia::passes::pack_weights(g, glia::detail::fixed_values(g, {0}));
  CHECK(calls(g) == packed);
}

TEST_CASE("weights of a large 3 x 3 convolution are transformed if the device can use them") {
  const glia::recorder rec;
  const auto x = rec.input("x", real_of({2, 9, 9, 32}));
  const auto w = rec.input("w", real_of({3, 3, 32, 32}));
  rec.output("y", rec.run(kernels::conv2d{{3, 3}}, x, w, glia::tensor{}));
  glia::graph g = rec.recorded();
  glia::graph without = g;
  glia::passes::pack_weights(g, glia::detail::fixed_values(g, {0}));
  CHECK(calls(g) == "pack_transformed packed_conv2d");
  glia::passes::pack_weights(without, glia::detail::fixed_values(without, {0}),
                             glia::fused_kernel_set());
  CHECK(calls(without) == "pack_panels conv2d_chain");
}

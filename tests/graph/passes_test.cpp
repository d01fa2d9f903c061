#include <glia/backends/recorder.hpp>
#include <glia/graph/passes.hpp>
#include <glia/graph/uses.hpp>

#include "catch.hpp"
#include "helpers.hpp"

namespace {

using R = glia::recorder;
using tensor = glia::tensor;
using glia::real_of;

const tensor none;

/// What a graph's nodes call, in order.
std::string calls(const glia::graph& g) {
  std::string result;
  for (const glia::graph_node& node : g.nodes()) {
    result += (result.empty() ? "" : " ") + std::string(node.kernel.name());
  }
  return result;
}

/// The convolution of a pair of images with two filters, and what comes behind it.
struct convolution {
  R rec;
  tensor x = rec.input("x", real_of({2, 6, 6, 3}));
  tensor w = rec.input("w", real_of({3, 3, 3, 4}));
  tensor b = rec.input("b", real_of({4}));
  tensor y = rec.run(kernels::conv2d{{3, 3}}, x, w, b);

  [[nodiscard]] tensor unary(const glia::unary_map& map, const tensor& of) const {
    return rec.run(kernels::unary{map}, of);
  }
};

}  // namespace

TEST_CASE("the cpu has the loops of every basic and every fused kernel") {
  const auto all_run = []<class... Kernels>(glia::kernel_list<Kernels...>) {
    return ((glia::detail::type_of<Kernels>.on_cpu != nullptr) && ...);
  };
  CHECK(all_run(glia::basic_kernels{}));
  CHECK(all_run(glia::fused_kernels{}));
}

TEST_CASE("a pass makes only kernels that are listed for the kernel that it replaces") {
  const glia::any_kernel dense = kernels::dense{};
  CHECK(dense.made_into(kernels::packed_dense{}) == glia::any_kernel(kernels::packed_dense{}));
  CHECK(dense.made_into(kernels::dense{{glia::unary_function::relu}}).as<kernels::dense>() !=
        nullptr);
  CHECK_THROWS_WITH(dense.made_into(kernels::conv2d{}),
                    "graph: a pass turns the kernel 'dense' into 'conv2d', which "
                    "graph/made_by_passes.hpp does not list");
}

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

TEST_CASE("a pooling joins its convolution, forward and backward") {
  for (const bool activated : {false, true}) {
    for (const bool to_input : {false, true}) {
      const convolution c;
      const glia::unary_map map = activated ? glia::relu.map : glia::identity_map;
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

  const convolution wanted;
  wanted.rec.output("y", wanted.rec.run(kernels::max_pool2d{{2, 2, 2, 2}}, wanted.y)[0]);
  wanted.rec.output("z", wanted.y);
  g = wanted.rec.recorded();
  glia::passes::fuse_pooling(g);
  CHECK(calls(g) == "conv2d max_pool2d");

  const convolution inferred;
  inferred.rec.output("y", inferred.rec.run(kernels::max_pool2d{{2, 2, 2, 2}}, inferred.y)[0]);
  g = inferred.rec.recorded();
  glia::passes::fuse_pooling(g);
  CHECK(calls(g) == "conv2d_max_pool2d");
  CHECK_FALSE(g.nodes()[0].kernel.as<kernels::conv2d_max_pool2d>()->keeps_positions);
}

TEST_CASE("a scaling and a shift become other weights and another bias") {
  for (const bool biased : {false, true}) {
    const convolution c;
    const auto y = c.rec.run(kernels::conv2d{{3, 3}}, c.x, c.w, biased ? c.b : none);
    const auto scale = c.rec.input("scale", real_of({4}));
    const auto shift = c.rec.input("shift", real_of({4}));
    const auto scaled = c.rec.run(kernels::binary{glia::binary_function::multiply}, y, scale);
    c.rec.output("y", c.rec.run(kernels::binary{glia::binary_function::add}, scaled, shift));
    glia::graph g = c.rec.recorded();
    glia::passes::fold_scaling(g, glia::fixed_values(g, {0}));
    glia::prune(g);
    CHECK(calls(g) == (biased ? "binary binary binary conv2d" : "binary conv2d"));

    // Where the weights are trained, nothing is computed once and for all.
    g = c.rec.recorded();
    glia::passes::fold_scaling(g, glia::fixed_values(g, {0, 1}));
    glia::prune(g);
    CHECK(calls(g) == "conv2d binary binary");
  }
}

TEST_CASE("what is no scaling of each output stays") {
  const convolution c;
  const auto number = c.rec.input("number", real_of({}));
  const auto scaled = c.rec.run(kernels::binary{glia::binary_function::multiply}, c.y, number);
  c.rec.output("y", c.rec.run(kernels::binary{glia::binary_function::add}, scaled, scaled));
  glia::graph g = c.rec.recorded();
  glia::passes::fold_scaling(g, glia::fixed_values(g, {0}));
  glia::prune(g);
  CHECK(calls(g) == "conv2d binary binary");
}

TEST_CASE("convolutions one after the other become one, as far as a chain goes") {
  const convolution c;
  const auto depthwise = c.rec.input("depthwise", real_of({3, 3, 1, 4}));
  const auto wide = c.rec.input("wide", real_of({1, 1, 4, 9}));
  const auto y = c.rec.run(kernels::conv2d{{3, 3}, 4}, c.y, depthwise, none);
  const auto z = c.rec.run(kernels::conv2d{}, y, wide, none);
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

TEST_CASE("weights of a chain are packed where they stay as they are") {
  const convolution c;
  const auto depthwise = c.rec.input("depthwise", real_of({3, 3, 1, 4}));
  c.rec.output("y", c.rec.run(kernels::conv2d{{3, 3}, 4}, c.y, depthwise, none));
  glia::graph g = c.rec.recorded();
  glia::passes::chain_convolutions(g);
  glia::graph varying = g;
  glia::passes::pack_weights(varying, glia::fixed_values(varying, {0, 3}));
  CHECK(calls(varying) == "conv2d_chain");  // one of its weights is another one in each run

  glia::passes::pack_weights(g, glia::fixed_values(g, {0}));
  REQUIRE(calls(g) == "pack_panels pack_panels conv2d_chain");
  CHECK(g.nodes()[2].kernel.as<kernels::conv2d_chain>()->is_packed());
  const auto parts = glia::passes::hoist(g, {0});
  CHECK(calls(parts.once) == "pack_panels pack_panels");
  CHECK(calls(parts.each) == "conv2d_chain");
  const auto again = [&] {
    glia::passes::pack_weights(g, glia::fixed_values(g, {0}));
    return calls(g);
  };
  CHECK(again() == "pack_panels pack_panels conv2d_chain");
}

TEST_CASE("weights of products and of single convolutions are packed where they stay") {
  const convolution c;
  const auto pooled = c.rec.run(kernels::max_pool2d{{2, 2, 2, 2}}, c.y)[0];
  const auto wide = c.rec.input("wide", real_of({2, 2, 4, 16}));
  const auto wider = c.rec.input("wider", real_of({2, 2, 16, 16}));
  const auto convolved =
      c.rec.run(kernels::conv2d{{2, 2, 1, 1, 1, 1, 1, 1, 1, 1}}, pooled, wide, none);
  const auto again =
      c.rec.run(kernels::conv2d{{2, 2, 1, 1, 1, 1, 1, 1, 1, 1}}, convolved, wider, none);
  const auto halved = c.rec.run(kernels::max_pool2d{{2, 2, 2, 2}}, again)[0];
  const auto w = c.rec.input("dense", real_of({64, 3}));
  c.rec.output("y",
               c.rec.run(kernels::dense{}, c.rec.run(kernels::reshape{{2, 64}}, halved), w, none));
  glia::graph g = c.rec.recorded();
  glia::passes::fuse_pooling(g);
  REQUIRE(calls(g) == "conv2d_max_pool2d conv2d conv2d_max_pool2d reshape dense");
  glia::graph varying = g;
  glia::passes::pack_weights(varying, glia::fixed_values(varying, {0, 1, 3, 4, 5}));
  CHECK(calls(varying) == calls(g));
  glia::passes::pack_weights(g, glia::fixed_values(g, {0}));
  const std::string packed =
      "pack_panels packed_conv2d_max_pool2d pack_panels conv2d_chain pack_transformed "
      "packed_conv2d_max_pool2d reshape pack_panels packed_dense";
  REQUIRE(calls(g) == packed);
  CHECK(g.nodes()[3].kernel.as<kernels::conv2d_chain>()->count == 1);
  glia::passes::pack_weights(g, glia::fixed_values(g, {0}));
  CHECK(calls(g) == packed);
}

TEST_CASE("what depends on parameters alone is computed once") {
  const convolution c;
  const auto twice = c.unary({glia::unary_function::affine, 2, 0}, c.b);
  const auto more = c.unary({glia::unary_function::affine, 1, 1}, twice);
  c.rec.output("y", c.rec.run(kernels::binary{glia::binary_function::add}, c.y, more));
  c.rec.output("twice", twice);
  const auto parts = glia::passes::hoist(c.rec.recorded(), {0});
  CHECK(calls(parts.once) == "unary unary");
  CHECK(calls(parts.each) == "conv2d binary");
  CHECK(parts.once.inputs().size() == 2);  // all but the samples
  CHECK(parts.once.outputs().size() == 2);
  REQUIRE(parts.each.inputs().size() == 5);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(parts.each.inputs()[3 + i].value == parts.once.outputs()[i].value);
  }
}

TEST_CASE("nodes whose results nobody wants are taken out") {
  const convolution c;
  c.rec.output("b", c.unary(glia::relu.map, c.b));
  static_cast<void>(c.unary(glia::relu.map, c.y));
  glia::graph g = c.rec.recorded();
  glia::prune(g);
  CHECK(calls(g) == "unary");
}

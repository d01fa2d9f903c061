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
using glia::real_of;
using glia::relu6;
using glia::sequential;
using test::calls;
using test::fusion::compare;
using convolution = test::recorded_convolution;

}  // namespace

TEST_CASE("a scaling and a shift become other weights and another bias") {
  for (const bool biased : {false, true}) {
    const convolution c;
    const auto y = c.rec.run(kernels::conv2d{{3, 3}}, c.x, c.w, biased ? c.b : glia::tensor{});
    const auto scale = c.rec.input("scale", real_of({4}));
    const auto shift = c.rec.input("shift", real_of({4}));
    const auto scaled = c.rec.run(kernels::binary{glia::binary_function::multiply}, y, scale);
    c.rec.output("y", c.rec.run(kernels::binary{glia::binary_function::add}, scaled, shift));
    glia::graph g = c.rec.recorded();
    glia::passes::fold_scaling(g, glia::detail::fixed_values(g, {0}));
    glia::prune(g);
    CHECK(calls(g) == (biased ? "binary binary binary conv2d" : "binary conv2d"));

    // Where the weights are trained, nothing is computed once and for all.
    g = c.rec.recorded();
    glia::passes::fold_scaling(g, glia::detail::fixed_values(g, {0, 1}));
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
  glia::passes::fold_scaling(g, glia::detail::fixed_values(g, {0}));
  glia::prune(g);
  CHECK(calls(g) == "conv2d binary binary");
}

TEST_CASE("a batch_norm behind a convolution with a bias becomes part of it") {
  const auto result =
      compare(sequential{conv2d{.filters = 5, .kernel_size = 3}, batch_norm{},
                         conv2d{.filters = 4, .kernel_size = 1}, batch_norm{}, batch_norm{}, relu6},
              {6, 7, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{2});
}

TEST_CASE("a batch_norm behind a convolution's own activation is applied after it") {
  // Folded, the map would come after the normalization: that gives other numbers.
  const conv2d activated{.filters = 5, .kernel_size = 3, .activation = glia::relu};
  const sequential layers{activated, batch_norm{}, conv2d{.filters = 4, .kernel_size = 1},
                          batch_norm{}};
  const auto result = compare(layers, {6, 7, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{1, 1});
  // The same with the activation as a layer, and one activation after another.
  CHECK(compare(sequential{conv2d{.filters = 5, .kernel_size = 3}, glia::relu, batch_norm{}},
                {6, 7, 2})
            .distance < tolerance::float_kernel);
  CHECK(compare(sequential{conv2d{.filters = 5, .kernel_size = 3}, relu6, glia::tanh}, {6, 7, 2})
            .distance < tolerance::float_kernel);
  CHECK(
      compare(sequential{activated, conv2d{.filters = 4, .kernel_size = 1}, glia::relu}, {6, 7, 2})
          .chains == std::vector<std::size_t>{2});
}

TEST_CASE("a batch_norm with no convolution before it runs on its own") {
  CHECK(compare(sequential{batch_norm{}, conv2d{.filters = 4, .kernel_size = 1}, batch_norm{}},
                {4, 5, 2})
            .distance < tolerance::float_kernel);
  CHECK(compare(sequential{glia::flatten{}, glia::dense{6}, batch_norm{}, glia::relu, batch_norm{}},
                {4, 5, 2})
            .distance < tolerance::float_kernel);
  CHECK(compare(sequential{conv2d{.filters = 4, .kernel_size = 1}, glia::flatten{}, batch_norm{},
                           glia::relu},
                {4, 5, 2})
            .distance < tolerance::float_kernel);
}

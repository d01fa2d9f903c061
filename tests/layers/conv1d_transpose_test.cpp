#include "../golden/keras_convolutions_golden.hpp"

#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "layers/formula.hpp"
#include "tolerances.hpp"

using test::contains;
using test::message_of;

TEST_CASE("conv1d_transpose adds the kernel for each step") {
  const std::vector<float> steps{1, 2, 3};      // (1, 3, 1)
  const std::vector<float> kernel{1, 10, 100};  // (3, 1, 1)
  const auto run = [&](const glia::conv1d_transpose& layer) {
    return test::run_layer(layer, {1, 3, 1}, steps, {kernel});
  };
  CHECK(run({.filters = 1, .kernel_size = 3, .strides = 2, .use_bias = false}) ==
        std::vector<float>{1, 10, 102, 20, 203, 30, 300});
  CHECK(run({.filters = 1, .kernel_size = 3, .strides = 2, .padding = {0, 1}, .use_bias = false}) ==
        std::vector<float>{1, 10, 102, 20, 203, 30});
  CHECK(run({.filters = 1,
             .kernel_size = 3,
             .strides = 2,
             .padding = 1,
             .output_padding = 1,
             .use_bias = false}) == std::vector<float>{10, 102, 20, 203, 30, 300});
  CHECK(run({.filters = 1, .kernel_size = 3, .padding = glia::same, .use_bias = false}) ==
        std::vector<float>{12, 123, 230});
  CHECK(run({.filters = 1, .kernel_size = 3, .dilation_rate = 2, .use_bias = false}) ==
        std::vector<float>{1, 2, 13, 20, 130, 200, 300});
}

TEST_CASE("transposed convolutions of sequences are Keras's") {
  const glia::shape batch{2, 5, 4};
  const auto distance = [&](const glia::conv1d_transpose& layer, const auto& expected) {
    INFO(layer.description());
    CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), layer, {batch, 1U}) <
          tolerance::gradient);
    return test::distance(test::outputs_of(layer, batch, test::by_formula(batch, 11), {23, 31}),
                          expected);
  };
  CHECK(distance({.filters = 3, .kernel_size = 3, .strides = 2}, glia_golden::transpose1d_valid) <
        tolerance::golden);
  CHECK(distance({.filters = 3, .kernel_size = 2, .strides = 3}, glia_golden::transpose1d_sparse) <
        tolerance::golden);
  CHECK(distance({.filters = 3, .kernel_size = 4, .strides = 3, .padding = glia::same},
                 glia_golden::transpose1d_same) < tolerance::golden);
  CHECK(distance({.filters = 3, .kernel_size = 3, .dilation_rate = 2},
                 glia_golden::transpose1d_dilated) < tolerance::golden);
}

TEST_CASE("conv1d_transpose says what does not fit") {
  const auto build = [](const glia::conv1d_transpose& layer, const glia::shape& sample) {
    return [=] { glia::model net{glia::sequential{layer}, sample}; };
  };
  CHECK(message_of<glia::shape_error>(build({.filters = 2, .kernel_size = 3}, {9})) ==
        "sequential[0] conv1d_transpose(2, 3, valid): expected sequences (N, T, C), got (N, 9); "
        "add reshape{{T, C}} before it");
  CHECK(message_of<glia::value_error>(build(
            {.filters = 2, .kernel_size = 5, .strides = 2, .padding = glia::causal}, {9, 1})) ==
        "sequential[0] conv1d_transpose(2, 5, causal, stride 2): expected padding valid, same or "
        "numbers of steps, got causal; to cut steps off the end only, write .padding = {0, 3}");
  CHECK(contains(
      message_of<glia::shape_error>(build({.filters = 2, .kernel_size = 3, .padding = 3}, {4, 1})),
      "padding of 3 and 3 leaves none of the output's 6 steps; use less padding"));
  CHECK(contains(message_of<glia::value_error>(build({.filters = 2}, {9, 1})),
                 "expected filters, kernel_size, strides and dilation_rate of at least 1"));
  CHECK(contains(message_of<glia::value_error>(
                     build({.filters = 2, .kernel_size = 3, .output_padding = 1}, {9, 1})),
                 "expected an output_padding smaller than strides"));
  CHECK(contains(message_of<glia::value_error>(
                     build({.filters = 2, .kernel_size = static_cast<std::size_t>(-1)}, {9, 1})),
                 "at most 1048576"));
}

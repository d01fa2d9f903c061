#include "../golden/layers_golden.hpp"

#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "layers/formula.hpp"
#include "tolerances.hpp"

namespace {

/// What a layer gives for an input and parameters that are all made by the formula.
template <class Layer>
std::vector<float> outputs_of(const Layer& layer, const glia::shape& batch, std::size_t input,
                              const std::vector<std::size_t>& offsets) {
  return test::outputs_of(layer, batch, test::by_formula(batch, input), offsets);
}

template <class Layer>
double gradient_error_of(const Layer& layer, const glia::shape& batch) {
  return glia::testing::layer_gradient_error(glia::cpu<double>(), layer, {batch, 1U});
}

}  // namespace

TEST_CASE("convolutions of sequences are torch's") {
  const glia::shape batch{2, 9, 4};
  const auto distance = [&](const glia::conv1d& layer, const auto& expected) {
    CHECK(gradient_error_of(layer, batch) < tolerance::gradient);
    return test::distance(outputs_of(layer, batch, 11, {23, 31}), expected);
  };
  CHECK(distance({.filters = 5, .kernel_size = 3, .strides = 2, .padding = 1},
                 glia_golden::conv1d_strided) < tolerance::golden);
  CHECK(distance({.filters = 5, .kernel_size = 3, .strides = 2, .padding = glia::same},
                 glia_golden::conv1d_strided) < tolerance::golden);
  CHECK(distance({.filters = 5, .kernel_size = 3, .padding = glia::causal, .dilation_rate = 2},
                 glia_golden::conv1d_causal) < tolerance::golden);
  CHECK(distance({.filters = 6, .kernel_size = 2, .groups = 2}, glia_golden::conv1d_groups) <
        tolerance::golden);
}

TEST_CASE("transposed convolutions are torch's, and their sizes Keras's") {
  const glia::shape batch{2, 3, 4, 3};
  const auto distance = [&](const glia::conv2d_transpose& layer, const auto& expected) {
    CHECK(gradient_error_of(layer, batch) < tolerance::gradient);
    return test::distance(outputs_of(layer, batch, 41, {53, 61}), expected);
  };
  CHECK(distance({.filters = 2, .kernel_size = {3, 2}, .strides = 2},
                 glia_golden::transpose_valid) < tolerance::golden);
  CHECK(distance({.filters = 2, .kernel_size = {3, 2}, .strides = 2, .padding = glia::same},
                 glia_golden::transpose_same) < tolerance::golden);
  CHECK(distance({.filters = 2, .kernel_size = {5, 4}, .strides = 2, .padding = glia::same},
                 glia_golden::transpose_same_large) < tolerance::golden);
  CHECK(distance(
            {.filters = 2, .kernel_size = {3, 2}, .strides = 2, .padding = 1, .output_padding = 1},
            glia_golden::transpose_given) < tolerance::golden);
  CHECK(distance({.filters = 2, .kernel_size = {3, 2}, .dilation_rate = 2},
                 glia_golden::transpose_dilated) < tolerance::golden);
  CHECK(distance({.filters = 2, .kernel_size = 2, .strides = 3}, glia_golden::transpose_sparse) <
        tolerance::golden);
}

TEST_CASE("depthwise and separable convolutions are torch's") {
  const glia::shape batch{2, 5, 4, 3};
  const glia::depthwise_conv2d depthwise{
      .kernel_size = {3, 2}, .strides = 2, .depth_multiplier = 2};
  CHECK(test::distance(outputs_of(depthwise, batch, 71, {83, 97}), glia_golden::depthwise) <
        tolerance::golden);
  CHECK(gradient_error_of(depthwise, batch) < tolerance::gradient);
  const glia::separable_conv2d separable{
      .filters = 4, .kernel_size = 3, .padding = glia::same, .depth_multiplier = 2};
  CHECK(test::distance(outputs_of(separable, batch, 71, {83, 89, 97}), glia_golden::separable) <
        tolerance::golden);
  CHECK(gradient_error_of(separable, batch) < tolerance::gradient);
}

TEST_CASE("normalizations of groups and by root mean squares are torch's") {
  const glia::shape batch{2, 3, 2, 6};
  const glia::group_norm groups{.groups = 3};
  CHECK(test::distance(outputs_of(groups, batch, 101, {103, 107}), glia_golden::group_norm) <
        tolerance::golden);
  CHECK(gradient_error_of(groups, batch) < tolerance::gradient);
  CHECK(test::distance(outputs_of(glia::rms_norm{}, batch, 101, {103}), glia_golden::rms_norm) <
        tolerance::golden);
  CHECK(gradient_error_of(glia::rms_norm{}, batch) < tolerance::gradient);
}

TEST_CASE("recurrent layers are torch's") {
  const glia::shape batch{3, 5, 4};
  constexpr std::size_t steps = 5;
  constexpr std::size_t units = 3;
  // All steps, and of these the one that is read last.
  const auto check = [&](auto layer, const auto& expected) {
    INFO(layer);
    layer.return_sequences = true;
    CHECK(test::distance(outputs_of(layer, batch, 13, {17, 19, 29}), expected) < tolerance::golden);
    CHECK(gradient_error_of(layer, batch) < tolerance::gradient);
    layer.return_sequences = false;
    std::vector<float> last;
    for (std::size_t n = 0; n < batch[0]; ++n) {
      const std::size_t row = n * steps + (layer.go_backwards ? 0 : steps - 1);
      for (std::size_t u = 0; u < units; ++u) {
        last.push_back(expected[row * units + u]);
      }
    }
    CHECK(test::distance(outputs_of(layer, batch, 13, {17, 19, 29}), last) < tolerance::golden);
    CHECK(gradient_error_of(layer, batch) < tolerance::gradient);
  };
  check(glia::gru{.units = units}, glia_golden::gru);
  check(glia::gru{.units = units, .go_backwards = true}, glia_golden::gru_backwards);
  check(glia::gru{.units = units, .reset_after = false}, glia_golden::gru_reset_before);
  check(glia::lstm{.units = units}, glia_golden::lstm);
  check(glia::simple_rnn{.units = units}, glia_golden::simple_rnn);
}

TEST_CASE("attention is torch's") {
  const glia::shape batch{2, 5, 6};
  const auto distance = [&](const glia::multi_head_attention& layer, const auto& expected) {
    CHECK(gradient_error_of(layer, batch) < tolerance::gradient);
    return test::distance(outputs_of(layer, batch, 37, {43, 73, 47, 79, 59, 109, 67, 113}),
                          expected);
  };
  CHECK(distance({.num_heads = 3, .key_dim = 2}, glia_golden::attention) < tolerance::golden);
  CHECK(distance({.num_heads = 2, .key_dim = 3, .use_causal_mask = true},
                 glia_golden::attention_causal) < tolerance::golden);
}

#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::contains;
using test::message_of;
using test::run_layer;

TEST_CASE("attention has values of a size of their own, dropout, and says what it does not take") {
  const glia::multi_head_attention layer{
      .num_heads = 2, .key_dim = 3, .value_dim = 5, .use_causal_mask = true, .dropout = 0.3};
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), layer, {{2, 4, 6}, 1U}) <
        tolerance::gradient);
  glia::model net{glia::sequential{layer}, {4, 6}};
  CHECK(net.output_shape() == glia::shape{4, 6});
  CHECK(net.parameters()[4].spec.name == "multi_head_attention_0.value_kernel");
  CHECK(net.parameters()[4].spec.shape == glia::shape{6, 10});
  CHECK(glia::text(layer) == "multi_head_attention(2 heads of 3/5, causal)");
  CHECK(contains(message_of<glia::shape_error>([] {
                   glia::model refused{
                       glia::sequential{glia::multi_head_attention{.num_heads = 2, .key_dim = 3}},
                       {4}};
                 }),
                 "expected sequences (N, T, C), got (N, 4)"));
  CHECK(contains(
      message_of<glia::value_error>([] {
        glia::model refused{glia::sequential{glia::multi_head_attention{.num_heads = 2}}, {4, 6}};
      }),
      "expected num_heads and key_dim of at least 1"));
}

TEST_CASE("with causal attention no output changes when a later step does") {
  glia::model net{glia::sequential{glia::multi_head_attention{
                      .num_heads = 2, .key_dim = 4, .use_causal_mask = true}},
                  {5, 3}};
  xt::xarray<float> x = xt::ones<float>({1, 5, 3});
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<float>(i % 7) - 3;
  }
  const xt::xarray<float> original = net.predict(x);
  x(0, 3, 1) = 100;
  const xt::xarray<float> perturbed = net.predict(x);
  bool same = true;
  bool changed = false;
  for (std::size_t t = 0; t < 5; ++t) {
    for (std::size_t i = 0; i < 3; ++i) {
      const bool equal = original(0, t, i) == perturbed(0, t, i);
      same = same && (t >= 3 || equal);
      changed = changed || (t >= 3 && !equal);
    }
  }
  CHECK(same);
  CHECK(changed);
}

TEST_CASE("positions are told by sines and cosines") {
  const std::vector<float> y =
      run_layer(glia::positional_encoding{}, {1, 2, 4}, std::vector<float>(8, 1.0F), {});
  const std::vector<double> expected{
      1, 2, 1, 2, 1 + std::sin(1.0), 1 + std::cos(1.0), 1 + std::sin(0.01), 1 + std::cos(0.01)};
  CHECK(test::distance(y, expected) < tolerance::hand_computed);
  glia::model wide{glia::positional_encoding{}, {9, 4}, glia::cpu<double>()};
  const xt::xarray<double> places = wide.predict<double>(xt::zeros<double>({1, 9, 4}));
  CHECK(std::abs(places(0, 7, 0) - std::sin(7.0)) < 1e-15);
  CHECK(contains(message_of<glia::shape_error>([] {
                   glia::model net{glia::sequential{glia::positional_encoding{}}, {4}};
                 }),
                 "expected sequences (N, T, C), got (N, 4)"));
}

TEST_CASE("a layer runs on each step as on a sample") {
  const glia::time_distributed layer{glia::dense{2}};
  CHECK(glia::text(layer) == "time_distributed(dense(2))");
  CHECK(run_layer(layer, {1, 3, 1}, {1, 2, 3}, {{1, 10}, {0, 0.5F}}) ==
        std::vector<float>{1, 10.5F, 2, 20.5F, 3, 30.5F});
  const glia::time_distributed images{
      glia::sequential{glia::conv2d{.filters = 2, .kernel_size = 2}, glia::global_max_pool2d{}}};
  glia::model net{glia::sequential{images, glia::gru{.units = 3}, glia::dense{2}}, {4, 5, 5, 3}};
  CHECK(net.parameters()[0].spec.name == "conv2d_0.kernel");
  CHECK(net.output_shape() == glia::shape{2});
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), images, {{2, 3, 4, 4, 2}, 1U}) <
        tolerance::gradient);
  CHECK(
      contains(message_of<glia::shape_error>([] {
                 glia::model refused{glia::sequential{glia::time_distributed{glia::dense{2}}}, {4}};
               }),
               "expected sequences (N, T, ...), got (N, 4)"));
}

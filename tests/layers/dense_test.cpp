#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::contains;
using test::message_of;

TEST_CASE("dense computes x kernel + bias and its activation") {
  const std::vector<float> kernel{1, 2, 3, 4, 5, 6};  // (2, 3)
  const std::vector<float> bias{10, 20, -100};
  CHECK(test::run_layer(glia::dense{3}, {1, 2}, {1, 2}, {kernel, bias}) ==
        std::vector<float>{19, 32, -85});
  CHECK(test::run_layer(glia::dense{3, glia::relu}, {1, 2}, {1, 2}, {kernel, bias}) ==
        std::vector<float>{19, 32, 0});
  CHECK(test::run_layer(glia::dense{.units = 3, .use_bias = false}, {1, 2}, {1, 2}, {kernel}) ==
        std::vector<float>{9, 12, 15});
}

TEST_CASE("dense has the right gradients") {
  const glia::cpu<double> device;
  for (const glia::activation& act : {glia::linear, glia::sigmoid, glia::silu, glia::softmax}) {
    INFO(act.description());
    CHECK(glia::testing::layer_gradient_error(device, glia::dense{4, act}, {{3, 5}, 1U}) <
          tolerance::gradient);
  }
}

TEST_CASE("dense describes itself and compares") {
  CHECK(glia::text(glia::dense{400, glia::relu}) == "dense(400, relu)");
  CHECK(glia::text(glia::dense{10}) == "dense(10)");
  CHECK(glia::dense{4} == glia::dense{.units = 4});
  CHECK(glia::dense{4} != glia::dense{.units = 4, .kernel_initializer = glia::he_normal()});
}

TEST_CASE("dense says where it stands and what it expected") {
  const auto build = [] {
    glia::model net{
        glia::sequential{glia::relu, glia::flatten{}, glia::reshape{{7, 7, 32}}, glia::dense{256}},
        {1568}};
  };
  CHECK(
      message_of<glia::shape_error>(build) ==
      "sequential[3] dense(256): expected an input (N, I), got (N, 7, 7, 32); add flatten{} before "
      "it");
  const auto nested = [] {
    glia::model net{
        glia::sequential{glia::relu, glia::residual{glia::sequential{glia::relu, glia::dense{}}}},
        {8}};
  };
  CHECK(message_of<glia::value_error>(nested) ==
        "sequential[1] residual[0] sequential[1] dense(0): expected at least 1 unit, got 0; write "
        ".units = 10, for instance");
}

TEST_CASE("a softmax over one unit is refused") {
  CHECK(message_of<glia::value_error>([] {
          glia::model net{glia::dense{1, glia::softmax}, {2}};
        }) ==
        "model[0] dense(1, softmax): a softmax over 1 unit is always 1; use sigmoid, or at least 2 "
        "units");
  CHECK(contains(message_of<glia::value_error>([] {
                   const glia::conv2d layer{
                       .filters = 1, .kernel_size = 1, .activation = glia::softmax};
                   glia::model net{layer, {2, 2, 1}};
                 }),
                 "a softmax over 1 filter is always 1"));
}

TEST_CASE("parameters larger than any memory are refused by name") {
  CHECK(contains(message_of<glia::value_error>([] {
                   glia::model net{glia::dense{static_cast<std::size_t>(-1)}, {2}};
                 }),
                 "parameter 'kernel' of shape (2, 18446744073709551615) is larger than any "
                 "machine's memory; check the layer's units or filters"));
  CHECK_THROWS_AS((glia::model{glia::dense{std::size_t{1} << 62}, {4}}), glia::value_error);
}

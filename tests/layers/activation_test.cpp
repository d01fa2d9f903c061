#include <cmath>
#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

TEST_CASE("activations compute their formulas") {
  const std::vector<float> x{-2, -0.5F, 0, 1, 7};
  const auto apply = [&](const glia::activation& act) {
    return test::run_layer(act, {1, 5}, x, {});
  };
  const auto expect = [&](const glia::activation& act, auto formula) {
    std::vector<double> expected;
    for (float v : x) {
      expected.push_back(formula(static_cast<double>(v)));
    }
    INFO(act.description());
    CHECK(test::distance(apply(act), expected) < tolerance::hand_computed);
  };
  expect(glia::linear, [](double v) { return v; });
  expect(glia::relu, [](double v) { return v > 0 ? v : 0; });
  expect(glia::relu6, [](double v) { return v > 6 ? 6 : v > 0 ? v : 0; });
  expect(glia::leaky_relu, [](double v) { return v > 0 ? v : 0.01 * v; });
  expect(glia::leaky_relu(0.2), [](double v) { return v > 0 ? v : 0.2 * v; });
  expect(glia::elu, [](double v) { return v > 0 ? v : std::exp(v) - 1; });
  expect(glia::gelu, [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); });
  expect(glia::swish, [](double v) { return v / (1 + std::exp(-v)); });
  expect(glia::sigmoid, [](double v) { return 1 / (1 + std::exp(-v)); });
  expect(glia::tanh, [](double v) { return std::tanh(v); });
  double total = 0;
  for (float v : x) {
    total += std::exp(static_cast<double>(v));
  }
  expect(glia::softmax, [&](double v) { return std::exp(v) / total; });
}

TEST_CASE("activations describe themselves") {
  CHECK(glia::text(glia::relu) == "relu");
  CHECK(glia::text(glia::leaky_relu(0.2)) == "leaky_relu(0.2)");
  CHECK(glia::relu != glia::relu6);
}

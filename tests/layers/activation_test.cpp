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
  expect(glia::silu, [](double v) { return v / (1 + std::exp(-v)); });
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

TEST_CASE("an activation of one's own is made by naming its members") {
  constexpr glia::activation square{.name = "square", .map = {glia::unary_function::square}};
  static_assert(square == square && square != glia::linear);
  CHECK(glia::text(glia::dense{2, square}) == "dense(2, square)");
  CHECK(test::run_layer(square, {1, 2}, {3, -2}, {}) == std::vector<float>{9, 4});
}

TEST_CASE("an activation called with an array gives its values") {
  const xt::xarray<float> logits{{1, 2, 3}, {0, 0, 0}};
  const xt::xarray<float> p = glia::softmax(logits);
  const double total = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  CHECK(test::distance(p, std::vector<double>{std::exp(1.0) / total, std::exp(2.0) / total,
                                              std::exp(3.0) / total, 1.0 / 3, 1.0 / 3, 1.0 / 3}) <
        tolerance::hand_computed);
  CHECK((p.shape() == logits.shape()));
  const xt::xarray<double> actual = glia::sigmoid(xt::xarray<double>{-1, 0});
  CHECK(test::distance(actual, std::vector<double>{1 / (1 + std::exp(1.0)), 0.5}) < 1e-15);
  // Rows are rows, whatever the layout; numbers are still parameters.
  const xt::xarray<float, xt::layout_type::column_major> columns = logits;
  CHECK((glia::softmax(columns) == p));
  // An expression that is not computed yet is an array, too.
  const xt::xarray<float> halves = logits / 2.0F;
  CHECK((glia::softmax(halves + halves) == p));
  CHECK(glia::leaky_relu(1).map.a == 1);
  CHECK(glia::softmax(xt::xarray<float>(xt::zeros<float>({0, 3}))).size() == 0);
  CHECK_THROWS_AS(glia::softmax(xt::xarray<float>(1.0F)), glia::shape_error);
}

TEST_CASE("activations refuse parameters that they do not have or that are out of range") {
  using test::message_of;
  CHECK(message_of<glia::value_error>([] { (void)glia::leaky_relu(-1); }) ==
        "leaky_relu(-1): expected a finite parameter of at least 0");
  CHECK_THROWS_AS(glia::elu(NAN), glia::value_error);
  CHECK_THROWS_AS(glia::elu(INFINITY), glia::value_error);
  CHECK(message_of<glia::value_error>([] { (void)glia::relu(0.1); }) ==
        "relu(0.1): expected no number, since the function has no parameter");
  constexpr glia::activation slope = glia::leaky_relu(0.2);
  CHECK(slope.map.a == 0.2);
}

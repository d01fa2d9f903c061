#include <cmath>
#include <glia/backends/reference.hpp>
#include <glia/testing/values.hpp>

#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("the oracle's sums over a thousand classes are exact to float") {
  const glia::reference<float> device;
  const glia::reference<double> exact;
  const std::vector<float> x = glia::testing::test_values({1, 1000}, 5);
  std::vector<float> t(1000, 1e-4F);
  t[3] += 0.9F;
  const auto loss = [&](const auto& d) {
    return test::values_of(d,
                           d.run(kernels::softmax_cross_entropy{}, test::tensor_of(d, {1, 1000}, x),
                                 test::tensor_of(d, {1, 1000}, t))[0])[0];
  };
  CHECK(std::abs(loss(device) - loss(exact)) < 2e-6F * loss(exact));
}

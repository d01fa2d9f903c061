#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

TEST_CASE("dropout passes everything on outside training") {
  const std::vector<float> x{1, 2, 3, 4};
  CHECK(test::run_layer(glia::dropout{0.5}, {1, 4}, x, {}) == x);
}

TEST_CASE("dropout drops its share and scales the rest in training") {
  const std::vector<float> ones(100000, 1.0F);
  const auto y =
      test::run_layer(glia::dropout{0.3}, {1, 100000}, ones, {}, glia::run_mode::training);
  double dropped = 0;
  for (float v : y) {
    CHECK((v == 0.0F || v == static_cast<float>(1 / 0.7)));
    dropped += v == 0.0F;
  }
  // Four standard errors of a binomial share.
  CHECK(std::abs(dropped / 100000 - 0.3) < 4 * std::sqrt(0.3 * 0.7 / 100000));
}

TEST_CASE("dropout masks are equal on every backend and for every number of threads") {
  const auto words = glia::step_key{12345678901, 77, 11}.to_words();
  const auto mask = [&](const auto& device) {
    const auto key = device.from_host(std::span<const std::int32_t>(words), {words.size()});
    return test::values_of(device, device.run(kernels::dropout{0.4, 3},
                                              device.run(kernels::full{{123, 457}, 1}), key));
  };
  const auto expected = mask(glia::reference<float>());
  CHECK(mask(glia::cpu<float>({.threads = 1})) == expected);
  CHECK(mask(glia::cpu<float>({.threads = 3})) == expected);
  CHECK(mask(glia::cpu<float>({.threads = 2, .isa = glia::cpu_loops::isa::baseline})) == expected);
}

TEST_CASE("two dropout layers of one model drop different elements") {
  const glia::sequential two{glia::dropout{0.5}, glia::dropout{0.5}};
  const auto y = test::run_layer(two, {1, 10000}, std::vector<float>(10000, 1.0F), {},
                                 glia::run_mode::training);
  const auto remaining = std::count_if(y.begin(), y.end(), [](float v) { return v != 0; });
  CHECK(std::abs(static_cast<double>(remaining) / 10000 - 0.25) < 0.02);
}

TEST_CASE("dropout has the right gradients and refuses a rate of 1") {
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), glia::dropout{0.4}, {{5, 6}, 1U}) <
        tolerance::gradient);
  CHECK(test::message_of<glia::value_error>([] {
          glia::model net{glia::sequential{glia::dropout{1.0}}, {4}};
        }) == "sequential[0] dropout(1): expected a rate in [0, 1), got 1");
}

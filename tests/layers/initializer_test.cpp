#include <cmath>

#include "catch.hpp"
#include "helpers.hpp"

namespace {

struct moments {
  double mean;
  double deviation;
  double largest;
};

moments moments_of(const glia::initializer& initial, const glia::shape& s) {
  std::vector<float> values(s.size());
  glia::random_stream random({.seed = 5});
  initial(values, s, random);
  moments result{};
  for (float v : values) {
    result.mean += v / static_cast<double>(s.size());
    result.largest = std::max(result.largest, std::abs(static_cast<double>(v)));
  }
  for (float v : values) {
    result.deviation += std::pow(v - result.mean, 2) / static_cast<double>(s.size());
  }
  result.deviation = std::sqrt(result.deviation);
  return result;
}

}  // namespace

TEST_CASE("initializers have the spread of their formulas") {
  const glia::shape s{3, 3, 50, 200};  // fan in 450, fan out 1800
  struct expectation {
    glia::initializer initial;
    double deviation;
    bool uniform;
  };
  const std::vector<expectation> expectations{{glia::glorot_uniform(), std::sqrt(2.0 / 2250), true},
                                              {glia::glorot_normal(), std::sqrt(2.0 / 2250), false},
                                              {glia::he_uniform(), std::sqrt(2.0 / 450), true},
                                              {glia::he_normal(), std::sqrt(2.0 / 450), false},
                                              {glia::lecun_uniform(), std::sqrt(1.0 / 450), true},
                                              {glia::lecun_normal(), std::sqrt(1.0 / 450), false}};
  for (const expectation& e : expectations) {
    INFO(glia::text(e.initial));
    const moments m = moments_of(e.initial, s);
    CHECK(std::abs(m.mean) < 4 * e.deviation / std::sqrt(90000));
    CHECK(std::abs(m.deviation / e.deviation - 1) < 0.02);
    CHECK((m.largest <= e.deviation * std::sqrt(3.0) * 1.0001) == e.uniform);
  }
}

TEST_CASE("random initializers have the numbers that they are given") {
  const glia::shape s{100, 300};
  const moments normal = moments_of(glia::random_normal(2, 0.5), s);
  CHECK(std::abs(normal.mean - 2) < 4 * 0.5 / std::sqrt(30000));
  CHECK(std::abs(normal.deviation / 0.5 - 1) < 0.02);
  CHECK(std::abs(moments_of(glia::random_normal(), s).deviation / 0.05 - 1) < 0.02);
  const moments uniform = moments_of(glia::random_uniform(1, 3), s);
  CHECK(std::abs(uniform.mean - 2) < 4 * std::sqrt(1.0 / 3) / std::sqrt(30000));
  CHECK(std::abs(uniform.deviation / std::sqrt(1.0 / 3) - 1) < 0.02);
  CHECK(uniform.largest <= 3);
  CHECK(glia::text(glia::random_normal(0, 0.02)) == "normal(0, 0.02)");
  CHECK(glia::text(glia::random_uniform(-1, 1)) == "uniform(-1, 1)");
  CHECK(test::message_of<glia::value_error>([] { (void)glia::random_normal(0, -1); }) ==
        "random_normal: expected a stddev of at least 0, got -1");
  CHECK_THROWS_AS(glia::random_uniform(1, 0), glia::value_error);
}

TEST_CASE("constant and custom initializers") {
  const glia::initializer counting(
      "counting", [](std::span<float> values, const glia::shape&, glia::random_stream&) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = static_cast<float>(i);
        }
      });
  glia::model net{
      glia::dense{
          .units = 2, .kernel_initializer = counting, .bias_initializer = glia::constant(0.5)},
      {2}};
  CHECK((net.get("dense_0.kernel") == xt::xarray<float>{{0, 1}, {2, 3}}));
  CHECK((net.get("dense_0.bias") == xt::xarray<float>{0.5F, 0.5F}));
  CHECK(glia::constant(0) == glia::constant(0));
  CHECK(glia::constant(0) != counting);
}

TEST_CASE("initial parameters depend on the seed and not on the backend") {
  const glia::dense layer{3};
  const glia::model a{layer, {4}, glia::cpu<float>(), {.seed = 9}};
  const glia::model b{layer, {4}, glia::reference<double>(), {.seed = 9}};
  const glia::model c{layer, {4}, glia::cpu<float>(), {.seed = 10}};
  CHECK((a.get("dense_0.kernel") == b.get("dense_0.kernel")));
  CHECK((a.get("dense_0.kernel") != c.get("dense_0.kernel")));
}

TEST_CASE("an initializer without a function is refused") {
  CHECK_THROWS_AS(glia::initializer("none", {}), glia::value_error);
}

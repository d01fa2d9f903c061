#include <cmath>
#include <glia/backends/cpu.hpp>

#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("exp reaches zero and infinity, and what lies before them") {
  for (const auto level : {glia::cpu_loops::isa::baseline, glia::cpu_loops::best_isa()}) {
    const glia::cpu<float> device({.threads = 1, .isa = level});
    const auto exp = [&](float x) {
      return test::values_of(device, device.run(kernels::unary{{glia::unary_function::exp}},
                                                test::tensor_of(device, {1}, {x})))[0];
    };
    CHECK(exp(INFINITY) == INFINITY);
    CHECK(exp(100) == INFINITY);
    CHECK(exp(-INFINITY) == 0);
    CHECK(exp(-90) == 0);
    CHECK(std::isnan(exp(NAN)));
    for (const float x : {-87.3F, -50.0F, 88.0F, 88.4F, 88.7F}) {
      CHECK(std::abs(exp(x) / std::exp(x) - 1) < 3e-6F);
    }
  }
}

TEST_CASE("logarithms are those of the C library, to some parts in ten million") {
  const glia::cpu<float> device;
  std::vector<float> x;
  for (float point = 1.2e-38F; point < 3e38F / 1.003F; point *= 1.003F) {
    x.push_back(point);
  }
  for (int i = -400; i <= 400; ++i) {  // near 1, where it nears 0
    x.push_back(1 + static_cast<float>(i) * 1e-6F);
  }
  const auto run = [&](glia::unary_function f, const std::vector<float>& values) {
    return test::values_of(
        device, device.run(kernels::unary{{f}}, test::tensor_of(device, {values.size()}, values)));
  };
  const auto y = run(glia::unary_function::log, x);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::log(static_cast<double>(x[i]));
    worst = std::max(worst, std::abs(y[i] - exact) / std::max(std::abs(exact), 1e-30));
  }
  CHECK(worst < 3e-7);
  const std::vector<float> special{0, -0.0F, -1, INFINITY, -INFINITY, NAN};
  const auto z = run(glia::unary_function::log, special);
  CHECK(z[0] == -INFINITY);
  CHECK(z[1] == -INFINITY);
  CHECK(std::isnan(z[2]));
  CHECK(z[3] == INFINITY);
  CHECK(std::isnan(z[4]));
  CHECK(std::isnan(z[5]));

  std::vector<float> points{INFINITY, -INFINITY, NAN, 0, 1000, -80, -1000};
  for (float point = -85; point < 90; point += 0.37F) {
    points.push_back(point);
  }
  const auto s = run(glia::unary_function::softplus, points);
  CHECK(s[0] == INFINITY);
  CHECK(s[1] == 0);
  CHECK(std::isnan(s[2]));
  worst = 0;
  for (std::size_t i = 3; i < points.size(); ++i) {
    const double point = points[i];
    const double exact = std::max(point, 0.0) + std::log1p(std::exp(-std::abs(point)));
    worst = std::max(worst, std::abs(s[i] - exact) / std::max(exact, 1e-37));
  }
  CHECK(worst < 2e-6);  // that of exp(-80)
}

#include <cmath>
#include <limits>
#include <utility>

#include "../examples/studies/scaling/line_fit.hpp"
#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::contains;
using test::message_of;

namespace {

/// y = a + b x
line_fit line_through(const std::vector<double>& x, std::vector<double> y,
                      double confidence = 0.95) {
  std::vector<std::vector<double>> terms;
  for (const double point : x) {
    terms.push_back({1, point});
  }
  return {std::move(terms), std::move(y), confidence};
}

Approx close_to(double value) { return Approx(value).epsilon(tolerance::least_squares); }

double half(const estimate& interval) { return (interval.high - interval.low) / 2; }

}  // namespace

TEST_CASE("Student's t is that of the tables") {
  const auto table = [](double value) { return Approx(value).epsilon(1e-6); };
  CHECK(student_t(0.95, 1) == table(12.706205));
  CHECK(student_t(0.95, 2) == table(4.302653));
  CHECK(student_t(0.95, 3) == table(3.182446));
  CHECK(student_t(0.95, 10) == table(2.228139));
  CHECK(student_t(0.95, 30) == table(2.042272));
  CHECK(student_t(0.99, 4) == table(4.604095));
  CHECK(student_t(0.5, 1) == close_to(1));
  CHECK(student_t(0.95, 100000) == Approx(1.959964).epsilon(2e-5));
}

TEST_CASE("a line of least squares has the coefficients and intervals worked out by hand") {
  const line_fit line = line_through({1, 2, 3, 4}, {2, 3, 5, 6});
  CHECK(line.degrees_of_freedom() == 2);
  CHECK(line.coefficient(0).value == close_to(0.5));
  CHECK(line.coefficient(1).value == close_to(1.4));
  // The residuals 0.1, -0.3, 0.3, -0.1 have the squares' sum 0.2.
  CHECK(line.residual_deviation() == close_to(std::sqrt(0.1)));
  CHECK(line.deviation(0) == close_to(std::sqrt(0.1 * 30 / 20)));
  CHECK(line.deviation(1) == close_to(std::sqrt(0.1 / 5)));
  const double t = student_t(0.95, 2);
  CHECK(half(line.coefficient(1)) == close_to(t * std::sqrt(0.02)));
  CHECK(line.mean({1, 2.5}).value == close_to(4));
  CHECK(half(line.mean({1, 2.5})) == close_to(t * std::sqrt(0.1 / 4)));
  CHECK(half(line.mean({1, 10})) == close_to(t * std::sqrt(0.1 * (0.25 + 7.5 * 7.5 / 5))));
  CHECK(half(line.measurement({1, 2.5})) == close_to(t * std::sqrt(0.1 * (1 + 0.25))));
  CHECK(half(line_through({1, 2, 3, 4}, {2, 3, 5, 6}, 0.5).coefficient(1)) ==
        close_to(student_t(0.5, 2) * std::sqrt(0.02)));
}

TEST_CASE("a fit of several terms, worked out by hand") {
  const line_fit plane({{1, -1, -1}, {1, 1, -1}, {1, -1, 1}, {1, 1, 1}}, {1, 3, 5, 11});
  CHECK(plane.coefficient(0).value == close_to(5));
  CHECK(plane.coefficient(1).value == close_to(2));
  CHECK(plane.coefficient(2).value == close_to(3));
  CHECK(plane.residual_deviation() == close_to(2));  // residuals 1, -1, -1, 1
  for (const std::size_t term : {0U, 1U, 2U}) {
    CHECK(plane.deviation(term) == close_to(1));
  }
  CHECK(plane.mean({1, 2, 3}).value == close_to(18));
  CHECK(half(plane.mean({1, 2, 3})) == close_to(student_t(0.95, 1) * std::sqrt(14)));
}

// NIST, Statistical Reference Datasets, linear regression: Norris (1980s), calibration of ozone
// monitors.
TEST_CASE("a fit has the digits that NIST certifies for Norris' data") {
  const std::vector<double> x{0.2,   337.4, 118.2, 884.6, 10.1,  226.5, 666.3, 996.3, 448.6,
                              777.0, 558.2, 0.4,   0.6,   775.5, 666.9, 338.0, 447.5, 11.6,
                              556.0, 228.1, 995.8, 887.6, 120.2, 0.3,   0.3,   556.8, 339.1,
                              887.2, 999.0, 779.0, 11.1,  118.3, 229.2, 669.1, 448.9, 0.5};
  const std::vector<double> y{0.1,   338.8, 118.1, 888.0, 9.2,   228.1, 668.5, 998.5, 449.1,
                              778.9, 559.2, 0.3,   0.1,   778.1, 668.8, 339.3, 448.9, 10.8,
                              557.7, 228.3, 998.0, 888.8, 119.6, 0.3,   0.6,   557.6, 339.3,
                              888.0, 998.5, 778.9, 10.2,  117.6, 228.9, 668.4, 449.2, 0.2};
  const line_fit line = line_through(x, y);
  CHECK(line.degrees_of_freedom() == 34);
  CHECK(line.coefficient(1).value == close_to(1.00211681802045));
  CHECK(line.coefficient(0).value == close_to(-0.262323073774029));
  CHECK(line.deviation(1) == close_to(0.429796848199937e-3));
  CHECK(line.deviation(0) == close_to(0.232818234301152));
  CHECK(line.residual_deviation() == close_to(0.884796396144373));
}

TEST_CASE("terms far apart in size lose no digits") {
  std::vector<double> y;
  const std::vector<double> x{60e9, 61e9, 63e9, 64e9};
  for (const double point : x) {
    y.push_back(3 + 1e-6 * point);
  }
  const line_fit line = line_through(x, y);
  CHECK(line.coefficient(1).value == Approx(1e-6).epsilon(1e-9));
  CHECK(line.mean({1, 0}).value == Approx(3).epsilon(1e-6));
}

TEST_CASE("what no line can be put through is refused with the reason") {
  const auto error = [](std::vector<std::vector<double>> x, std::vector<double> y) {
    return message_of<glia::value_error>([&] { (void)line_fit(std::move(x), std::move(y)); });
  };
  CHECK(contains(error({}, {}), "got 0 rows of terms and 0 measurements"));
  CHECK(contains(error({{1, 2}, {1, 3}}, {1}), "got 2 rows of terms and 1 measurements"));
  CHECK(contains(error({{1, 2}, {1, 3}}, {1, 2}), "more measurements than the 2 terms, got 2"));
  CHECK(contains(error({{1, 2}, {1, 3}, {1}}, {1, 2, 3}), "in row 2"));
  CHECK(contains(error({{1, 2}, {1, 3}, {1, 4}}, {1, std::nan(""), 3}), "in row 1"));
  CHECK(contains(error({{1, 7}, {1, 7}, {1, 7}}, {1, 2, 3}),
                 "term 1 is 0 or depends linearly on the terms"));
  CHECK(contains(error({{0, 7}, {0, 8}, {0, 9}}, {1, 2, 3}),
                 "term 0 is 0 or depends linearly on the terms"));
  CHECK(contains(message_of<glia::value_error>([] { (void)student_t(0.95, 0); }),
                 "one or more degrees of freedom"));
  CHECK(contains(message_of<glia::value_error>([] { (void)student_t(1, 3); }), "got 1 and"));
  const line_fit line = line_through({1, 2, 3}, {1, 2, 4});
  CHECK(contains(message_of<glia::value_error>([&] { (void)line.mean({1}); }),
                 "expected 2 terms, got 1"));
}

#include <charconv>
#include <cmath>
#include <glia/core/number_text.hpp>
#include <limits>

#include "catch.hpp"

using glia::digits_text;
using glia::fixed_text;

TEST_CASE("numbers are written with so many decimals or digits, however large they are") {
  CHECK(fixed_text(98.765, 2) == "98.77");
  CHECK(fixed_text(-0.5, 0) == "-0");
  CHECK(fixed_text(2, 4) == "2.0000");
  CHECK(fixed_text(1e300, 4).size() == 301 + 5);
  CHECK(fixed_text(std::numeric_limits<double>::max(), 60).size() == 309 + 61);
  CHECK(fixed_text(std::nan(""), 2) == "nan");
  CHECK(fixed_text(-std::nan(""), 2) == "nan");
  CHECK(fixed_text(-std::numeric_limits<double>::infinity(), 2) == "-inf");

  CHECK(digits_text(98.765, 3) == "98.8");
  CHECK(digits_text(0.000012345, 2) == "1.2e-05");
  CHECK(digits_text(2, 4) == "2");
  CHECK(digits_text(-std::numeric_limits<double>::max(), 60).size() <= 70);
  CHECK(digits_text(std::nan(""), 2) == "nan");
}

TEST_CASE("numbers are written alike without std::to_chars") {
  using glia::detail::print_number;
  for (const double value : {98.765, -0.5, 2.0, 0.1, 1.0 / 3, 1e300, 5e-324, 0.000012345}) {
    INFO(value);
    CHECK(print_number(value, std::chars_format::fixed, 3) == fixed_text(value, 3));
    CHECK(print_number(value, std::chars_format::general, 4) == digits_text(value, 4));
    CHECK(print_number(value) == glia::exact_text(value));
  }
}

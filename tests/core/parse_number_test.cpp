#include <glia/core/parse_number.hpp>

#include <glia/core/random.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {

template <class T>
void require_as_from_chars(const std::string& text) {
  INFO("'" << text << "'");
  constexpr T untouched = 42;
  T expected = untouched;
  T actual = untouched;
  const char* const end = text.data() + text.size();
  const auto [expected_end, expected_error] = std::from_chars(text.data(), end, expected);
  const auto [number_end, error] = glia::detail::parse_number_by_strtod(text.data(), end, actual);
  REQUIRE(error == expected_error);
  CHECK(number_end == expected_end);
  CHECK(std::memcmp(&actual, &expected, sizeof(T)) == 0);
}

}  // namespace

#ifdef __cpp_lib_to_chars
TEST_CASE("numbers are parsed by strtod as by from_chars") {
  char* infinity_end = nullptr;
  if (glia::platform::plain_number<double>("inf", &infinity_end) != HUGE_VAL) {
    GLIA_SKIP("strtod of this C library does not know infinity; glia has std::from_chars here");
  }
  std::vector<std::string> texts{
      "",         "-",      "+1",    " 1",       "1 ",     "1,5",    "0x1p3", "-0x1",   "0X",
      "1e",       "1e+",    "1e5",   "1E-5",     ".5",     "5.",     ".",     "-.5",    "--1",
      "inf",      "-INF",   "infin", "nan",      "NaN",    "-nan",   "nanx",  "i",      "0",
      "-0",       "00012",  "1e400", "-1e400",   "1e-400", "1e39",   "1e-46", "3.4e38", "1.4e-45",
      "4.9e-324", "1e-310", "1_000", "16777217", "0.1",    "1.5e3x", "e5",    "1.0.0",  "١"};
  glia::random_stream random({.seed = 4});
  const std::string alphabet = "0123456789.eE+-xinf ";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::uint64_t remaining = 1 + random.integer(12); remaining > 0; --remaining) {
      text += alphabet[random.integer(alphabet.size())];
    }
    texts.push_back(std::move(text));
  }
  for (const std::string& text : texts) {
    require_as_from_chars<float>(text);
    require_as_from_chars<double>(text);
  }
}
#endif

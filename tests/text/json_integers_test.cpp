#include <glia/text/json_integers.hpp>

#include "catch.hpp"
#include "messages.hpp"

using test::contains;
using test::message_of;

namespace {

std::vector<std::pair<std::string, std::uint64_t>> members_of(std::string_view json) {
  std::vector<std::pair<std::string, std::uint64_t>> result;
  for (const auto& member : glia::detail::json_integer_reader(json, "f.json").read()) {
    result.emplace_back(member.key, member.value);
  }
  return result;
}

std::string json_error(std::string_view json) {
  return message_of<glia::data_error>([&] { (void)members_of(json); });
}

}  // namespace

TEST_CASE("objects of integers are read from JSON") {
  using members = std::vector<std::pair<std::string, std::uint64_t>>;
  CHECK(members_of("{}").empty());
  CHECK(members_of(" {\n} \t\r\n").empty());
  CHECK(members_of(R"({"a":0,"b" : 18446744073709551615 , "":7})") ==
        members{{"a", 0}, {"b", 18446744073709551615U}, {"", 7}});
  CHECK(members_of(R"({"\"\\\/\b\f\n\r\t": 1})") == members{{"\"\\/\b\f\n\r\t", 1}});
  CHECK(members_of(R"({"\u0041\u00e9\u0120\u20AC\ud83d\uDE00\uffff": 1})") ==
        members{{"A\u00e9\u0120\u20AC\U0001F600\uffff", 1}});
  CHECK(members_of("{\"\u00e9\u20AC\U0001F600\": 1}") == members{{"\u00e9\u20AC\U0001F600", 1}});
  CHECK(members_of(std::string(R"({"\u0000": 1})"))[0].first == std::string(1, '\0'));
  CHECK(members_of(R"({"\udbff\udfff": 1})") == members{{"\U0010FFFF", 1}});
  CHECK(members_of(R"({"a": 1, "a": 2})").size() == 2);
}

TEST_CASE("anything but an object of integers is refused, with its place") {
  const auto refused = [](std::string_view json, const std::string& place,
                          const std::string& expected, const std::string& found) {
    CAPTURE(std::string(json));
    CHECK(json_error(json) == "f.json:" + place + ": expected " + expected + ", got " + found +
                                  "; the file must be a JSON object of tokens and their ids");
  };
  const std::string end = "the end of the file";
  refused("", "1:1", "'{'", end);
  refused("[1]", "1:1", "'{'", "'['");
  refused("\xEF\xBB\xBF{}", "1:1", "'{'", "'\uFEFF'");
  refused("{", "1:2", "a key in quotes", end);
  refused("{a: 1}", "1:2", "a key in quotes", "'a'");
  refused("{\"a\" 1}", "1:6", "':'", "'1'");
  refused("{\"a\": 1", "1:8", "',' or '}'", end);
  refused("{\"a\": 1 \"b\": 2}", "1:9", "',' or '}'", "'\"'");
  refused("{\n  \"a\": 1,\n}", "3:1", "a key in quotes", "'}'");
  refused("{} {}", "1:4", end, "'{'");
  refused(std::string_view("{}\0", 3), "1:3", end, "a control character");
  for (const std::string_view value :
       {"-1", "x", "\"1\"", "null", "[]", "01", "", " ", "18446744073709551616", "+1", ".5"}) {
    CAPTURE(std::string(value));
    CHECK(contains(json_error("{\"a\": " + std::string(value) + "}"), "a non-negative integer"));
  }
  refused("{\"a\": 1.0}", "1:8", "',' or '}'", "'.'");
  refused("{\"a\": 1e3}", "1:8", "',' or '}'", "'e'");
  const std::string character = "a character of a text, or a quote at its end";
  refused("{\"a", "1:4", character, end);
  refused("{\"a\n\": 1}", "1:4", character, "a control character");
  refused("{\"\xFF\": 1}", "1:3", character, "invalid UTF-8");
  refused("{\"\xED\xA0\x80\": 1}", "1:3", character, "invalid UTF-8");
  const std::string escape = R"(one of "\/bfnrtu behind a backslash)";
  refused(R"({"\x41": 1})", "1:4", escape, "'x'");
  refused(R"({"\)", "1:4", escape, end);
  refused(R"({"\u12G4": 1})", "1:5", "four hexadecimal digits", "'1'");
  refused(R"({"\u-123": 1})", "1:5", "four hexadecimal digits", "'-'");
  refused(R"({"\u12)", "1:5", "four hexadecimal digits", "'1'");
  for (const std::string_view half : {R"(\ud83d)", R"(\ud83dx)", R"(\ude00)", R"(\ud83d\n)",
                                      R"(\ud83d\u0041)", R"(\ud83d\ud83d)"}) {
    CAPTURE(std::string(half));
    CHECK(contains(json_error("{\"" + std::string(half) + "\": 1}"),
                   "both halves of a surrogate pair"));
  }
}

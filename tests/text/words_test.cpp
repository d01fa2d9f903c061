#include <glia/text/words.hpp>

#include "catch.hpp"

namespace {

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    words.emplace_back(text.substr(0, glia::detail::first_word(text)));
    text.remove_prefix(words.back().size());
  }
  return words;
}

}  // namespace

TEST_CASE("texts are divided into words by GPT-2's pattern") {
  using words = std::vector<std::string>;
  CHECK(words_in("").empty());
  CHECK(words_in("Hello world 42!") == words{"Hello", " world", " 42", "!"});
  CHECK(words_in("we'll IT'S 's ''re'd") ==
        words{"we", "'ll", " IT", "'", "S", " '", "s", " ''", "re", "'d"});
  CHECK(words_in("a  b   c ") == words{"a", " ", " b", "  ", " c", " "});
  CHECK(words_in(" \n\t x\ny\n\n") == words{" \n\t", " x", "\n", "y", "\n\n"});
  CHECK(words_in("\u00a0\u3000a") == words{"\u00a0", "\u3000", "a"});
  CHECK(words_in("x2y\u00b2\u2168-_") == words{"x", "2", "y", "\u00b2\u2168", "-_"});
  // A combining mark is no letter.
  CHECK(words_in("e\u0301a") == words{"e", "\u0301", "a"});
  // Invalid bytes are neither letters nor spaces: a cut character, an overlong space, a surrogate.
  CHECK(words_in("a\xC3") == words{"a", "\xC3"});
  CHECK(words_in("a\xC0\xA0!b") == words{"a", "\xC0\xA0!", "b"});
  CHECK(words_in(" \xED\xA0\x80 1") == words{" \xED\xA0\x80", " 1"});
}

TEST_CASE("characters have the kinds of Unicode's categories") {
  using glia::detail::character_kind;
  using glia::detail::kind_of_character;
  for (const char32_t letter :
       {U'a', U'Z', U'\u00aa', U'\u00b5', U'\u01c5', U'\u02b0', U'\u0561', U'\u4e00', U'\u9fff',
        U'\uac00', U'\ud7a3', U'\U00020000', U'\U000323af'}) {
    CHECK(kind_of_character(letter) == character_kind::letter);
  }
  for (const char32_t number : {U'0', U'9', U'\u00b2', U'\u00bd', U'\u0664', U'\u2167', U'\u3007',
                                U'\U0001d7ff', U'\U0001fbf9'}) {
    CHECK(kind_of_character(number) == character_kind::number);
  }
  for (const char32_t space :
       {U'\t', U'\n', U'\v', U'\f', U'\r', U' ', U'\u0085', U'\u00a0', U'\u1680', U'\u2000',
        U'\u200a', U'\u2028', U'\u2029', U'\u202f', U'\u205f', U'\u3000'}) {
    CHECK(kind_of_character(space) == character_kind::space);
  }
  for (const char32_t other :
       {U'\0', U'\x1c', U'!', U'@', U'[', U'`', U'{', U'\x7f', U'\u00d7', U'\u0301', U'\u200b',
        U'\u200d', U'\ufeff', U'\ufffd', U'\U0001f600', U'\U000e0100', U'\U0010ffff'}) {
    CHECK(kind_of_character(other) == character_kind::other);
  }
}

TEST_CASE("Unicode 16 has 141,028 letters and 1,911 numbers") {
  std::size_t letter_count = 0;
  std::size_t number_count = 0;
  for (char32_t code = 0; code < 0x110000; ++code) {
    letter_count += glia::detail::unicode_letters.contains(code) ? 1U : 0U;
    number_count += glia::detail::unicode_numbers.contains(code) ? 1U : 0U;
  }
  CHECK(letter_count == 141'028);
  CHECK(number_count == 1'911);
}

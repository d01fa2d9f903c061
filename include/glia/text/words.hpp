#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glia/core/utf8.hpp"
#include "glia/text/unicode_ranges.hpp"

namespace glia::detail {

/// The kinds of characters that GPT-2 distinguishes: Unicode's categories L and N, white space, and
/// the others. A byte that is not part of a valid UTF-8 character is one of the others.
enum class character_kind : std::uint8_t { letter, number, space, other };

/// A set of code points: the ranges [borders[0], borders[1]), [borders[2], borders[3]), ...
template <std::size_t Count>
struct code_point_set {
  std::array<char32_t, Count> borders{};

  constexpr explicit code_point_set(const std::array<std::uint16_t, Count>& widths) {
    char32_t code = 0;
    for (std::size_t i = 0; i < Count; ++i) {
      code += widths[i];
      borders[i] = code;
    }
  }
  [[nodiscard]] constexpr bool contains(char32_t code) const {
    return (std::upper_bound(borders.begin(), borders.end(), code) - borders.begin()) % 2 == 1;
  }
};

inline constexpr code_point_set unicode_letters(letter_ranges);
inline constexpr code_point_set unicode_numbers(number_ranges);

/// Returns the kind of a code point.
[[nodiscard]] constexpr character_kind kind_of_character(char32_t code) {
  // Unicode's property White_Space.
  if ((code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 ||
      code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
      code == 0x202F || code == 0x205F || code == 0x3000) {
    return character_kind::space;
  }
  return unicode_letters.contains(code)   ? character_kind::letter
         : unicode_numbers.contains(code) ? character_kind::number
                                          : character_kind::other;
}

/// The kinds of the ASCII characters.
inline constexpr auto ascii_kinds = [] {
  std::array<character_kind, 128> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    kinds[i] = kind_of_character(static_cast<char32_t>(i));
  }
  return kinds;
}();

/// A character at some position of a text.
struct text_character {
  std::size_t bytes;
  character_kind kind;
};

/// Returns the first character of a text, which must not be empty.
[[nodiscard]] inline text_character first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < ascii_kinds.size()) {
    return {1, ascii_kinds[first]};
  }
  const std::size_t bytes = character_bytes(text);
  return bytes == 0
             ? text_character{1, character_kind::other}
             : text_character{bytes, kind_of_character(code_point_of(text.substr(0, bytes)))};
}

/// Returns the length in bytes of the first word of a text, which must not be empty. Words are the
/// matches of GPT-2's pattern
///
///     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
[[nodiscard]] inline std::size_t first_word(std::string_view text) {
  if (text[0] == '\'') {
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
      if (text.starts_with(ending)) {
        return ending.size();
      }
    }
  }
  // The position behind the characters of a kind that begin at `position`, and that of the last.
  const auto run = [&](std::size_t position, character_kind kind) {
    std::size_t last = position;
    while (position < text.size()) {
      const text_character next = first_character(text.substr(position));
      if (next.kind != kind) {
        break;
      }
      last = position;
      position += next.bytes;
    }
    return std::array{position, last};
  };
  const std::size_t begin = text[0] == ' ' ? 1 : 0;
  if (begin < text.size()) {
    const character_kind kind = first_character(text.substr(begin)).kind;
    if (kind != character_kind::space) {
      return run(begin, kind)[0];
    }
  }
  // The last of several spaces before a word belongs to the word, or is a word.
  const auto [end, last] = run(0, character_kind::space);
  return end == text.size() || last == 0 ? end : last;
}

}  // namespace glia::detail

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace glia::detail {

/// Returns the length in bytes of the UTF-8 character at the beginning of `text`, or 0 if the text
/// does not begin with a valid character. Overlong forms, surrogates and code points above U+10FFFF
/// are invalid (RFC 3629, section 4).
[[nodiscard]] inline std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  const std::size_t count = first < 0x80                     ? 1
                            : first >= 0xC2 && first <= 0xDF ? 2
                            : first >= 0xE0 && first <= 0xEF ? 3
                            : first >= 0xF0 && first <= 0xF4 ? 4
                                                             : 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) {
      return 0;
    }
  }
  const bool allowed = !(first == 0xE0 && byte(1) < 0xA0) && !(first == 0xED && byte(1) > 0x9F) &&
                       !(first == 0xF0 && byte(1) < 0x90) && !(first == 0xF4 && byte(1) > 0x8F);
  return allowed ? count : 0;
}

/// Returns whether a text is valid UTF-8.
[[nodiscard]] inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    if (bytes == 0) {
      return false;
    }
    text.remove_prefix(bytes);
  }
  return true;
}

/// Returns the code point of a valid UTF-8 character.
[[nodiscard]] inline char32_t code_point_of(std::string_view character) {
  const auto bits = [&](std::size_t i, unsigned mask) {
    return static_cast<char32_t>(static_cast<unsigned char>(character[i]) & mask);
  };
  if (character.size() == 1) {
    return bits(0, 0x7F);
  }
  char32_t code = bits(0, 0x7FU >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) {
    code = code << 6U | bits(i, 0x3F);
  }
  return code;
}

/// Appends a code point, which must not be a surrogate, as UTF-8.
inline void append_utf8(std::string& text, char32_t code) {
  const auto append = [&](char32_t byte) { text += static_cast<char>(byte); };
  const auto append_rest = [&](unsigned shift) { append(0x80U | (code >> shift & 0x3FU)); };
  if (code < 0x80) {
    append(code);
  } else if (code < 0x800) {
    append(0xC0U | code >> 6U);
    append_rest(0);
  } else if (code < 0x10000) {
    append(0xE0U | code >> 12U);
    append_rest(6);
    append_rest(0);
  } else {
    append(0xF0U | code >> 18U);
    append_rest(12);
    append_rest(6);
    append_rest(0);
  }
}

}  // namespace glia::detail

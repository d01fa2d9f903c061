#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "glia/core/utf8.hpp"

namespace glia::detail {

/// Escapes a text for HTML. The result works as content and in a quoted attribute. Characters that
/// HTML does not allow are replaced by U+FFFD: control characters other than tabs and line breaks,
/// noncharacters, and bytes that are not UTF-8.
[[nodiscard]] inline std::string html_text(std::string_view text) {
  constexpr std::string_view unknown = "\xEF\xBF\xBD";
  std::string result;
  while (!text.empty()) {
    const std::size_t bytes = std::max<std::size_t>(character_bytes(text), 1);
    const std::string_view character = text.substr(0, bytes);
    const auto c = static_cast<unsigned char>(text.front());
    const bool control = bytes == 1 ? (c < ' ' && c != '\t' && c != '\n') || c >= 0x7F
                                    : character >= "\xC2\x80" && character <= "\xC2\x9F";
    const auto second = bytes > 1 ? static_cast<unsigned char>(text[1]) : 0U;
    const bool last_of_plane =  // U+FFFE, U+FFFF, U+1FFFE, ...
        bytes > 2 && character.substr(bytes - 2) >= "\xBF\xBE" &&
        (bytes == 3 ? c == 0xEF : second % 16 == 15);
    const bool no_character =
        bytes == 3 && character >= "\xEF\xB7\x90" && character <= "\xEF\xB7\xAF";
    if (control || last_of_plane || no_character) {
      result += unknown;
    } else if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else if (c == '\'') {
      result += "&#39;";
    } else {
      result += character;
    }
    text.remove_prefix(bytes);
  }
  return result;
}

/// Encodes bytes in Base64 (RFC 4648, section 4).
[[nodiscard]] inline std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  result.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t offset = 0; offset < bytes.size(); offset += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - offset);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      word = word << 8U | (i < count ? static_cast<unsigned char>(bytes[offset + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      result += i <= count ? digits[word >> (18 - 6 * i) & 63U] : '=';
    }
  }
  return result;
}

}  // namespace glia::detail

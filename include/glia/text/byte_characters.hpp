#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "glia/core/utf8.hpp"

namespace glia::detail {

/// For each byte, the code point that stands for it in GPT-2's files: the printable characters of
/// Latin-1 for themselves, and the code points from 256 on for the other 68 bytes in ascending
/// order. A space is U+0120.
inline constexpr auto byte_characters = [] {
  std::array<char16_t, 256> characters{};
  char16_t next = 256;
  for (char16_t byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    characters[byte] = printable ? byte : next++;
  }
  return characters;
}();

/// For each code point below 324, its byte, or -1 if it stands for none.
inline constexpr auto bytes_of_characters = [] {
  std::array<std::int16_t, 324> bytes{};
  bytes.fill(-1);
  for (std::size_t byte = 0; byte < byte_characters.size(); ++byte) {
    bytes[byte_characters[byte]] = static_cast<std::int16_t>(byte);
  }
  return bytes;
}();

/// Returns the bytes of a token that GPT-2's files spell in `byte_characters`. A token with other
/// characters is a special one that the files spell as it is.
[[nodiscard]] inline std::string token_bytes(std::string_view spelling) {
  std::string bytes;
  for (std::size_t i = 0; i < spelling.size();) {
    const std::size_t count = character_bytes(spelling.substr(i));
    const char32_t code = code_point_of(spelling.substr(i, count));
    if (code >= bytes_of_characters.size() || bytes_of_characters[code] < 0) {
      return std::string(spelling);
    }
    bytes += static_cast<char>(bytes_of_characters[code]);
    i += count;
  }
  return bytes;
}

}  // namespace glia::detail

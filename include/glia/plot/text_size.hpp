#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace glia::plot::detail {

/// Returns the number of lines of a text.
[[nodiscard]] inline std::size_t lines_of(std::string_view text) {
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Estimates the width of the longest line of a text in pixels. `font_size` is in pixels, too.
[[nodiscard]] inline double text_width(std::string_view text, double font_size) {
  std::size_t longest = 0;
  std::size_t length = 0;
  for (const char c : text) {
    const bool continues = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    length = c == '\n' ? 0 : length + (continues ? 0 : 1);
    longest = std::max(longest, length);
  }
  return 0.57 * font_size * static_cast<double>(longest);
}

}  // namespace glia::plot::detail

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/number_text.hpp"
#include "glia/core/utf8.hpp"

namespace glia::plot::detail {

/// Converts a text to a string literal of gnuplot, so that gnuplot draws the text unchanged.
/// Letters, spaces, line breaks and non-ASCII characters are kept. Punctuation can have a meaning
/// in gnuplot, so it is written as octal numbers. Digits are written as octal numbers as well,
/// because a digit after an octal number would become part of it. Control characters other than
/// line breaks become spaces, and bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] inline std::string literal(std::string_view text) {
  constexpr std::string_view plain = " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t bytes = glia::detail::character_bytes(text);
    const auto c = static_cast<unsigned char>(text.front());
    if (bytes == 0) {
      result += "\xEF\xBF\xBD";
    } else if (bytes > 1 || plain.find(text.front()) != std::string_view::npos) {
      result += text.substr(0, bytes);
    } else if (c == '\n') {
      result += "\\n";
    } else if (c < ' ' || c == 0x7F) {
      result += ' ';
    } else {
      result += {'\\', static_cast<char>('0' + c / 64), static_cast<char>('0' + c / 8 % 8),
                 static_cast<char>('0' + c % 8)};
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return result + '"';
}

/// Converts a text to a literal for the label of a tic. gnuplot treats a label with % as a number
/// format, so % becomes %%. It also cuts a label with % after 49 bytes. In labels of more than 49
/// bytes, % therefore becomes the full-width sign U+FF05.
[[nodiscard]] inline std::string tic_literal(std::string_view label) {
  constexpr std::size_t max_bytes = 49;
  const bool cut = label.size() > max_bytes;
  std::string format;
  for (const char c : label) {
    format += c != '%' ? std::string(1, c) : cut ? "\xEF\xBC\x85" : "%%";
  }
  return literal(format);
}

/// Formats a number for gnuplot.
[[nodiscard]] inline std::string number(double value) { return glia::exact_text(value); }

/// Returns a data block of gnuplot, with one line for each row. A row that contains a number that
/// is not finite becomes a gap.
[[nodiscard]] inline std::string data_block(std::string_view name,
                                            std::span<const std::vector<double>> rows) {
  std::string result = '$' + std::string(name) + " << END\n";
  bool gap = true;  // at most one empty line, because two would begin another data set
  for (const std::vector<double>& row : rows) {
    if (std::all_of(row.begin(), row.end(), [](double v) { return std::isfinite(v); })) {
      for (const double value : row) {
        result += number(value) + ' ';
      }
      result.back() = '\n';
      gap = false;
    } else if (!gap) {
      result += '\n';
      gap = true;
    }
  }
  return result + "END\n";
}

}  // namespace glia::plot::detail

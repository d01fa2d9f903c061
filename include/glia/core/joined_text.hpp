#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace glia::detail {

/// Returns the texts, or the first `count` of them, with commas between them.
[[nodiscard]] inline std::string with_commas(
    const std::vector<std::string>& texts,
    std::size_t count = std::numeric_limits<std::size_t>::max()) {
  std::string result;
  for (std::size_t i = 0; i < texts.size() && i < count; ++i) {
    result += (i == 0 ? "" : ", ") + texts[i];
  }
  return result;
}

/// Returns the texts as lines, each of which ends in a line break.
[[nodiscard]] inline std::string joined_lines(const std::vector<std::string>& lines) {
  std::string result;
  for (const std::string& line : lines) {
    result += line + '\n';
  }
  return result;
}

/// Returns the lines of a text that `joined_lines` has made.
[[nodiscard]] inline std::vector<std::string> lines_of(std::string_view joined) {
  std::vector<std::string> lines;
  while (!joined.empty()) {
    lines.emplace_back(joined.substr(0, joined.find('\n')));
    joined.remove_prefix(std::min(joined.size(), lines.back().size() + 1));
  }
  return lines;
}

}  // namespace glia::detail

#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace glia {

/// Formats rows of cells as a table of text. The first row is a heading with a line below it. If
/// `total` is true, the last row has a line above it. The first `left_columns` columns are aligned
/// to the left, the other columns to the right.
[[nodiscard]] inline std::string text_table(const std::vector<std::vector<std::string>>& rows,
                                            std::size_t left_columns = 1, bool total = false) {
  std::vector<std::size_t> width;
  for (const std::vector<std::string>& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (std::size_t column = 0; column < row.size(); ++column) {
      width[column] = std::max(width[column], row[column].size());
    }
  }
  std::string rule;
  for (const std::size_t w : width) {
    rule += (rule.empty() ? "" : "  ") + std::string(w, '-');
  }
  std::string result;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == 1 || (total && i + 1 == rows.size())) {
      result += rule + '\n';
    }
    for (std::size_t column = 0; column < rows[i].size(); ++column) {
      const std::string& cell = rows[i][column];
      const std::string gap(width[column] - cell.size(), ' ');
      result += (column == 0 ? "" : "  ") + (column < left_columns ? cell + gap : gap + cell);
    }
    result += '\n';
  }
  return result;
}

}  // namespace glia

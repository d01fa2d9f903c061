#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/html_text.hpp"

namespace glia {

/// A table for a `report`, such as a comparison or the results of a search.
struct report_table {
  std::string caption = {};                         ///< Heading of the table.
  std::vector<std::string> headers = {};            ///< Headers of the columns.
  std::vector<std::vector<std::string>> rows = {};  ///< Rows, with one cell for each header.
  bool totals = false;                              ///< Whether the last row is a total.
  std::string note = {};                            ///< Text below the table, in small print.
};

namespace detail {

/// Returns whether all cells of a column are numbers, with or without units, or empty. Columns of
/// numbers are aligned right.
[[nodiscard]] inline bool holds_numbers(const report_table& table, std::size_t column) {
  bool has_number = false;
  for (const std::vector<std::string>& row : table.rows) {
    std::string_view cell = row[column];
    cell.remove_prefix(cell.starts_with('-') || cell.starts_with('+') ? 1 : 0);
    const bool number = !cell.empty() && (cell.front() >= '0' && cell.front() <= '9');
    if (!number && !cell.empty() && cell != "nan" && cell != "inf") {
      return false;
    }
    has_number = has_number || number;
  }
  return has_number;
}

/// Puts HTML content into a region that can be scrolled sideways on a narrow page. `name` is the
/// region's name for screen readers.
[[nodiscard]] inline std::string scrolled(std::string_view name, const std::string& content) {
  return R"(<div class="wide" role="region" tabindex="0" aria-label=")" + html_text(name) +
         "\">\n" + content + "</div>\n";
}

/// Returns the table as HTML, without its caption.
///
/// Throws `value_error` if the table has no columns, or if a row does not have one cell for each
/// column.
[[nodiscard]] inline std::string html_table(const report_table& table) {
  require<value_error>(!table.headers.empty(),
                       "report: expected headers for the columns of table '", table.caption,
                       "', got none");
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    require<value_error>(table.rows[r].size() == table.headers.size(), "report: expected ",
                         table.headers.size(), " cells, one for each header, in row ", r,
                         " of table '", table.caption, "', got ", table.rows[r].size());
  }
  std::vector<bool> numbers;
  for (std::size_t column = 0; column < table.headers.size(); ++column) {
    numbers.push_back(holds_numbers(table, column));
  }
  const auto line = [&](const std::vector<std::string>& cells, bool heads) {
    std::string html = "<tr>";
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const std::string_view tag = heads         ? "th scope=\"col\""
                                   : column == 0 ? "th scope=\"row\""
                                                 : "td";
      html += '<' + std::string(tag) + (numbers[column] ? " class=\"number\">" : ">") +
              html_text(cells[column]) + "</" + std::string(tag.substr(0, 2)) + '>';
    }
    return html + "</tr>\n";
  };
  std::string html = "<table>\n<thead>\n" + line(table.headers, true) + "</thead>\n<tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const bool total = table.totals && r + 1 == table.rows.size();
    html += (total ? "</tbody>\n<tfoot>\n" : "") + line(table.rows[r], false);
  }
  html += table.totals && !table.rows.empty() ? "</tfoot>\n</table>\n" : "</tbody>\n</table>\n";
  html = scrolled(table.caption, html);
  return table.note.empty() ? html : html + "<p class=\"note\">" + html_text(table.note) + "</p>\n";
}

}  // namespace detail

}  // namespace glia

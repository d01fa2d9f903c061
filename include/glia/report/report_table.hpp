#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/report/html_text.hpp"

namespace glia {

/// A table for a report: a profile, a comparison, a search's results.
struct report_table {
  std::string caption = {};                         ///< its heading
  std::vector<std::string> headers = {};            ///< one for each column
  std::vector<std::vector<std::string>> rows = {};  ///< cells, as many as headers in each
  bool totals = false;                              ///< whether the last row is a sum
  std::string note = {};                            ///< below, small
};

namespace detail {

/// Whether a column holds numbers, with or without units: these stand at its right.
[[nodiscard]] inline bool holds_numbers(const report_table& table, std::size_t column) {
  bool any = false;
  for (const std::vector<std::string>& row : table.rows) {
    std::string_view cell = row[column];
    cell.remove_prefix(cell.starts_with('-') || cell.starts_with('+') ? 1 : 0);
    const bool number = !cell.empty() && (cell.front() >= '0' && cell.front() <= '9');
    if (!number && !cell.empty() && cell != "nan" && cell != "inf") {
      return false;
    }
    any = any || number;
  }
  return any;
}

/// In a region of its own, which can be moved sideways where the page is narrow.
[[nodiscard]] inline std::string scrolled(std::string_view name, const std::string& content) {
  return R"(<div class="wide" role="region" tabindex="0" aria-label=")" + html_text(name) +
         "\">\n" + content + "</div>\n";
}

/// The table without its caption.
///
/// Throws `value_error` for no columns, and for a row of more or fewer cells.
[[nodiscard]] inline std::string html_table(const report_table& table) {
  require<value_error>(!table.headers.empty(), "report: table '", table.caption,
                       "' has no columns; expected a header for each");
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    require<value_error>(table.rows[r].size() == table.headers.size(), "report: row ", r,
                         " of table '", table.caption, "' has ", table.rows[r].size(),
                         " cells; expected one for each of the ", table.headers.size(), " headers");
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

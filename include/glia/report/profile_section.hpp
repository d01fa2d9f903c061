#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "glia/report/report_table.hpp"
#include "glia/training/profile.hpp"

namespace glia::detail {

/// Replaces leading spaces by non-breaking spaces, so that an HTML page shows them.
[[nodiscard]] inline std::string indented(const std::string& text) {
  const std::size_t spaces = std::min(text.find_first_not_of(' '), text.size());
  std::string result;
  for (std::size_t i = 0; i < spaces; ++i) {
    result += "\u00A0";
  }
  return result + text.substr(spaces);
}

/// Returns the tables of a profile for a report: time by layer, time by kernel, and memory.
[[nodiscard]] inline std::vector<report_table> profile_tables(const profile& found) {
  const auto table = [](std::string caption, std::vector<std::vector<std::string>> rows,
                        bool totals, std::string note) {
    for (std::vector<std::string>& row : rows) {
      row.front() = indented(row.front());
    }
    report_table result{.caption = std::move(caption),
                        .headers = rows.front(),
                        .rows = {rows.begin() + 1, rows.end()},
                        .totals = totals,
                        .note = std::move(note)};
    return result;
  };
  return {table("Time of a training step", found.layer_rows(), true, found.note()),
          table("Slowest kernels", found.kernel_rows(), false, ""),
          table("Memory", found.memory_rows(), true, "")};
}

}  // namespace glia::detail

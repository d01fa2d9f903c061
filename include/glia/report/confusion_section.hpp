#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/html_text.hpp"
#include "glia/core/number_text.hpp"
#include "glia/models/summary.hpp"
#include "glia/report/report_table.hpp"
#include "glia/training/confusion.hpp"

namespace glia::detail {

/// Formats a fraction as a percentage: 0.98765 as "98.77 %".
[[nodiscard]] inline std::string percent(double share) { return fixed_text(100 * share, 2) + " %"; }

/// Returns the matrix as an HTML table, with one row for each true class. A darker cell has a
/// larger fraction of the samples of its true class. For mistakes, the color follows the square
/// root of this fraction, so that rare mistakes are visible.
[[nodiscard]] inline std::string confusion_cells(const confusion_matrix& counts,
                                                 const std::vector<std::string>& names) {
  const std::size_t classes = counts.classes();
  std::string html = text("<table class=\"confusion\">\n<thead>\n<tr><td></td><th colspan=\"",
                          classes, "\">predicted</th></tr>\n<tr>", "<th scope=\"col\">true</th>");
  for (const std::string& name : names) {
    html += "<th scope=\"col\">" + html_text(name) + "</th>";
  }
  html += "</tr>\n</thead>\n<tbody>\n";
  for (std::size_t truth = 0; truth < classes; ++truth) {
    std::size_t samples = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      samples += counts.count(truth, k);
    }
    html += "<tr><th scope=\"row\">" + html_text(names[truth]) + "</th>";
    for (std::size_t k = 0; k < classes; ++k) {
      const std::size_t count = counts.count(truth, k);
      if (count == 0) {
        html += "<td class=\"none\">0</td>";
        continue;
      }
      const double share = static_cast<double>(count) / static_cast<double>(samples);
      const double depth = truth == k ? share : std::sqrt(share);
      html += text(R"(<td class=")", truth == k ? "right" : "wrong", depth > 0.55 ? " deep" : "",
                   R"(" style="--depth:)", fixed_text(depth, 3), R"(">)", grouped(count), "</td>");
    }
    html += "</tr>\n";
  }
  return scrolled("Confusion matrix", html + "</tbody>\n</table>\n");
}

/// Returns a table with the number of samples, the precision and the recall of each class.
[[nodiscard]] inline report_table class_table(const confusion_matrix& counts,
                                              const std::vector<std::string>& names) {
  report_table table{.caption = "Classes",
                     .headers = {"class", "samples", "precision", "recall"},
                     .note =
                         "Precision: the fraction of the samples predicted as the class that "
                         "belong to it. Recall: the fraction of the samples of the class that are "
                         "predicted as it."};
  for (std::size_t k = 0; k < counts.classes(); ++k) {
    std::size_t samples = 0;
    for (std::size_t prediction = 0; prediction < counts.classes(); ++prediction) {
      samples += counts.count(k, prediction);
    }
    table.rows.push_back(
        {names[k], grouped(samples), percent(counts.precision(k)), percent(counts.recall(k))});
  }
  return table;
}

/// Returns a table of the pairs of classes that are confused most often, with up to `max_rows`
/// rows.
[[nodiscard]] inline report_table mixed_up_table(const confusion_matrix& counts,
                                                 const std::vector<std::string>& names,
                                                 std::size_t max_rows) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t truth = 0; truth < counts.classes(); ++truth) {
    for (std::size_t k = 0; k < counts.classes(); ++k) {
      if (truth != k && counts.count(truth, k) > 0) {
        pairs.emplace_back(truth, k);
      }
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) {
    return counts.count(a.first, a.second) > counts.count(b.first, b.second);
  });
  pairs.resize(std::min(pairs.size(), max_rows));
  report_table table{.caption = "Most frequent mistakes",
                     .headers = {"true", "predicted", "count"}};
  for (const auto& [truth, k] : pairs) {
    table.rows.push_back({names[truth], names[k], grouped(counts.count(truth, k))});
  }
  return table;
}

/// Returns the HTML section about a confusion matrix: the matrix and the table of classes. If there
/// are more than 30 classes, the most frequent mistakes replace the matrix.
///
/// Throws `value_error` if the number of names differs from the number of classes.
[[nodiscard]] inline std::string confusion_section(const confusion_matrix& counts,
                                                   const std::vector<std::string>& names) {
  constexpr std::size_t max_cells = 30;  // in a row
  constexpr std::size_t max_pairs = 50;
  require<value_error>(names.size() == counts.classes(),
                       "report: expected one name for each of the ", counts.classes(),
                       " classes of the confusion matrix, got ", names.size(), " names");
  const std::string samples = "<p>" + grouped(counts.total()) + " samples, of which " +
                              percent(counts.accuracy()) + " are predicted correctly.</p>\n";
  const report_table classes = class_table(counts, names);
  if (counts.classes() <= max_cells) {
    return samples + "<div class=\"beside\">\n" + confusion_cells(counts, names) +
           html_table(classes) + "</div>\n";
  }
  const report_table pairs = mixed_up_table(counts, names, max_pairs);
  return samples + "<h3>" + pairs.caption + "</h3>\n" + html_table(pairs) + "<h3>" +
         classes.caption + "</h3>\n" + html_table(classes);
}

}  // namespace glia::detail

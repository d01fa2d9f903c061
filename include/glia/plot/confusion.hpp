#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/plot/bars.hpp"
#include "glia/plot/chart.hpp"
#include "glia/training/confusion.hpp"

namespace glia::plot {

/// The options of `confusion`.
struct confusion_options {
  std::optional<std::string> title = {};  ///< Title above the chart; default: the accuracy.
  std::size_t cell = 0;                   ///< Side of a cell in pixels, up to 200; 0: automatic.
  std::string gnuplot = "gnuplot";        ///< Name or path of gnuplot.
};

namespace detail {

/// Returns the color of a cell: white if `share` is 0, and the first color of the palette, a dark
/// blue, if `share` is 1.
[[nodiscard]] inline std::size_t shade(double share) {
  const auto channel = [&](double full) {
    return static_cast<std::size_t>(std::lround(255 + (full - 255) * std::sqrt(share)));
  };
  return channel(0x17) * 0x10000 + channel(0x40) * 0x100 + channel(0x7A);
}

}  // namespace detail

/// Makes a heat map of a confusion matrix. Rows are true classes, columns are predicted classes.
///
/// The counts are written into the cells if there is enough space. A darker cell has a larger
/// fraction of the samples of its true class. The color follows the square root of this fraction,
/// so that rare mistakes are visible.
///
/// Throws `value_error` if there are no classes or more than 1000, if `cell` is above 200, or if
/// the number of names differs from the number of classes.
[[nodiscard]] inline chart confusion_chart(const confusion_matrix& counts,
                                           const std::vector<std::string>& names,
                                           const confusion_options& options = {}) {
  const std::size_t classes = counts.classes();
  require<value_error>(classes > 0 && classes <= 1000 && options.cell <= 200,
                       "plot::confusion: expected 1 to 1000 classes and cells of up to 200 pixels, "
                       "got ",
                       classes, " classes and ", options.cell, " pixels");
  require<value_error>(names.size() == classes, "plot::confusion: expected ", classes,
                       " names, got ", names.size());
  const auto cell = static_cast<double>(
      options.cell > 0 ? options.cell : std::clamp<std::size_t>(1000 / classes, 2, 64));
  double longest_name = 0;
  std::size_t max_count = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    longest_name = std::max(longest_name, detail::text_width(names[k], detail::font_size));
    for (std::size_t j = 0; j < classes; ++j) {
      max_count = std::max(max_count, counts.count(k, j));
    }
  }
  // Names are slanted if they do not fit into a cell. If cells are small, some names are left out.
  const bool slanted = longest_name > 0.95 * cell;
  const auto step = static_cast<std::size_t>(std::ceil(20 / cell));
  const double digits = detail::text_width(std::to_string(max_count), 1);
  const double count_size = std::min(15.0, (cell - 4) / digits);

  std::string columns;
  std::string rows;
  std::string labels;
  std::vector<std::vector<double>> cells;
  for (std::size_t truth = 0; truth < classes; ++truth) {
    if (truth % step == 0) {
      const std::string tic = detail::tic_literal(names[truth]);
      columns += text(truth > 0 ? ", " : "", tic, ' ', truth);
      rows += text(truth > 0 ? ", " : "", tic, ' ', truth);
    }
    std::size_t samples = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      samples += counts.count(truth, k);
    }
    for (std::size_t k = 0; k < classes; ++k) {
      const std::size_t count = counts.count(truth, k);
      const double share =
          samples == 0 ? 0 : static_cast<double>(count) / static_cast<double>(samples);
      const auto x = static_cast<double>(k);
      const auto y = static_cast<double>(truth);
      if (count > 0) {
        cells.push_back(
            {x, y, x - 0.5, x + 0.5, y - 0.5, y + 0.5, static_cast<double>(detail::shade(share))});
      }
      if (count_size >= 8) {
        labels += text("set label '", count, "' at ", k, ',', truth, " center front font ',",
                       detail::number(std::floor(count_size)), "' tc '",
                       share > 0.25 ? "#ffffff"
                       : count == 0 ? "#a0a0a0"
                                    : "#000000",
                       "'\n");
      }
    }
  }
  const double side = cell * static_cast<double>(classes);
  const std::string title =
      options.title.value_or(text("accuracy ", detail::measured(100 * counts.accuracy(), " %")));
  const double wide = std::max(side + longest_name + 130, detail::text_width(title, 21));
  const double high = side + (slanted ? 0.6 * longest_name : 0) + 100 +
                      24 * static_cast<double>(detail::lines_of(title));
  const double last = static_cast<double>(classes) - 0.5;
  std::string script = detail::style(title, "predicted", "true", 0);
  script += text("unset grid\nunset key\nset border 15 lc '#444444'\nset size ratio 1\n",
                 "set xrange [-0.5:", last, "]\nset yrange [", last, ":-0.5]\nset xtics ",
                 slanted ? "rotate by 35 right " : "", "scale 0 (", columns,
                 ")\nset ytics scale 0 (", rows, ")\n", labels, detail::data_block("cells", cells));
  script += cells.empty() ? "plot NaN\n"
                          : "plot $cells using 1:2:3:4:5:6:7 with boxxyerror fs solid noborder lc "
                            "rgb variable\n";
  return {{static_cast<std::size_t>(std::max(wide, 240.0)),
           static_cast<std::size_t>(std::max(high, 200.0)), options.gnuplot},
          script};
}

/// Draws a heat map of a confusion matrix to an SVG or PNG file. See `confusion_chart` and `write`.
inline void confusion(const std::filesystem::path& path, const confusion_matrix& counts,
                      const std::vector<std::string>& names,
                      const confusion_options& options = {}) {
  write(path, confusion_chart(counts, names, options));
}

}  // namespace glia::plot

#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/plot/chart.hpp"

namespace glia::plot {

/// The options of `panels`.
struct panels_options {
  std::string title = {};   ///< Title above all charts.
  std::size_t columns = 2;  ///< Number of columns, at least 1.
};

/// Combines several charts in one, row by row. Each chart keeps its own size. All cells are as wide
/// as the widest chart and as high as the highest chart. The first chart's gnuplot draws all
/// charts.
///
/// Throws `value_error` if there are no charts or no columns.
[[nodiscard]] inline chart panels_chart(const std::vector<chart>& charts,
                                        const panels_options& options = {}) {
  require<value_error>(!charts.empty() && options.columns > 0,
                       "plot::panels: expected at least one chart and one column, got ",
                       charts.size(), " and ", options.columns);
  std::size_t width = 0;
  std::size_t height = 0;
  for (const chart& panel : charts) {
    width = std::max(width, panel.canvas.width);
    height = std::max(height, panel.canvas.height);
  }
  const std::size_t columns = std::min(options.columns, charts.size());
  const std::size_t rows = (charts.size() + columns - 1) / columns;
  const std::size_t title_height =
      options.title.empty() ? 0 : 18 + 24 * detail::lines_of(options.title);
  const canvas page{columns * width, rows * height + title_height, charts.front().canvas.gnuplot};
  const auto share = [](std::size_t part, std::size_t whole) {
    return detail::number(static_cast<double>(part) / static_cast<double>(whole));
  };
  std::string script = "set multiplot\n";
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const chart& panel = charts[i];
    script += "reset\n";
    if (i == 0 && title_height > 0) {
      script += text("set label 1 ", detail::literal(options.title), " at screen 0.5, screen ",
                     detail::number(1 - 20.0 / static_cast<double>(page.height)), " center font ',",
                     detail::title_size, "'\n");
    }
    script += text(
        "set size ", share(panel.canvas.width, page.width), ',',
        share(panel.canvas.height, page.height), "\nset origin ",
        share(i % columns * width, page.width), ',',
        share(page.height - title_height - i / columns * height - panel.canvas.height, page.height),
        '\n', panel.script);
  }
  return {page, script + "unset multiplot\n"};
}

/// Draws several charts to one SVG or PNG file. See `panels_chart` and `write`.
inline void panels(const std::filesystem::path& path, const std::vector<chart>& charts,
                   const panels_options& options = {}) {
  write(path, panels_chart(charts, options));
}

}  // namespace glia::plot

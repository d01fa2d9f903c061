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
[[nodiscard]] inline chart panels_chart(const std::vector<chart>& all,
                                        const panels_options& options = {}) {
  require<value_error>(!all.empty() && options.columns > 0,
                       "plot::panels: expected at least one chart and one column, got ", all.size(),
                       " and ", options.columns);
  std::size_t width = 0;
  std::size_t height = 0;
  for (const chart& one : all) {
    width = std::max(width, one.canvas.width);
    height = std::max(height, one.canvas.height);
  }
  const std::size_t columns = std::min(options.columns, all.size());
  const std::size_t rows = (all.size() + columns - 1) / columns;
  const std::size_t above = options.title.empty() ? 0 : 18 + 24 * detail::lines_of(options.title);
  const canvas on{columns * width, rows * height + above, all.front().canvas.gnuplot};
  const auto share = [](std::size_t part, std::size_t whole) {
    return detail::number(static_cast<double>(part) / static_cast<double>(whole));
  };
  std::string script = "set multiplot\n";
  for (std::size_t i = 0; i < all.size(); ++i) {
    const chart& one = all[i];
    script += "reset\n";
    if (i == 0 && above > 0) {
      script += text("set label 1 ", detail::literal(options.title), " at screen 0.5, screen ",
                     detail::number(1 - 20.0 / static_cast<double>(on.height)), " center font ',",
                     detail::title_size, "'\n");
    }
    script += text("set size ", share(one.canvas.width, on.width), ',',
                   share(one.canvas.height, on.height), "\nset origin ",
                   share(i % columns * width, on.width), ',',
                   share(on.height - above - i / columns * height - one.canvas.height, on.height),
                   '\n', one.script);
  }
  return {on, script + "unset multiplot\n"};
}

/// Draws several charts to one SVG or PNG file. See `panels_chart` and `write`.
inline void panels(const std::filesystem::path& path, const std::vector<chart>& all,
                   const panels_options& options = {}) {
  write(path, panels_chart(all, options));
}

}  // namespace glia::plot

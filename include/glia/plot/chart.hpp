#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/plot/gnuplot_text.hpp"
#include "glia/plot/run_program.hpp"
#include "glia/plot/text_size.hpp"

namespace glia::plot {

/// The size of a chart and the program that draws it.
struct canvas {
  std::size_t width = 960;          ///< Width in pixels, 100 to 20,000.
  std::size_t height = 540;         ///< Height in pixels, 100 to 20,000.
  std::string gnuplot = "gnuplot";  ///< Name or path of gnuplot, version 5.2 or newer.
};

/// A chart before it is drawn, as commands for gnuplot.
///
/// Functions such as `curves_chart` and `bars_chart` make charts. `write` draws a chart to a file,
/// `svg` and `png` to a string. `panels_chart` combines several charts.
struct chart {
  plot::canvas canvas = {};  ///< Size and program.
  std::string script = {};   ///< Gnuplot's commands, without the output format.
};

namespace detail {

inline constexpr int font_size = 15;  // in pixels, as the sizes below
inline constexpr int title_size = 19;
inline constexpr int note_size = 12;

/// Returns the commands for the default style of a chart's axes. `key_lines` is the largest number
/// of lines in a name of the legend, or 0 if there is no legend.
[[nodiscard]] inline std::string style(std::string_view title, std::string_view x_label,
                                       std::string_view y_label, std::size_t key_lines) {
  // gnuplot leaves no space between label and legend, and none for names of several lines.
  const std::string_view room = key_lines > 0 && !x_label.empty() ? "\n " : "";
  return text("set title ", literal(title), " font ',", title_size, "'\nset xlabel ",
              literal(std::string(x_label) + std::string(room)), "\nset ylabel ", literal(y_label),
              "\nset border 3 lc '#444444'\nset tics nomirror out\n",
              "set grid ytics lc '#dddddd' lt 1\nset key bmargin center horizontal spacing ",
              std::max<std::size_t>(key_lines, 1), '\n');
}

/// Returns the largest number of lines in the name of a series, or 0 if no series has a name.
template <class Series>
[[nodiscard]] std::size_t key_lines(const std::vector<Series>& series_list) {
  std::size_t lines = 0;
  for (const Series& s : series_list) {
    lines = std::max(lines, s.name.empty() ? 0 : lines_of(s.name));
  }
  return lines;
}

/// Draws a chart with gnuplot and returns gnuplot's output. `terminal` is gnuplot's name for the
/// output format.
[[nodiscard]] inline std::string drawn(const chart& figure, std::string_view terminal) {
  const canvas& page = figure.canvas;
  const auto fits = [](std::size_t extent) { return extent >= 100 && extent <= 20000; };
  require<value_error>(fits(page.width) && fits(page.height),
                       "plot: expected a width and a height of 100 to 20000 pixels, got ",
                       page.width, " and ", page.height);
  // -d ignores the commands in the user's ~/.gnuplot.
  const program_result result = run_program(
      {page.gnuplot, "-d"}, text("set encoding utf8\nset terminal ", terminal, " noenhanced size ",
                                 page.width, ',', page.height, " font 'DejaVu Sans,", font_size,
                                 "' background '#ffffff'\n", figure.script, '\n'));
  require<data_error>(
      result.status != program_result::not_found, "plot: the program '", page.gnuplot,
      "' cannot be started; install gnuplot to draw charts (Debian: apt-get install "
      "gnuplot-nox)");
  require<data_error>(result.status == 0 && !result.output.empty(), "plot: ", page.gnuplot,
                      " failed with status ", result.status, ": ", result.errors);
  return result.output;
}

}  // namespace detail

/// Draws a chart as an SVG element, for an HTML page.
///
/// Throws `value_error` if the size is out of range, and `data_error` if gnuplot is missing or
/// fails. If gnuplot fails, the message contains gnuplot's own message.
[[nodiscard]] inline std::string svg(const chart& figure) {
  const std::string document = detail::drawn(figure, "svg");
  const std::size_t begin = document.find("<svg");
  require<data_error>(begin != std::string::npos && document.find("</svg>") != std::string::npos,
                      "plot: the output of ", figure.canvas.gnuplot,
                      " is not a complete SVG picture");
  return document.substr(begin);
}

/// Draws a chart as the bytes of a PNG file. Throws the errors of `svg`.
[[nodiscard]] inline std::string png(const chart& figure) {
  // A point of pngcairo's fonts is 4/3 pixels; a point of SVG's fonts is 1 pixel.
  std::string bytes = detail::drawn(figure, "pngcairo fontscale 0.75");
  require<data_error>(bytes.starts_with("\x89PNG\r\n\x1a\n") &&
                          bytes.find("IEND", bytes.size() - 12) != std::string::npos,
                      "plot: the output of ", figure.canvas.gnuplot,
                      " is not a complete PNG picture");
  return bytes;
}

/// Draws a chart to a file whose name ends in .svg or .png. The file is written as a whole or not
/// at all.
///
/// Throws `value_error` if the name has another ending, and `data_error`, with the path, if the
/// file cannot be written. Also throws the errors of `svg`.
inline void write(const std::filesystem::path& path, const chart& figure) {
  const std::string ending = path.extension().string();
  require<value_error>(ending == ".svg" || ending == ".png", path.string(),
                       ": expected a file name that ends in .svg or .png");
  const std::string bytes =
      ending == ".png" ? png(figure) : "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n" + svg(figure);
  glia::write_whole_file(path, [&](std::ostream& out) {
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  });
}

}  // namespace glia::plot

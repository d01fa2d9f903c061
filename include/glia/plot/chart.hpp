#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/run_program.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/plot/gnuplot_text.hpp"

namespace glia::plot {

/// What a chart is drawn on, and by what.
struct canvas {
  std::size_t width = 960;          ///< in pixels, 100 to 20,000
  std::size_t height = 540;         ///< in pixels, 100 to 20,000
  std::string gnuplot = "gnuplot";  ///< the program's name or path; 5.2 or newer
};

/// A drawing that is yet to be drawn: gnuplot's commands without the format. `curves_chart`,
/// `bars_chart` and their like make one; `write` draws it into a file, `svg` into a string, and
/// `panels_chart` puts several into one.
struct chart {
  canvas on = {};
  std::string script = {};
};

namespace detail {

inline constexpr int font_size = 15;  // in pixels, as all of those below
inline constexpr int title_size = 19;
inline constexpr int note_size = 12;

/// What a chart's axes look like where it says nothing else. The names in its key have so many
/// lines; 0 without a key.
[[nodiscard]] inline std::string style(std::string_view title, std::string_view x_label,
                                       std::string_view y_label, std::size_t key_lines) {
  // gnuplot leaves no room between the label and the key, nor for names of more than one line.
  const std::string_view room = key_lines > 0 && !x_label.empty() ? "\n " : "";
  return text("set title ", literal(title), " font ',", title_size, "'\nset xlabel ",
              literal(std::string(x_label) + std::string(room)), "\nset ylabel ", literal(y_label),
              "\nset border 3 lc '#444444'\nset tics nomirror out\n",
              "set grid ytics lc '#dddddd' lt 1\nset key bmargin center horizontal spacing ",
              std::max<std::size_t>(key_lines, 1), '\n');
}

/// Of the names of series: as many lines as the longest has, 0 where there are none.
template <class Series>
[[nodiscard]] std::size_t key_lines(const std::vector<Series>& all) {
  std::size_t lines = 0;
  for (const Series& one : all) {
    lines = std::max(lines, one.name.empty() ? 0 : lines_of(one.name));
  }
  return lines;
}

/// What gnuplot makes of a chart on a terminal of its own.
[[nodiscard]] inline std::string drawn(const chart& what, std::string_view terminal) {
  const canvas& on = what.on;
  const auto fits = [](std::size_t extent) { return extent >= 100 && extent <= 20000; };
  require<value_error>(fits(on.width) && fits(on.height),
                       "plot: expected a width and a height of 100 to 20000 pixels, got ", on.width,
                       " and ", on.height);
  // Without -d, commands in the user's ~/.gnuplot would come first.
  const program_result result = run_program(
      {on.gnuplot, "-d"}, text("set encoding utf8\nset terminal ", terminal, " noenhanced size ",
                               on.width, ',', on.height, " font 'DejaVu Sans,", font_size,
                               "' background '#ffffff'\n", what.script, '\n'));
  require<data_error>(result.status != program_result::not_found, "plot: the program '", on.gnuplot,
                      "' cannot be started; charts are drawn by gnuplot: install it (Debian: "
                      "apt-get install gnuplot-nox)");
  require<data_error>(result.status == 0 && !result.output.empty(), "plot: ", on.gnuplot,
                      " failed with status ", result.status, ": ", result.errors);
  return result.output;
}

}  // namespace detail

/// A chart as an SVG element, to stand in an HTML page or after an XML declaration in a file.
///
/// Throws `data_error` where gnuplot is missing or fails, with its message, `value_error` for a
/// size that is out of range.
[[nodiscard]] inline std::string svg(const chart& what) {
  const std::string document = detail::drawn(what, "svg");
  const std::size_t begin = document.find("<svg");
  require<data_error>(begin != std::string::npos && document.find("</svg>") != std::string::npos,
                      "plot: ", what.on.gnuplot, " drew no whole SVG picture");
  return document.substr(begin);
}

/// A chart as the bytes of a PNG file; throws as `svg` does.
[[nodiscard]] inline std::string png(const chart& what) {
  // A point of pngcairo's fonts is 4/3 pixels, one of SVG's is a pixel.
  std::string bytes = detail::drawn(what, "pngcairo fontscale 0.75");
  require<data_error>(bytes.starts_with("\x89PNG\r\n\x1a\n") &&
                          bytes.find("IEND", bytes.size() - 12) != std::string::npos,
                      "plot: ", what.on.gnuplot, " drew no whole PNG picture");
  return bytes;
}

/// Draws a chart into a file, as SVG or PNG by its ending; the file is there whole or not at all.
///
/// Throws `value_error` for another ending, `data_error`, naming the path, where the file cannot be
/// written, and as `svg` does.
inline void write(const std::filesystem::path& path, const chart& what) {
  const std::string ending = path.extension().string();
  require<value_error>(ending == ".svg" || ending == ".png", path.string(),
                       ": expected a name that ends in .svg or .png");
  const std::string bytes =
      ending == ".png" ? png(what) : "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n" + svg(what);
  write_whole_file(path, [&](std::ostream& out) {
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  });
}

}  // namespace glia::plot

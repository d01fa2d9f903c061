#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/plot/chart.hpp"
#include "glia/plot/palette.hpp"

namespace glia::plot {

/// The style of a series: a line, points, or both.
enum class marks : std::uint8_t { line, points, line_and_points };
/// The style of intervals: an error bar at each point, or a band along the line.
enum class spread : std::uint8_t { bars, band };

/// A series of points (x, y), with an optional interval of y around each point.
struct series {
  std::string name = {};                 ///< Name in the legend; empty: not in the legend.
  std::vector<double> x = {};            ///< X values; empty: 1, 2, 3, ....
  std::vector<double> y = {};            ///< Y values, one for each x.
  std::vector<double> low = {};          ///< Lower ends of the intervals, one for each y, or empty.
  std::vector<double> high = {};         ///< Upper ends of the intervals, one for each lower end.
  marks style = marks::line_and_points;  ///< Line, points, or both.
  spread interval_style = spread::bars;  ///< Error bars, or a band along the line.
  bool dashed = false;                   ///< Whether the line is dashed, such as a fitted line.
  std::optional<std::size_t> color = {};  ///< Index in the palette; default: index of the series.
};

/// The options of `curves`.
struct curves_options {
  std::string title = {};    ///< Title above the chart.
  std::string x_label = {};  ///< Label of the x axis.
  std::string y_label = {};  ///< Label of the y axis.
  bool log_x = false;        ///< Whether the x axis is logarithmic.
  bool log_y = false;        ///< Whether the y axis is logarithmic.
  bool whole_x = false;      ///< Whether the x axis has only integers, for counts such as epochs.
  plot::canvas canvas = {};  ///< Size and program.
};

namespace detail {

/// Collects the smallest and the largest value on an axis.
class axis_range {
 public:
  explicit axis_range(bool log) : log_(log) {}

  /// Returns whether a value can be drawn. gnuplot treats values near the largest double as
  /// infinite.
  [[nodiscard]] bool holds(double value) const {
    return std::abs(value) < 1e300 && (!log_ || value > 0);
  }
  void include(double value) {
    if (holds(value)) {
      low_ = std::min(low_, value);
      high_ = std::max(high_, value);
    }
  }
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double extent() const { return std::max(high_ - low_, 0.0); }

  /// Returns the range in gnuplot's format, with a margin at both ends. The margin does not extend
  /// a range of non-negative values below zero.
  [[nodiscard]] std::string text(double margin) const {
    double begin = 1;
    double end = 10;
    if (low_ <= high_ && log_) {
      const double factor = low_ < high_ ? std::pow(high_ / low_, margin) : 3;
      begin = low_ / factor;
      end = high_ * factor;
    } else if (low_ <= high_) {
      const double padding =
          low_ < high_ ? margin * extent() : std::max(0.5 * std::abs(low_), 1e-12);
      begin = low_ >= 0 ? std::max(low_ - padding, 0.0) : low_ - padding;
      end = high_ + padding;
    }
    return '[' + number(begin) + ':' + number(end) + ']';
  }

  /// Returns the command that sets tics at 1, 2 and 5 times each power of 10, if the axis is
  /// logarithmic and its largest value is less than 30 times the smallest one. gnuplot would choose
  /// too few tics for such an axis. Returns an empty string for any other axis.
  [[nodiscard]] std::string tics(std::string_view axis) const {
    if (!log_ || !(high_ / low_ < 30)) {
      return "";
    }
    std::string places;
    for (double decade = std::floor(std::log10(low_)) - 1; decade <= std::log10(high_) + 1;
         ++decade) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        places += (places.empty() ? "" : ", ") + number(digit * std::pow(10, decade));
      }
    }
    return glia::text("set ", axis, "tics (", places, ")\n");
  }

 private:
  bool log_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

/// Returns the series with the x values 1, 2, 3, ... if it has none. Throws `value_error` if the
/// lengths of its vectors differ.
[[nodiscard]] inline series checked(series s) {
  if (s.x.empty()) {
    for (std::size_t i = 0; i < s.y.size(); ++i) {
      s.x.push_back(static_cast<double>(i + 1));
    }
  }
  require<value_error>(s.x.size() == s.y.size(),
                       "plot::curves: expected as many x as y in series '", s.name, "', got ",
                       s.x.size(), " x and ", s.y.size(), " y");
  require<value_error>(
      s.low.size() == s.high.size() && (s.low.empty() || s.low.size() == s.y.size()),
      "plot::curves: expected one low and one high for each point of series '", s.name,
      "', or none, got ", s.y.size(), " points, ", s.low.size(), " low and ", s.high.size(),
      " high");
  return s;
}

/// The ranges of both axes of a chart. They include the points and intervals of all series.
struct curve_axes {
  axis_range x;
  axis_range y;

  curve_axes(const std::vector<series>& series_list, const curves_options& options)
      : x(options.log_x), y(options.log_y) {
    for (const series& s : series_list) {
      for (std::size_t i = 0; i < s.y.size(); ++i) {
        if (x.holds(s.x[i])) {
          x.include(s.x[i]);
          y.include(s.y[i]);
          y.include(s.low.empty() ? s.y[i] : s.low[i]);
          y.include(s.high.empty() ? s.y[i] : s.high[i]);
        }
      }
    }
  }
};

/// A series in gnuplot's language.
struct curve {
  std::string data;      ///< Data blocks.
  std::string elements;  ///< Elements of the plot command.
};

/// Converts series k of a chart to gnuplot's language.
[[nodiscard]] inline curve curve_of(const series& s, std::size_t k, const curve_axes& axes,
                                    bool log_y) {
  const std::size_t look_index = s.color.value_or(k);
  constexpr double gap = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::vector<double>> points;
  std::vector<std::vector<double>> intervals;
  bool visible = false;
  for (std::size_t i = 0; i < s.y.size(); ++i) {
    const bool holds = axes.x.holds(s.x[i]) && axes.y.holds(s.y[i]);
    visible |= holds;
    points.push_back({s.x[i], holds ? s.y[i] : gap});
    if (!s.low.empty()) {
      const double low = log_y && s.low[i] <= 0 ? axes.y.low() : s.low[i];
      intervals.push_back(
          {s.x[i], holds && axes.y.holds(s.high[i]) ? s.y[i] : gap, low, s.high[i]});
    }
  }
  constexpr std::array shapes{7, 5, 9, 11, 13, 2};
  constexpr std::array dashes{"1", "(12,4)", "(4,3)", "(12,4,3,4)", "(20,6)", "(2,4)"};
  const std::string look = text(
      s.style == marks::points ? "points"
      : s.style == marks::line ? "lines"
                               : "linespoints",
      " lc rgb '", color(look_index), '\'',
      s.style == marks::points
          ? ""
          : text(" lw 2 dt ", s.dashed ? "(6,6)" : dashes[look_index % dashes.size()]),
      s.style == marks::line ? "" : text(" pt ", shapes[look_index % shapes.size()], " ps 0.8"),
      s.name.empty() ? " notitle" : " title " + literal(s.name));
  if (!visible) {  // gnuplot would leave out an empty block and its name in the legend
    return {.data = {}, .elements = "NaN with " + look};
  }
  curve result{.data = data_block(text("points", k), points),
               .elements = text("$points", k, " using 1:2 with ", look)};
  if (!s.low.empty()) {
    result.data += data_block(text("ranges", k), intervals);
    result.elements = text("$ranges", k, " using ",
                           s.interval_style == spread::band
                               ? "1:3:4 with filledcurves fs transparent solid 0.25 noborder"
                               : "1:2:3:4 with yerrorbars pt 0 lw 1.5",
                           " lc rgb '", color(look_index), "' notitle, ", result.elements);
  }
  return result;
}

}  // namespace detail

/// Makes a chart of one or more series, drawn as lines, points or both.
///
///     const auto chart = glia::plot::curves_chart({{.name = "loss", .y = {0.9, 0.5, 0.3}}},
///                                                 {.x_label = "epoch"});
///
/// A point is left out if it has a value that is not finite, or that is at most 0 on a logarithmic
/// axis. Its line then has a gap. An interval with such an end is left out, too. There is one
/// exception: if the lower end of an interval is at most 0 on a logarithmic axis, it is drawn at
/// the lowest value in the chart.
///
/// Throws `value_error` if there is no point, or if the lengths of a series' vectors differ.
[[nodiscard]] inline chart curves_chart(const std::vector<series>& series_list,
                                        const curves_options& options = {}) {
  std::vector<series> whole;
  std::size_t points = 0;
  for (const series& s : series_list) {
    whole.push_back(detail::checked(s));
    points += s.y.size();
  }
  require<value_error>(points > 0, "plot::curves: expected at least one point, got ",
                       series_list.size(), " series without points");
  const detail::curve_axes axes(whole, options);
  std::string script =
      detail::style(options.title, options.x_label, options.y_label,
                    detail::key_lines(series_list)) +
      text(options.log_x ? "set logscale x\n" : "", options.log_y ? "set logscale y\n" : "",
           "set xrange ", axes.x.text(0.03), "\nset yrange ", axes.y.text(0.04), '\n',
           axes.x.tics("x"), axes.y.tics("y"));
  if (options.whole_x && !options.log_x) {
    constexpr double max_tics = 12;
    script += text("set xtics ",
                   detail::number(std::max(1.0, std::ceil(axes.x.extent() / max_tics))), '\n');
  }
  std::string elements;
  for (std::size_t k = 0; k < whole.size(); ++k) {
    const detail::curve drawn_curve = detail::curve_of(whole[k], k, axes, options.log_y);
    script += drawn_curve.data;
    elements += (k > 0 ? ", " : "") + drawn_curve.elements;
  }
  return {options.canvas, script + "plot " + elements + '\n'};
}

/// Draws series to an SVG or PNG file. See `curves_chart` and `write`.
inline void curves(const std::filesystem::path& path, const std::vector<series>& series_list,
                   const curves_options& options = {}) {
  write(path, curves_chart(series_list, options));
}

}  // namespace glia::plot

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

enum class marks : std::uint8_t { line, points, line_and_points };
enum class spread : std::uint8_t { bars, band };

/// Points (x, y), and around each, where there are such, an interval of y.
struct series {
  std::string name = {};          ///< in the key; "": not there
  std::vector<double> x = {};     ///< none: 1, 2, 3, ...
  std::vector<double> y = {};     ///< as many as there are x
  std::vector<double> low = {};   ///< the intervals' lower ends, as many as there are y, or none
  std::vector<double> high = {};  ///< their upper ends, as many as there are lower ones
  marks drawn = marks::line_and_points;
  spread interval = spread::bars;          ///< an error bar at each point, or a band along the line
  bool dashed = false;                     ///< for what is computed, beside what is measured
  std::optional<std::size_t> colour = {};  ///< its place in the palette; none: that in the chart
};

/// How `curves` draws.
struct curves_options {
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  bool log_x = false;
  bool log_y = false;
  bool whole_x = false;  ///< x are counts: only whole numbers are written at the axis
  canvas on = {};
};

namespace detail {

/// What of an axis is drawn.
class axis_range {
 public:
  explicit axis_range(bool log) : log_(log) {}

  /// gnuplot takes what is near the end of the doubles for infinite.
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

  /// With a margin at both ends, though not past zero.
  [[nodiscard]] std::string text(double margin) const {
    double from = 1;
    double to = 10;
    if (low_ <= high_ && log_) {
      const double factor = low_ < high_ ? std::pow(high_ / low_, margin) : 3;
      from = low_ / factor;
      to = high_ * factor;
    } else if (low_ <= high_) {
      const double more = low_ < high_ ? margin * extent() : std::max(0.5 * std::abs(low_), 1e-12);
      from = low_ >= 0 ? std::max(low_ - more, 0.0) : low_ - more;
      to = high_ + more;
    }
    return '[' + number(from) + ':' + number(to) + ']';
  }

  /// Where numbers stand, if gnuplot's choice would leave too few: at 1, 2 and 5 of each decade on
  /// a logarithmic axis of few decades.
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

/// The series with an x for each y, once it is seen to fit together.
[[nodiscard]] inline series checked(series s) {
  if (s.x.empty()) {
    for (std::size_t i = 0; i < s.y.size(); ++i) {
      s.x.push_back(static_cast<double>(i + 1));
    }
  }
  require<value_error>(s.x.size() == s.y.size(), "plot::curves: series '", s.name, "' has ",
                       s.x.size(), " x and ", s.y.size(), " y; expected as many of both");
  require<value_error>(
      s.low.size() == s.high.size() && (s.low.empty() || s.low.size() == s.y.size()),
      "plot::curves: series '", s.name, "' has ", s.y.size(), " points, ", s.low.size(),
      " lower and ", s.high.size(), " upper ends; expected as many of each, or no ends");
  return s;
}

/// Both axes of a chart, so far that all series fit.
struct curve_axes {
  axis_range x;
  axis_range y;

  curve_axes(const std::vector<series>& all, const curves_options& options)
      : x(options.log_x), y(options.log_y) {
    for (const series& s : all) {
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

/// A series as gnuplot is told of it.
struct curve {
  std::string data;
  std::string elements;  ///< of the plot command
};

/// Series k of a chart.
[[nodiscard]] inline curve curve_of(const series& s, std::size_t k, const curve_axes& axes,
                                    bool log_y) {
  const std::size_t look_of = s.colour.value_or(k);
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
  const std::string look =
      text(s.drawn == marks::points ? "points"
           : s.drawn == marks::line ? "lines"
                                    : "linespoints",
           " lc rgb '", colour(look_of), '\'',
           s.drawn == marks::points
               ? ""
               : text(" lw 2 dt ", s.dashed ? "(6,6)" : dashes[look_of % dashes.size()]),
           s.drawn == marks::line ? "" : text(" pt ", shapes[look_of % shapes.size()], " ps 0.8"),
           s.name.empty() ? " notitle" : " title " + literal(s.name));
  if (!visible) {  // gnuplot leaves out an empty block, and its name in the key
    return {.data = {}, .elements = "NaN with " + look};
  }
  curve result{.data = data_block(text("points", k), points),
               .elements = text("$points", k, " using 1:2 with ", look)};
  if (!s.low.empty()) {
    result.data += data_block(text("ranges", k), intervals);
    result.elements = text("$ranges", k, " using ",
                           s.interval == spread::band
                               ? "1:3:4 with filledcurves fs transparent solid 0.25 noborder"
                               : "1:2:3:4 with yerrorbars pt 0 lw 1.5",
                           " lc rgb '", colour(look_of), "' notitle, ", result.elements);
  }
  return result;
}

}  // namespace detail

/// Series as lines, points or both in one chart. Values that are not finite, and those up to 0 on a
/// logarithmic axis, are gaps; so is an interval with such an end, but for a lower end up to 0 on a
/// logarithmic axis: it lies at the lowest value in the chart.
///
/// Throws `value_error` for no series, for none with a point, and for lengths that disagree.
[[nodiscard]] inline chart curves_chart(const std::vector<series>& all,
                                        const curves_options& options = {}) {
  std::vector<series> whole;
  std::size_t points = 0;
  for (const series& s : all) {
    whole.push_back(detail::checked(s));
    points += s.y.size();
  }
  require<value_error>(points > 0, "plot::curves: nothing to draw: ", all.size(),
                       " series without a point");
  const detail::curve_axes axes(whole, options);
  std::string script =
      detail::style(options.title, options.x_label, options.y_label, detail::key_lines(all)) +
      text(options.log_x ? "set logscale x\n" : "", options.log_y ? "set logscale y\n" : "",
           "set xrange ", axes.x.text(0.03), "\nset yrange ", axes.y.text(0.04), '\n',
           axes.x.tics("x"), axes.y.tics("y"));
  if (options.whole_x && !options.log_x) {
    constexpr double most_tics = 12;
    script += text("set xtics ",
                   detail::number(std::max(1.0, std::ceil(axes.x.extent() / most_tics))), '\n');
  }
  std::string elements;
  for (std::size_t k = 0; k < whole.size(); ++k) {
    const detail::curve one = detail::curve_of(whole[k], k, axes, options.log_y);
    script += one.data;
    elements += (k > 0 ? ", " : "") + one.elements;
  }
  return {options.on, script + "plot " + elements + '\n'};
}

/// The same into a file; see `write`.
inline void curves(const std::filesystem::path& path, const std::vector<series>& all,
                   const curves_options& options = {}) {
  write(path, curves_chart(all, options));
}

}  // namespace glia::plot

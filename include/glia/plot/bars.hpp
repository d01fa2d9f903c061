#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/number_text.hpp"
#include "glia/plot/chart.hpp"
#include "glia/plot/palette.hpp"

namespace glia::plot {

/// A series of a bar chart, with one bar in each group.
struct bar_series {
  std::string name = {};            ///< Name in the legend; empty: not in the legend.
  std::vector<double> values = {};  ///< One value for each group. NaN and infinity have no bar.
};

/// The options of `bars`.
struct bars_options {
  std::string title = {};    ///< Title above the chart.
  std::string x_label = {};  ///< Label of the x axis.
  std::string y_label = {};  ///< Label of the y axis.
  std::string note = {};     ///< Text in small print at the upper right.
  bool log_y = false;        ///< Whether the y axis is logarithmic.
  bool values = true;        ///< Whether each bar is labeled with its value, in three digits.
  std::string unit = {};     ///< Unit after the values, such as " s".
  /// Index of the group that is drawn in color. The other groups are gray. Works only with a single
  /// series.
  std::optional<std::size_t> highlight = {};
  plot::canvas canvas = {};  ///< Size and program.
};

namespace detail {

/// Formats a value with three digits and the unit.
[[nodiscard]] inline std::string measured(double value, const std::string& unit) {
  const double size = std::abs(value);
  if (size >= 1e6 || (size < 0.01 && size > 0)) {
    return glia::digits_text(value, 3) + unit;
  }
  return glia::fixed_text(value, size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : 2) + unit;
}

/// Computes the positions of bars and texts, and makes gnuplot's commands for them.
class bar_layout {
 public:
  bar_layout(const std::vector<std::string>& groups, const std::vector<bar_series>& series_list,
             const bars_options& options)
      : groups_(groups),
        series_(series_list),
        options_(options),
        slot_((static_cast<double>(options.canvas.width) - 110) /
              static_cast<double>(groups.size())),
        width_(series_list.size() == 1 ? 0.6 : 0.84 / static_cast<double>(series_list.size())) {
    for (const std::string& group : groups) {
      longest_group_ = std::max(longest_group_, text_width(group, font_size));
      group_lines_ = std::max(group_lines_, lines_of(group));
    }
    for (const bar_series& s : series_list) {
      for (const double value : s.values) {
        if (drawable(value)) {
          visible_ = true;
          lowest_ = std::min(lowest_, value);
          highest_ = std::max(highest_, value);
          smallest_ = std::min(smallest_, std::abs(value));
          widest_ = std::max(widest_, text_width(measured(value, options.unit), value_size));
        }
      }
    }
  }

  /// Returns the commands for the axes with the names of the groups. The names are slanted if they
  /// do not fit side by side.
  [[nodiscard]] std::string axes() const {
    constexpr double across = 20;  // smallest width of a slanted name, in pixels
    const auto step = slanted() ? static_cast<std::size_t>(std::ceil(across / slot_)) : 1;
    std::string tics;
    for (std::size_t g = 0; g < groups_.size(); g += step) {
      tics += text(g > 0 ? ", " : "", tic_literal(groups_[g]), ' ', g);
    }
    // gnuplot reserves space for one line of names. Empty lines in the axis label add more.
    const std::string room = slanted() ? "" : std::string(group_lines_ - 1, '\n');
    const std::string label = options_.x_label.empty() && group_lines_ > 1 ? " " : options_.x_label;
    std::string script = style(options_.title, room + label, options_.y_label, key_lines(series_));
    script +=
        text("set style fill solid noborder\nset boxwidth ", number(width_),
             "\nset xrange [-0.6:", number(static_cast<double>(groups_.size()) - 0.4),
             "]\nset xtics ", slanted() ? "rotate by 35 right " : "", "scale 0 (", tics, ")\n");
    if (!options_.note.empty()) {
      script += text("set label ", literal(options_.note), " at graph 1,1.03 right font ',",
                     note_size, "' tc '#666666'\n");
    }
    return script + range();
  }

  /// Returns the data block with the bars of series k.
  [[nodiscard]] std::string blocks(std::size_t k) const {
    std::vector<std::vector<double>> bars;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const double value = series_[k].values[g];
      if (drawable(value)) {
        bars.push_back({place(g, k), value, options_.highlight == g ? 1.0 : 0.0});
      }
    }
    return data_block(text("bars", k), bars);
  }

  [[nodiscard]] std::string elements(std::size_t k) const {
    const std::string block = text("$bars", k);
    const std::string title =
        series_[k].name.empty() ? " notitle" : " title " + literal(series_[k].name);
    if (bars_of(k) == 0) {  // gnuplot would warn about an empty block
      return text("NaN with boxes lc rgb '", color(k), "'", title);
    }
    if (!options_.highlight) {
      return text(block, " using 1:2 with boxes lc rgb '", color(k), "'", title);
    }
    return text(block, " using 1:($3 == 0 ? $2 : NaN) with boxes lc rgb '", muted, "'", title, ", ",
                block, " using 1:($3 == 1 ? $2 : NaN) with boxes lc rgb '", color(1), "' notitle");
  }

  /// Returns the commands that write each value above its bar, or below the bar if the value is
  /// negative.
  [[nodiscard]] std::string value_labels() const {
    std::string script;
    for (std::size_t k = 0; options_.values && k < series_.size(); ++k) {
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        const double value = series_[k].values[g];
        if (drawable(value)) {
          const bool negative = value < 0;
          script +=
              text("set label ", literal(measured(value, options_.unit)), " at ",
                   number(place(g, k)), ',', number(value), " front font ',", value_size, "' ",
                   upright() ? text(negative ? "right" : "left", " rotate by 90 offset 0,",
                                    negative ? "-0.4" : "0.4")
                             : text("center offset 0,", negative ? "-0.7" : "0.6"),
                   '\n');
        }
      }
    }
    return script;
  }

 private:
  static constexpr double value_size = 13;

  [[nodiscard]] bool drawable(double value) const {
    return std::isfinite(value) && (!options_.log_y || value > 0);
  }
  [[nodiscard]] std::size_t bars_of(std::size_t k) const {
    return static_cast<std::size_t>(std::count_if(
        series_[k].values.begin(), series_[k].values.end(), [&](double v) { return drawable(v); }));
  }
  [[nodiscard]] double place(std::size_t group, std::size_t k) const {
    const double middle = static_cast<double>(series_.size() - 1) / 2;
    return static_cast<double>(group) + (static_cast<double>(k) - middle) * width_;
  }
  /// Returns whether the names of the groups are too long to fit side by side.
  [[nodiscard]] bool slanted() const { return longest_group_ > slot_; }
  /// Returns whether the values are too long to fit side by side.
  [[nodiscard]] bool upright() const {
    return widest_ > 0.95 * slot_ * (series_.size() == 1 ? 1 : width_);
  }

  /// Returns the command for the range of the y axis, with space for the written values. The range
  /// of a linear axis includes zero.
  [[nodiscard]] std::string range() const {
    if (!visible_) {
      return "set yrange [0.1:1]\n";
    }
    const double text_height = options_.values ? (upright() ? widest_ + 10 : 24) : 6;
    const double names_height =
        slanted() ? 0.6 * longest_group_ : 20 * static_cast<double>(group_lines_);
    const double plot_height = static_cast<double>(options_.canvas.height) - names_height - 190;
    const double room = std::min(text_height / std::max(plot_height, 60.0), 0.4);
    if (options_.log_y) {
      const double bottom = std::pow(10, std::floor(std::log10(smallest_) - 0.05));
      const double decades = std::log10(highest_ / bottom);
      return text("set logscale y\nset yrange [", number(bottom), ':',
                  number(highest_ * std::pow(10, decades * room / (1 - room))), "]\n");
    }
    const double extent = std::max(highest_ - lowest_, 1e-300);
    const double margin = extent * room / (1 - (lowest_ < 0 ? 2 : 1) * room);
    return text("set yrange [", number(lowest_ < 0 ? lowest_ - margin : 0), ':',
                number(highest_ > 0 ? highest_ + margin : (lowest_ < 0 ? margin / 4 : 1)), "]\n",
                lowest_ < 0 ? "set xzeroaxis lc '#444444' lt 1\n" : "");
  }

  const std::vector<std::string>& groups_;
  const std::vector<bar_series>& series_;
  const bars_options& options_;
  double slot_;   // width of a group, in pixels
  double width_;  // width of a bar, in groups
  double longest_group_ = 0;
  std::size_t group_lines_ = 1;
  bool visible_ = false;
  double lowest_ = 0;
  double highest_ = 0;
  double smallest_ = 1e300;  // the smallest bar
  double widest_ = 0;        // largest width of a value's text
};

}  // namespace detail

/// Makes a bar chart of named groups. Each group has one bar for each series.
///
///     const auto chart = glia::plot::bars_chart({"glia", "other"}, {{.values = {1.2, 3.4}}},
///                                               {.y_label = "seconds"});
///
/// The y axis begins at zero unless it is logarithmic.
///
/// Throws `value_error` if there are no groups or no series, if a series does not have one value
/// for each group, or if `highlight` is out of range or used with several series.
[[nodiscard]] inline chart bars_chart(const std::vector<std::string>& groups,
                                      const std::vector<bar_series>& series_list,
                                      const bars_options& options = {}) {
  require<value_error>(!groups.empty() && !series_list.empty(),
                       "plot::bars: expected at least one group and one series, got ",
                       groups.size(), " groups and ", series_list.size(), " series");
  for (const bar_series& s : series_list) {
    require<value_error>(s.values.size() == groups.size(), "plot::bars: expected ", groups.size(),
                         " values, one for each group, in series '", s.name, "', got ",
                         s.values.size());
  }
  require<value_error>(
      !options.highlight || (*options.highlight < groups.size() && series_list.size() == 1),
      "plot::bars: expected a highlight below ", groups.size(), " with a single series, got ",
      options.highlight.value_or(0), " with ", series_list.size(), " series");
  const detail::bar_layout layout(groups, series_list, options);
  std::string script = layout.axes() + layout.value_labels();
  std::string elements;
  for (std::size_t k = 0; k < series_list.size(); ++k) {
    script += layout.blocks(k);
    elements += (k > 0 ? ", " : "") + layout.elements(k);
  }
  return {options.canvas, script + "plot " + elements + '\n'};
}

/// Draws a bar chart to an SVG or PNG file. See `bars_chart` and `write`.
inline void bars(const std::filesystem::path& path, const std::vector<std::string>& groups,
                 const std::vector<bar_series>& series_list, const bars_options& options = {}) {
  write(path, bars_chart(groups, series_list, options));
}

}  // namespace glia::plot

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/plot/chart.hpp"
#include "glia/plot/palette.hpp"

namespace glia::plot {

/// A set of values whose distribution `histogram` draws.
struct distribution {
  std::string name = {};            ///< Name in the legend; empty: not in the legend.
  std::vector<double> values = {};  ///< Values; values that are not finite are ignored.
};

/// The options of `histogram`.
struct histogram_options {
  std::string title = {};         ///< Title above the chart.
  std::string x_label = {};       ///< Label of the x axis.
  std::string y_label = "count";  ///< Label of the y axis.
  std::size_t bins = 0;           ///< Number of bins, up to 10,000; 0: chosen from the values.
  /// Lower end of the first bin; default: the smallest value. Smaller values are ignored.
  double low = -std::numeric_limits<double>::infinity();
  /// Upper end of the last bin; default: the largest value. A value equal to `high` is counted, and
  /// larger values are ignored.
  double high = std::numeric_limits<double>::infinity();
  bool log_y = false;        ///< Whether the y axis is logarithmic.
  plot::canvas canvas = {};  ///< Size and program.
};

namespace detail {

/// The bins of all distributions: `count` bins of equal width between `low` and `high`.
struct bin_range {
  double low = 0;
  double high = 1;
  std::size_t count = 1;

  [[nodiscard]] double edge(std::size_t i) const {
    return low + (high - low) * (static_cast<double>(i) / static_cast<double>(count));
  }
  [[nodiscard]] std::vector<double> counts(const std::vector<double>& values) const {
    std::vector<double> result(count);
    for (const double v : values) {
      if (v >= low && v <= high) {
        const double position = (v - low) / (high - low) * static_cast<double>(count);
        ++result[std::min(static_cast<std::size_t>(position), count - 1)];
      }
    }
    return result;
  }
};

/// Chooses the bins. If `options.bins` is 0, the width of a bin is 2 IQR / n^(1/3) for n values
/// with the interquartile range IQR (Freedman and Diaconis, 1981). If the IQR is 0, the number of
/// bins is log2(n) + 1 (Sturges). In both cases there are at least 5 and at most 200 bins.
[[nodiscard]] inline bin_range bins_for(std::vector<double> values,
                                        const histogram_options& options) {
  std::erase_if(values,
                [&](double v) { return !std::isfinite(v) || v < options.low || v > options.high; });
  std::sort(values.begin(), values.end());
  bin_range bins{.low = std::isfinite(options.low) ? options.low
                        : values.empty()           ? 0
                                                   : values.front(),
                 .high = std::isfinite(options.high) ? options.high
                         : values.empty()            ? 1
                                                     : values.back(),
                 .count = options.bins};
  if (!(bins.low < bins.high)) {  // one value
    bins.low -= 0.5;
    bins.high = bins.low + 1;
  }
  if (bins.count == 0) {
    const auto n = static_cast<double>(std::max<std::size_t>(values.size(), 1));
    const double middle_half =
        values.empty() ? 0 : values[values.size() * 3 / 4] - values[values.size() / 4];
    const double bin_count = middle_half > 0
                                 ? (bins.high - bins.low) / (2 * middle_half / std::cbrt(n))
                                 : std::log2(n) + 1;
    bins.count = static_cast<std::size_t>(std::clamp(std::ceil(bin_count), 5.0, 200.0));
  }
  return bins;
}

}  // namespace detail

/// Makes a histogram of one or more distributions. All distributions are counted in the same bins.
/// A value on the edge between two bins belongs to the upper bin. If `bins` is 0, the rule of
/// Freedman and Diaconis chooses the bins.
///
///     const auto chart = glia::plot::histogram_chart({{.values = errors}}, {.x_label = "error"});
///
/// Throws `value_error` if there are no values, if there are more than 10,000 bins, or if `low` is
/// not below `high`.
[[nodiscard]] inline chart histogram_chart(const std::vector<distribution>& distributions,
                                           const histogram_options& options = {}) {
  std::vector<double> values;
  for (const distribution& source : distributions) {
    values.insert(values.end(), source.values.begin(), source.values.end());
  }
  require<value_error>(!values.empty(), "plot::histogram: expected at least one value, got ",
                       distributions.size(), " distributions without values");
  require<value_error>(options.bins <= 10000 && options.low < options.high,
                       "plot::histogram: expected at most 10000 bins and low below high, got ",
                       options.bins, " bins, ", options.low, " and ", options.high);
  const detail::bin_range bins = detail::bins_for(std::move(values), options);
  std::string script = detail::style(options.title, options.x_label, options.y_label,
                                     detail::key_lines(distributions));
  const double margin = 0.02 * (bins.high - bins.low);
  script +=
      text("set xrange [", detail::number(bins.low - margin), ':',
           detail::number(bins.high + margin), "]\n", options.log_y ? "set logscale y\n" : "");
  // On a logarithmic axis, an empty bin is drawn below a count of 1.
  const double ground = options.log_y ? 0.5 : 0;
  std::string areas;
  std::string outlines;
  double highest = 1;
  for (std::size_t k = 0; k < distributions.size(); ++k) {
    const std::vector<double> counts = bins.counts(distributions[k].values);
    std::vector<std::vector<double>> rows{{bins.low, ground}};
    for (std::size_t i = 0; i < bins.count; ++i) {
      highest = std::max(highest, counts[i]);
      rows.push_back({bins.edge(i), std::max(counts[i], ground)});
    }
    rows.push_back({bins.high, std::max(counts.back(), ground)});
    rows.push_back({bins.high, ground});
    const std::string block = text("counts", k);
    script += detail::data_block(block, rows);
    const std::string color = text(" lc rgb '", detail::color(k), "'");
    areas += text('$', block, " using 1:2 with fillsteps fs transparent solid 0.3 noborder", color,
                  " notitle, ");
    outlines +=
        text(k > 0 ? ", " : "", '$', block, " using 1:2 with steps lw 2 dt ",
             k == 0 ? "1" : "(6,4)", color,
             distributions[k].name.empty() ? " notitle"
                                           : " title " + detail::literal(distributions[k].name));
  }
  script += options.log_y ? text("set yrange [0.5:", 2 * highest, "]\n")
                          : text("set yrange [0:", 1.06 * highest, "]\n");
  return {options.canvas, script + "plot " + areas + outlines + '\n'};
}

/// Draws a histogram to an SVG or PNG file. See `histogram_chart` and `write`.
inline void histogram(const std::filesystem::path& path,
                      const std::vector<distribution>& distributions,
                      const histogram_options& options = {}) {
  write(path, histogram_chart(distributions, options));
}

}  // namespace glia::plot

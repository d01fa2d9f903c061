#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/plot/chart.hpp"
#include "glia/plot/curves.hpp"
#include "glia/plot/panels.hpp"
#include "glia/training/history.hpp"

namespace glia::plot {

/// The options of `history`.
struct history_options {
  std::string title = {};                        ///< Title above all panels.
  bool log_loss = false;                         ///< Whether the loss has a logarithmic axis.
  std::size_t columns = 2;                       ///< Number of columns of panels, at least 1.
  canvas panel = {.width = 560, .height = 400};  ///< Size of a panel, and program.
};

/// Makes one chart of the loss and one chart of each metric. A chart shows the values of all epochs
/// for the training data and, if the training had validation data, for these as well.
///
/// Throws `value_error` if the training has no epochs.
[[nodiscard]] inline std::vector<chart> history_charts(const glia::history& training,
                                                       const history_options& options = {}) {
  require<value_error>(!training.epochs.empty(),
                       "plot::history: expected a training with at least one epoch, got none");
  std::vector<std::string> names{"loss"};
  for (const metric& m : training.metrics) {
    names.push_back(m.name);
  }
  std::vector<chart> charts;
  for (std::size_t i = 0; i < names.size(); ++i) {
    // By index, because user-made scores may have no names.
    const auto value = [&](const scores& s) {
      return i == 0                        ? s.loss
             : i <= s.metric_values.size() ? s.metric_values[i - 1]
                                           : std::numeric_limits<double>::quiet_NaN();
    };
    constexpr std::size_t max_points = 30;  // more would cover each other
    const marks drawn = training.epochs.size() > max_points ? marks::line : marks::line_and_points;
    series trained{.name = "training", .style = drawn};
    series validated{.name = "validation", .style = drawn};
    for (const epoch_record& e : training.epochs) {
      trained.x.push_back(static_cast<double>(e.epoch));
      trained.y.push_back(value(e.training));
      if (e.validation) {
        validated.x.push_back(static_cast<double>(e.epoch));
        validated.y.push_back(value(*e.validation));
      }
    }
    std::vector<series> both{std::move(trained)};
    if (!validated.y.empty()) {
      both.push_back(std::move(validated));
    }
    charts.push_back(curves_chart(both, {.title = names[i],
                                         .x_label = "epoch",
                                         .log_y = i == 0 && options.log_loss,
                                         .whole_x = true,
                                         .canvas = options.panel}));
  }
  return charts;
}

/// Makes one chart of a training, with one panel for the loss and one for each metric. See
/// `history_charts`.
[[nodiscard]] inline chart history_chart(const glia::history& training,
                                         const history_options& options = {}) {
  return panels_chart(history_charts(training, options),
                      {.title = options.title, .columns = options.columns});
}

/// Draws the loss and the metrics of a training to an SVG or PNG file. See `history_chart` and
/// `write`.
inline void history(const std::filesystem::path& path, const glia::history& training,
                    const history_options& options = {}) {
  write(path, history_chart(training, options));
}

}  // namespace glia::plot

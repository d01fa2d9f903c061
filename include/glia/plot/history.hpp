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
#include "glia/training/read_history_csv.hpp"

namespace glia::plot {

/// How `history` draws.
struct history_options {
  std::string title = {};
  bool log_loss = false;
  std::size_t columns = 2;                       ///< of panels, at least 1
  canvas panel = {.width = 560, .height = 400};  ///< one of them
};

/// A training, epoch by epoch: a chart of the loss and one of each metric, in training and, where
/// there are any, on the validation data.
///
/// Throws `value_error` for a training without epochs.
[[nodiscard]] inline std::vector<chart> history_charts(const glia::history& training,
                                                       const history_options& options = {}) {
  require<value_error>(!training.epochs.empty(),
                       "plot::history: nothing to draw: a training without epochs");
  std::vector<std::string> names{"loss"};
  for (const metric& m : training.metrics) {
    names.push_back(m.name);
  }
  std::vector<chart> all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    // By place: a score that was made by hand may have no names.
    const auto value = [&](const scores& s) {
      return i == 0                  ? s.loss
             : i <= s.metrics.size() ? s.metrics[i - 1]
                                     : std::numeric_limits<double>::quiet_NaN();
    };
    constexpr std::size_t most_points = 30;  // more would cover each other
    const marks drawn = training.epochs.size() > most_points ? marks::line : marks::line_and_points;
    series trained{.name = "training", .drawn = drawn};
    series validated{.name = "validation", .drawn = drawn};
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
    all.push_back(curves_chart(both, {.title = names[i],
                                      .x_label = "epoch",
                                      .log_y = i == 0 && options.log_loss,
                                      .whole_x = true,
                                      .on = options.panel}));
  }
  return all;
}

/// The same as panels of one chart.
[[nodiscard]] inline chart history_chart(const glia::history& training,
                                         const history_options& options = {}) {
  return panels_chart(history_charts(training, options),
                      {.title = options.title, .columns = options.columns});
}

/// The same into a file; see `write`.
inline void history(const std::filesystem::path& path, const glia::history& training,
                    const history_options& options = {}) {
  write(path, history_chart(training, options));
}

/// The same of a training that `write_history_csv` wrote; throws `data_error` as
/// `read_history_csv` does.
inline void history(const std::filesystem::path& path, const std::filesystem::path& csv,
                    const history_options& options = {}) {
  write(path, history_chart(read_history_csv(csv), options));
}

}  // namespace glia::plot

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/plot/chart.hpp"
#include "glia/plot/curves.hpp"
#include "glia/training/learning_rate_curve.hpp"

namespace glia::plot {

/// The options of `learning_rate_curve`.
struct learning_rate_curve_options {
  std::string title = {};    ///< Title above the chart.
  bool log_loss = false;     ///< Whether the loss has a logarithmic axis.
  plot::canvas canvas = {};  ///< Size and program.
};

/// Makes a chart of the losses of a search for a learning rate. The rate has a logarithmic axis.
/// The chart shows the loss of each step as a point and the smoothed loss as a line.
///
/// Throws `value_error` if the search has no steps.
[[nodiscard]] inline chart learning_rate_curve_chart(
    const glia::learning_rate_curve& search, const learning_rate_curve_options& options = {}) {
  require<value_error>(
      !search.rates.empty(),
      "plot::learning_rate_curve: expected a search with at least one step, got none");
  const std::vector<series> both{
      {.name = "loss of a batch", .x = search.rates, .y = search.losses, .style = marks::points},
      {.name = "smoothed loss",
       .x = search.rates,
       .y = search.smoothed_losses,
       .style = marks::line}};
  return curves_chart(both, {.title = options.title,
                             .x_label = "learning rate",
                             .y_label = "loss",
                             .log_x = true,
                             .log_y = options.log_loss,
                             .canvas = options.canvas});
}

/// Draws the losses of a search for a learning rate to an SVG or PNG file. See
/// `learning_rate_curve_chart` and `write`.
inline void learning_rate_curve(const std::filesystem::path& path,
                                const glia::learning_rate_curve& search,
                                const learning_rate_curve_options& options = {}) {
  write(path, learning_rate_curve_chart(search, options));
}

}  // namespace glia::plot

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/plot/bars.hpp"
#include "glia/plot/chart.hpp"
#include "glia/training/profile.hpp"

namespace glia::plot {

/// The options of `profile`.
struct profile_options {
  std::string title = {};       ///< Title above the chart; empty: a default title.
  std::size_t max_layers = 12;  ///< Largest number of layers with bars of their own, at least 1.
  double min_share = 0.005;  ///< Smallest fraction of a step's time for a separate bar, in [0, 1].
  plot::canvas canvas = {};  ///< Size and program.
};

/// Makes a bar chart of the time of a training step by layer, in milliseconds. Each layer has one
/// bar for the forward pass, one for the backward pass and one for the update. The layers are in
/// the order of the model. Other activities, such as waiting for data, follow. Layers and
/// activities that take little time are added up in the group "other layers".
///
/// Throws `value_error` if the profile has no steps or if `max_layers` is 0.
[[nodiscard]] inline chart profile_chart(const glia::profile& found,
                                         const profile_options& options = {}) {
  require<value_error>(found.steps > 0 && options.max_layers > 0,
                       "plot::profile: expected a profile with steps and max_layers of at least 1, "
                       "got ",
                       found.steps, " steps and max_layers ", options.max_layers);
  struct layer_time {
    std::string name;
    std::array<double, 4> phases{};  // the last is for other activities
    [[nodiscard]] double total() const {
      return std::accumulate(phases.begin(), phases.end(), 0.0);
    }
  };
  std::vector<layer_time> times;
  const auto time_of = [&](const std::string& name) -> layer_time& {
    const auto position = std::find_if(times.begin(), times.end(),
                                       [&](const layer_time& t) { return t.name == name; });
    return position == times.end() ? times.emplace_back(layer_time{name}) : *position;
  };
  for (const layer_summary& l : found.layers) {
    time_of(l.name);
  }
  const double scale = 1e3 / static_cast<double>(found.steps);
  for (const profile_entry& e : found.entries) {
    time_of(e.layer).phases[static_cast<std::size_t>(e.phase)] += scale * e.seconds;
  }
  for (const auto& [name, seconds] : found.activities) {
    time_of(name).phases.back() += scale * seconds;
  }
  // Layers below this time share a bar.
  std::vector<double> longest;
  longest.reserve(times.size());
  for (const layer_time& t : times) {
    longest.push_back(t.total());
  }
  std::sort(longest.rbegin(), longest.rend());
  const double min_time =
      std::max(longest.size() > options.max_layers ? longest[options.max_layers - 1] : 0,
               options.min_share * scale * found.seconds);
  layer_time rest{"other layers"};
  std::vector<std::string> groups;
  std::vector<bar_series> series{
      {.name = "forward"}, {.name = "backward"}, {.name = "update"}, {.name = "other"}};
  const auto add = [&](const layer_time& t) {
    groups.push_back(t.name);
    for (std::size_t phase = 0; phase < series.size(); ++phase) {
      const double value = t.phases[phase];
      series[phase].values.push_back(value > 0.01 * longest.front() ? value : std::nan(""));
    }
  };
  for (const layer_time& t : times) {
    if (t.total() >= min_time) {
      add(t);
    } else {
      for (std::size_t phase = 0; phase < series.size(); ++phase) {
        rest.phases[phase] += t.phases[phase];
      }
    }
  }
  if (rest.total() > 0) {
    add(rest);
  }
  return bars_chart(groups, series,
                    {.title = options.title.empty() ? "time of a training step" : options.title,
                     .y_label = "ms per step",
                     .canvas = options.canvas});
}

/// Draws the time of a training step by layer to an SVG or PNG file. See `profile_chart` and
/// `write`.
inline void profile(const std::filesystem::path& path, const glia::profile& found,
                    const profile_options& options = {}) {
  write(path, profile_chart(found, options));
}

}  // namespace glia::plot

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

/// How `profile` draws.
struct profile_options {
  std::string title = {};
  std::size_t most = 12;       ///< layers, those that take longest; the others share a bar
  double least_share = 0.005;  ///< of a step, below which a layer is among these
  canvas on = {};
};

/// The milliseconds that each layer takes of a step, forward, backward and in the update, in the
/// order of the model, and behind them what is no kernel, such as waiting for data.
///
/// Throws `value_error` for a profile without steps.
[[nodiscard]] inline chart profile_chart(const glia::profile& found,
                                         const profile_options& options = {}) {
  require<value_error>(found.steps > 0 && options.most > 0,
                       "plot::profile: nothing to draw: a profile without steps, or no layers");
  struct layer_time {
    std::string name;
    std::array<double, 4> phases{};  // the last is for what is no kernel
    [[nodiscard]] double all() const { return std::accumulate(phases.begin(), phases.end(), 0.0); }
  };
  std::vector<layer_time> times;
  const auto of = [&](const std::string& name) -> layer_time& {
    const auto at = std::find_if(times.begin(), times.end(),
                                 [&](const layer_time& t) { return t.name == name; });
    return at == times.end() ? times.emplace_back(layer_time{name}) : *at;
  };
  for (const layer_summary& l : found.layers) {
    of(l.name);
  }
  const double each = 1e3 / static_cast<double>(found.steps);
  for (const profile_entry& e : found.entries) {
    of(e.layer).phases[static_cast<std::size_t>(e.phase)] += each * e.seconds;
  }
  for (const auto& [name, seconds] : found.others) {
    of(name).phases.back() += each * seconds;
  }
  // Which are too short to be shown: those behind the longest ones.
  std::vector<double> longest;
  longest.reserve(times.size());
  for (const layer_time& t : times) {
    longest.push_back(t.all());
  }
  std::sort(longest.rbegin(), longest.rend());
  const double least = std::max(longest.size() > options.most ? longest[options.most - 1] : 0,
                                options.least_share * each * found.seconds);
  layer_time rest{"the others"};
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
    if (t.all() >= least) {
      add(t);
    } else {
      for (std::size_t phase = 0; phase < series.size(); ++phase) {
        rest.phases[phase] += t.phases[phase];
      }
    }
  }
  if (rest.all() > 0) {
    add(rest);
  }
  return bars_chart(groups, series,
                    {.title = options.title.empty() ? "where a step's time goes" : options.title,
                     .y_label = "ms of a step",
                     .on = options.on});
}

/// The same into a file; see `write`.
inline void profile(const std::filesystem::path& path, const glia::profile& found,
                    const profile_options& options = {}) {
  write(path, profile_chart(found, options));
}

}  // namespace glia::plot

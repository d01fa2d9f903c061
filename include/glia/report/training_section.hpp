#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/html_text.hpp"
#include "glia/core/number_text.hpp"
#include "glia/models/summary.hpp"
#include "glia/plot/history.hpp"
#include "glia/report/confusion_section.hpp"
#include "glia/report/report_table.hpp"
#include "glia/training/history.hpp"
#include "glia/training/watched_score.hpp"

namespace glia::detail {

/// Formats seconds, such as "12.3 s", "2 min 03 s" or "1 h 02 min".
[[nodiscard]] inline std::string duration_text(double seconds) {
  constexpr double longest = 1e15;
  if (!(seconds >= 99.95) || seconds > longest) {
    return digits_text(seconds, 3) + " s";
  }
  const auto two_digits = [](long long number) {
    return std::string(number < 10 ? "0" : "") + std::to_string(number);
  };
  const long long whole = std::llround(seconds);
  if (whole < 3600) {
    return std::to_string(whole / 60) + " min " + two_digits(whole % 60) + " s";
  }
  const long long minutes = (whole + 30) / 60;
  return std::to_string(minutes / 60) + " h " + two_digits(minutes % 60) + " min";
}

/// The scores of a report, with the metrics of the training.
struct score_list {
  std::vector<std::pair<std::string, scores>> rows = {};  ///< Names of rows, and their scores.
  std::vector<metric> metrics = {};

  /// Formats the score `name`. Accuracies are written as percentages.
  [[nodiscard]] std::string written(const std::string& name, double value) const {
    for (const metric& m : metrics) {
      if (m.name == name) {
        return m.counts_classes() ? percent(value) : digits_text(value, 4);
      }
    }
    return name == accuracy().name ? percent(value) : digits_text(value, 4);
  }
  /// Returns the names of all metrics that occur in the rows.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& [row_name, s] : rows) {
      for (const std::string& name : s.metric_names) {
        if (std::find(result.begin(), result.end(), name) == result.end()) {
          result.push_back(name);
        }
      }
    }
    return result;
  }
  [[nodiscard]] report_table table() const {
    report_table result{.caption = "Scores", .headers = {"", "loss"}};
    const std::vector<std::string> metric_names = names();
    result.headers.insert(result.headers.end(), metric_names.begin(), metric_names.end());
    for (const auto& [row_name, s] : rows) {
      std::vector<std::string> cells{row_name, digits_text(s.loss, 4)};
      for (const std::string& name : metric_names) {
        const bool present =
            std::find(s.metric_names.begin(), s.metric_names.end(), name) != s.metric_names.end();
        cells.push_back(present ? written(name, s[name]) : "");
      }
      result.rows.push_back(std::move(cells));
    }
    return result;
  }

  void add(const std::string& row_name, scores s) {
    s.metric_names.resize(
        std::min(s.metric_names.size(), s.metric_values.size()));  // can differ in user-made scores
    rows.emplace_back(row_name, std::move(s));
  }
  /// Adds the training scores of the last epoch and the validation scores of the last epoch that
  /// has some. If an earlier epoch has a lower validation loss, also adds its validation scores.
  void add(const history& training) {
    metrics = training.metrics;
    if (training.epochs.empty()) {
      return;
    }
    const auto named = [&](scores s) {
      for (std::size_t i = s.metric_names.size(); i < metrics.size() && i < s.metric_values.size();
           ++i) {
        s.metric_names.push_back(metrics[i].name);
      }
      return s;
    };
    const epoch_record& last = training.epochs.back();
    rows.emplace_back(text("training, epoch ", last.epoch), named(last.training));
    std::vector<const epoch_record*> validated;
    for (const epoch_record& e : training.epochs) {
      if (e.validation) {
        validated.push_back(&e);
      }
    }
    if (validated.empty()) {
      return;
    }
    const epoch_record* best = *std::min_element(validated.begin(), validated.end(),
                                                 [](const epoch_record* a, const epoch_record* b) {
                                                   return a->validation->loss < b->validation->loss;
                                                 });
    if (best != validated.back()) {
      rows.emplace_back(text("validation, lowest loss, epoch ", best->epoch),
                        named(*best->validation));
    }
    rows.emplace_back(text("validation, epoch ", validated.back()->epoch),
                      named(*validated.back()->validation));
  }
};

/// Returns a table with one row for each epoch.
[[nodiscard]] inline report_table epochs_table(const history& training, const score_list& list) {
  report_table table{.caption = "Epochs", .headers = {"epoch", "loss"}};
  const bool validated =
      std::any_of(training.epochs.begin(), training.epochs.end(),
                  [](const epoch_record& e) { return e.validation.has_value(); });
  const auto add_names = [&](const std::string& prefix) {
    for (const metric& m : training.metrics) {
      table.headers.push_back(prefix + m.name);
    }
  };
  add_names("");
  if (validated) {
    table.headers.emplace_back("validation loss");
    add_names("validation ");
  }
  table.headers.insert(table.headers.end(), {"learning rate", "samples/s", "time"});
  for (const epoch_record& e : training.epochs) {
    std::vector<std::string> cells{std::to_string(e.epoch)};
    const auto add_scores = [&](const scores* s) {
      cells.push_back(s != nullptr ? digits_text(s->loss, 4) : "");
      for (std::size_t i = 0; i < training.metrics.size(); ++i) {
        cells.push_back(s != nullptr && i < s->metric_values.size()
                            ? list.written(training.metrics[i].name, s->metric_values[i])
                            : "");
      }
    };
    add_scores(&e.training);
    if (validated) {
      add_scores(e.validation ? &*e.validation : nullptr);
    }
    cells.insert(cells.end(), {digits_text(e.learning_rate, 4), scaled(e.samples_per_second),
                               duration_text(e.seconds)});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// Returns the stop reason, the remark about frozen layers and the notes of a history, as HTML.
[[nodiscard]] inline std::string history_notes(const history& training) {
  std::vector<std::string> lines;
  if (!training.stop_reason.empty()) {
    lines.push_back((training.interrupted ? "Interrupted: " : "Stopped: ") + training.stop_reason);
  }
  if (training.frozen_seconds > 0) {
    lines.push_back("Frozen layers: " + training.frozen_layers + ", in " +
                    duration_text(training.frozen_seconds));
  }
  lines.insert(lines.end(), training.notes.begin(), training.notes.end());
  std::string html;
  for (const std::string& line : lines) {
    html += "<p class=\"note\">" + html_text(line) + "</p>\n";
  }
  return html;
}

}  // namespace glia::detail

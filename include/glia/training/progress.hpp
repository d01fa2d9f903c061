#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "glia/core/number_text.hpp"
#include "glia/models/summary.hpp"
#include "glia/training/callback.hpp"
#include "glia/training/history.hpp"
#include "glia/training/terminal.hpp"

namespace glia {

/// Prints the progress of a training: on a terminal a bar that is redrawn ten times a second, on
/// other streams one line for each epoch.
class progress {
 public:
  /// `counted` is the word for samples, such as "samples" or "images".
  progress(std::ostream& out, bool terminal, std::size_t epochs, std::string counted = "samples")
      : out_(&out), terminal_(terminal), epochs_(epochs), counted_(std::move(counted)) {}

  /// Begins an epoch. `done` is the number of its samples that were trained on before an
  /// interruption.
  void start_epoch(std::size_t epoch, std::size_t samples, std::size_t done = 0) {
    const std::string total = std::to_string(epochs_);
    const std::string number = std::to_string(epoch);
    start_pass("epoch " + std::string(total.size() - std::min(total.size(), number.size()), ' ') +
                   number + '/' + total,
               samples, done);
  }

  /// Begins a pass over the samples that is not an epoch, such as the pass through frozen layers.
  void start_pass(const std::string& label, std::size_t samples, std::size_t done = 0) {
    label_ = label;
    before_ = done;
    samples_ = samples;
    started_ = clock::now();
    drawn_ = started_ - redraw_every;
  }

  /// Redraws the bar if it was drawn at least a tenth of a second ago. Calls `loss()` only in this
  /// case, because `loss()` may have to wait for the device.
  template <class Loss>
  void update(std::size_t done, const Loss& loss) {
    if (due()) {
      draw(done, "  loss " + score_text(loss()));
    }
  }
  void update(std::size_t done) {
    if (due()) {
      draw(done, "");
    }
  }

  /// Ends a pass that is not an epoch, and prints a line with its result.
  void finish_pass(const std::string& result) {
    const double seconds = std::chrono::duration<double>(clock::now() - started_).count();
    note(label_ + "  " + duration_text(seconds) + "  " +
         scaled(static_cast<double>(samples_) / std::max(seconds, 1e-9)) + ' ' + counted_ + "/s  " +
         result);
  }

  void show(const frozen_pass& pass) {
    if (pass.samples_done == 0) {
      start_pass("frozen layers, " + pass.name, pass.sample_count);
    } else if (pass.samples_done < pass.sample_count) {
      update(pass.samples_done);
    } else {
      finish_pass("kept in " + std::string(pass.in_memory ? "memory" : "a file") + ", " +
                  scaled(static_cast<double>(pass.bytes), "B"));
    }
  }

  /// Ends an epoch and prints its line. `compiled` counts the graphs compiled since the last line.
  void finish_epoch(const epoch_record& record, const std::vector<metric>& metrics,
                    const compilations& compiled = {}) {
    if (terminal_) {
      *out_ << "\r\033[K";
    }
    *out_ << label_ << "  " << duration_text(record.seconds) << "  "
          << scaled(record.samples_per_second) << ' ' << counted_ << "/s"
          << scores_text("", record.training, metrics);
    if (record.validation) {
      *out_ << scores_text("validation ", *record.validation, metrics);
    }
    if (compiled.programs() > 0) {
      *out_ << "  " << compilations_text(compiled);
    }
    *out_ << std::endl;
  }

  void note(const std::string& line) {
    *out_ << (terminal_ ? "\r\033[K" : "") << line << std::endl;
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds redraw_every{100};

  [[nodiscard]] bool due() {
    const auto time = clock::now();
    if (!terminal_ || time - drawn_ < redraw_every) {
      return false;
    }
    drawn_ = time;
    return true;
  }

  void draw(std::size_t done, const std::string& figures) {
    const double seconds = std::chrono::duration<double>(drawn_ - started_).count();
    const double rate = static_cast<double>(done - before_) / std::max(seconds, 1e-9);
    const double remaining = static_cast<double>(samples_ - done) / std::max(rate, 1e-9);
    const std::string prefix = label_ + " [";
    const std::string suffix = "] " + std::to_string(done) + '/' + std::to_string(samples_) + "  " +
                               scaled(rate) + ' ' + counted_ + "/s" + figures + "  ETA " +
                               clock_text(remaining);
    // The bar fills the rest of the line. A line that wraps could not be redrawn.
    const std::size_t columns = detail::terminal_columns(*out_) - 1;
    const std::size_t room = columns - std::min(columns, prefix.size() + suffix.size());
    const std::size_t width = std::min<std::size_t>(room, 30);
    const std::size_t filled = done * width / std::max<std::size_t>(samples_, 1);
    const std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
    *out_ << "\r\033[K" << (prefix + bar + suffix).substr(0, columns) << std::flush;
  }

  static std::string duration_text(double seconds) {
    return seconds < 0.1 ? fixed_text(1e3 * seconds, 1) + " ms" : fixed_text(seconds, 2) + " s";
  }

  /// Formats the numbers of compiled and loaded graphs and their time, as in "1 program compiled, 1
  /// loaded in 0.93 s".
  static std::string compilations_text(const compilations& counts) {
    std::string result;
    for (const auto& [count, suffix] :
         {std::pair(counts.compiled, " compiled"), std::pair(counts.loaded, " loaded")}) {
      if (count > 0) {
        const char* const programs = count == 1 ? " program" : " programs";
        result += (result.empty() ? "" : ", ") + std::to_string(count) +
                  (result.empty() ? programs : "") + suffix;
      }
    }
    return result + " in " + duration_text(counts.seconds);
  }

  static std::string clock_text(double seconds) {
    const auto whole = std::lround(seconds);
    const std::string rest = std::to_string(whole % 60);
    return std::to_string(whole / 60) + (rest.size() < 2 ? ":0" : ":") + rest;
  }

  /// Formats a score with four decimals, or with four significant digits if it is large.
  static std::string score_text(double value) {
    return std::isnan(value)       ? "nan"
           : std::abs(value) < 1e6 ? fixed_text(value, 4)
                                   : digits_text(value, 4);
  }

  static std::string scores_text(const std::string& prefix, const scores& s,
                                 const std::vector<metric>& metrics) {
    std::string result = "  " + prefix + "loss " + score_text(s.loss);
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      result += "  " + prefix + metrics[i].name + ' ' +
                (metrics[i].counts_classes() ? fixed_text(100 * s.metric_values[i], 2) + " %"
                                             : score_text(s.metric_values[i]));
    }
    return result;
  }

  std::ostream* out_;
  bool terminal_;
  std::size_t epochs_;
  std::string counted_;
  std::string label_;
  std::size_t samples_ = 0;
  std::size_t before_ = 0;  // samples of the epoch seen before an interruption
  clock::time_point started_;
  clock::time_point drawn_;
};

/// The word for samples of a shape: "images" for three axes, otherwise "samples".
[[nodiscard]] inline std::string counted(const shape& sample) {
  return sample.rank() == 3 ? "images" : "samples";
}

/// The callback behind `fit_options::progress`: prints the progress of a training to a stream.
class progress_bar {
 public:
  static constexpr bool first_rank_only = true;

  explicit progress_bar(std::ostream& out) : out_(&out) {}

  void operator()(const training& t) {
    const history& so_far = t.history;
    if (t.event == event::train_begin) {
      shown_.emplace(*out_, is_terminal(*out_), t.epochs, counted(t.sample_shape));
      noted_ = 0;
      compiled_ = {};
    }
    for (; noted_ < so_far.notes.size(); ++noted_) {
      shown_->note(so_far.notes[noted_]);
    }
    switch (t.event) {
      case event::train_begin:
      case event::train_batches_end:
        break;
      case event::frozen_pass:
        shown_->show(*t.frozen_pass);
        break;
      case event::epoch_begin:
        shown_->start_epoch(t.epoch, t.epoch_samples, t.samples_done);
        break;
      case event::train_batch_end:
        shown_->update(t.samples_done, [&] { return t.loss(); });
        break;
      case event::epoch_end:
        finish_epoch(so_far);
        break;
      case event::train_end:
        if (t.samples_done > 0 &&
            so_far.epochs.size() == t.epoch) {  // the last epoch was interrupted
          finish_epoch(so_far);
        }
        if (so_far.interrupted) {
          shown_->note("interrupted; stopped after step " + std::to_string(t.step));
        } else if (!so_far.stop_reason.empty()) {
          shown_->note("stopped after epoch " + std::to_string(t.epoch) + ": " +
                       so_far.stop_reason);
        }
        break;
    }
  }

 private:
  void finish_epoch(const history& so_far) {
    shown_->finish_epoch(so_far.epochs.back(), so_far.metrics, so_far.compilations - compiled_);
    compiled_ = so_far.compilations;
  }

  std::ostream* out_;
  std::optional<progress> shown_;
  std::size_t noted_ = 0;  // number of the history's notes already printed
  compilations compiled_;  // already printed
};

}  // namespace glia

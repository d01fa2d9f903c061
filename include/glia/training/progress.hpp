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
#include "glia/training/history.hpp"
#include "glia/training/observer.hpp"
#include "glia/training/terminal.hpp"

namespace glia {

/// Shows how a training gets on: on a terminal a bar that is redrawn ten times a second, elsewhere
/// a line for each epoch only.
class progress {
 public:
  /// `counted` is what samples are called: samples, images.
  progress(std::ostream& out, bool terminal, std::size_t epochs, std::string counted = "samples")
      : out_(&out), terminal_(terminal), epochs_(epochs), counted_(std::move(counted)) {}

  /// `done` of an epoch's samples were seen before.
  void start_epoch(std::size_t epoch, std::size_t samples, std::size_t done = 0) {
    const std::string all = std::to_string(epochs_);
    const std::string number = std::to_string(epoch);
    start_pass("epoch " + std::string(all.size() - std::min(all.size(), number.size()), ' ') +
                   number + '/' + all,
               samples, done);
  }

  /// The same for a pass over the samples that is no epoch.
  void start_pass(const std::string& label, std::size_t samples, std::size_t done = 0) {
    label_ = label;
    before_ = done;
    samples_ = samples;
    started_ = clock::now();
    drawn_ = started_ - redraw_every;
  }

  /// Redraws the bar if it is time to; `loss()` is asked only then, since it may have to wait for
  /// the device.
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

  /// Ends a pass that is no epoch with a line that says what came of it.
  void finish_pass(const std::string& result) {
    const double seconds = std::chrono::duration<double>(clock::now() - started_).count();
    note(label_ + "  " + duration_text(seconds) + "  " +
         scaled(static_cast<double>(samples_) / std::max(seconds, 1e-9)) + ' ' + counted_ + "/s  " +
         result);
  }

  void show(const frozen_pass& pass) {
    if (pass.done == 0) {
      start_pass("frozen layers, " + pass.name, pass.samples);
    } else if (pass.done < pass.samples) {
      update(pass.done);
    } else {
      finish_pass("kept in " + std::string(pass.in_memory ? "memory" : "a file") + ", " +
                  scaled(static_cast<double>(pass.bytes), "B"));
    }
  }

  /// `compiled` are the programs that were made since the last line.
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
    const auto now = clock::now();
    if (!terminal_ || now - drawn_ < redraw_every) {
      return false;
    }
    drawn_ = now;
    return true;
  }

  void draw(std::size_t done, const std::string& figures) {
    const double seconds = std::chrono::duration<double>(drawn_ - started_).count();
    const double rate = static_cast<double>(done - before_) / std::max(seconds, 1e-9);
    const double left = static_cast<double>(samples_ - done) / std::max(rate, 1e-9);
    const std::string before = label_ + " [";
    const std::string after = "] " + std::to_string(done) + '/' + std::to_string(samples_) + "  " +
                              scaled(rate) + ' ' + counted_ + "/s" + figures + "  ETA " +
                              clock_text(left);
    // The bar takes the room that is left: a line that wraps could not be redrawn.
    const std::size_t columns = terminal_columns(*out_) - 1;
    const std::size_t room = columns - std::min(columns, before.size() + after.size());
    const std::size_t width = std::min<std::size_t>(room, 30);
    const std::size_t filled = done * width / std::max<std::size_t>(samples_, 1);
    const std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
    *out_ << "\r\033[K" << (before + bar + after).substr(0, columns) << std::flush;
  }

  static std::string duration_text(double seconds) {
    return seconds < 0.1 ? fixed_text(1e3 * seconds, 1) + " ms" : fixed_text(seconds, 2) + " s";
  }

  /// 1 program compiled, 1 loaded in 0.93 s
  static std::string compilations_text(const compilations& made) {
    std::string result;
    for (const auto& [count, how] :
         {std::pair(made.compiled, " compiled"), std::pair(made.loaded, " loaded")}) {
      if (count > 0) {
        const char* const programs = count == 1 ? " program" : " programs";
        result += (result.empty() ? "" : ", ") + std::to_string(count) +
                  (result.empty() ? programs : "") + how;
      }
    }
    return result + " in " + duration_text(made.seconds);
  }

  static std::string clock_text(double seconds) {
    const auto whole = std::lround(seconds);
    const std::string rest = std::to_string(whole % 60);
    return std::to_string(whole / 60) + (rest.size() < 2 ? ":0" : ":") + rest;
  }

  /// Four decimals, of numbers that they suit.
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
                (metrics[i].counts_classes() ? fixed_text(100 * s.metrics[i], 2) + " %"
                                             : score_text(s.metrics[i]));
    }
    return result;
  }

  std::ostream* out_;
  bool terminal_;
  std::size_t epochs_;
  std::string counted_;
  std::string label_;
  std::size_t samples_ = 0;
  std::size_t before_ = 0;  // samples of the epoch that an earlier run has seen
  clock::time_point started_;
  clock::time_point drawn_;
};

/// What samples of this shape are called where they are counted.
[[nodiscard]] inline std::string counted(const shape& sample) {
  return sample.rank() == 3 ? "images" : "samples";
}

/// Shows a training on a stream: what fit_options::progress stands for.
class progress_bar {
 public:
  static constexpr bool first_rank_only = true;

  explicit progress_bar(std::ostream& out) : out_(&out) {}

  void operator()(const training& t) {
    const history& so_far = t.result;
    if (t.at == moment::begins) {
      shown_.emplace(*out_, is_terminal(*out_), t.epochs, counted(t.sample));
      noted_ = 0;
      compiled_ = {};
    }
    for (; noted_ < so_far.notes.size(); ++noted_) {
      shown_->note(so_far.notes[noted_]);
    }
    switch (t.at) {
      case moment::begins:
      case moment::validation:
        break;
      case moment::frozen_pass:
        shown_->show(*t.pass);
        break;
      case moment::epoch_begins:
        shown_->start_epoch(t.epoch, t.samples, t.done);
        break;
      case moment::step:
        shown_->update(t.done, [&] { return t.loss(); });
        break;
      case moment::epoch:
        finish_epoch(so_far);
        break;
      case moment::ends:
        if (t.done > 0 && so_far.epochs.size() == t.epoch) {  // an epoch that was interrupted
          finish_epoch(so_far);
        }
        if (so_far.interrupted) {
          shown_->note("interrupted; stopped after step " + std::to_string(t.step));
        } else if (!so_far.stopped.empty()) {
          shown_->note("stopped after epoch " + std::to_string(t.epoch) + ": " + so_far.stopped);
        }
        break;
    }
  }

 private:
  void finish_epoch(const history& so_far) {
    shown_->finish_epoch(so_far.epochs.back(), so_far.metrics, so_far.compiled - compiled_);
    compiled_ = so_far.compiled;
  }

  std::ostream* out_;
  std::optional<progress> shown_;
  std::size_t noted_ = 0;  // of the history's notes
  compilations compiled_;  // that were shown
};

}  // namespace glia

#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <ostream>
#include <string>

#include "glia/models/summary.hpp"
#include "glia/training/history.hpp"
#include "glia/training/terminal.hpp"

namespace glia {

/// Shows how a training gets on: on a terminal a bar that is redrawn ten times a second, elsewhere
/// a line for each epoch only.
class progress {
 public:
  progress(std::ostream& out, bool terminal, std::size_t epochs)
      : out_(&out), terminal_(terminal), epochs_(epochs) {}

  void start_epoch(std::size_t epoch, std::size_t samples) {
    const std::string all = std::to_string(epochs_);
    const std::string number = std::to_string(epoch);
    start_pass("epoch " + std::string(all.size() - std::min(all.size(), number.size()), ' ') +
                   number + '/' + all,
               samples);
  }

  /// The same for a pass over the samples that is no epoch.
  void start_pass(const std::string& label, std::size_t samples) {
    label_ = label;
    samples_ = samples;
    started_ = clock::now();
    drawn_ = started_ - redraw_every;
  }

  /// Redraws the bar if it is time to; `loss()` is asked only then, since it may have to wait for
  /// the device.
  template <class Loss>
  void update(std::size_t done, const Loss& loss) {
    if (due()) {
      draw(done, "  loss " + fixed(loss(), 4));
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
    note(label_ + "  " + fixed(seconds, 2) + " s  " +
         scaled(static_cast<double>(samples_) / std::max(seconds, 1e-9)) + " images/s  " + result);
  }

  void finish_epoch(const epoch_record& record, const std::vector<metric>& metrics) {
    if (terminal_) {
      *out_ << "\r\033[K";
    }
    *out_ << label_ << "  " << fixed(record.seconds, 2) << " s  "
          << scaled(record.samples_per_second) << " images/s"
          << scores_text("", record.training, metrics);
    if (record.validation) {
      *out_ << scores_text("validation ", *record.validation, metrics);
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
    const double rate = static_cast<double>(done) / std::max(seconds, 1e-9);
    const double left = static_cast<double>(samples_ - done) / std::max(rate, 1e-9);
    const std::string before = label_ + " [";
    const std::string after = "] " + std::to_string(done) + '/' + std::to_string(samples_) + "  " +
                              scaled(rate) + " images/s" + figures + "  ETA " + clock_text(left);
    // The bar takes the room that is left: a line that wraps could not be redrawn.
    const std::size_t columns = terminal_columns(*out_) - 1;
    const std::size_t room = columns - std::min(columns, before.size() + after.size());
    const std::size_t width = std::min<std::size_t>(room, 30);
    const std::size_t filled = done * width / std::max<std::size_t>(samples_, 1);
    const std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
    *out_ << "\r\033[K" << (before + bar + after).substr(0, columns) << std::flush;
  }

  static std::string fixed(double value, int decimals) {
    std::array<char, 64> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
    return buffer.data();
  }

  static std::string clock_text(double seconds) {
    const auto whole = std::lround(seconds);
    std::array<char, 64> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%ld:%02ld", whole / 60, whole % 60);
    return buffer.data();
  }

  static std::string scores_text(const std::string& prefix, const scores& s,
                                 const std::vector<metric>& metrics) {
    std::string result = "  " + prefix + "loss " + fixed(s.loss, 4);
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      result += "  " + prefix + metrics[i].name + ' ' +
                (metrics[i].counts_classes() ? fixed(100 * s.metrics[i], 2) + " %"
                                             : fixed(s.metrics[i], 4));
    }
    return result;
  }

  std::ostream* out_;
  bool terminal_;
  std::size_t epochs_;
  std::string label_;
  std::size_t samples_ = 0;
  clock::time_point started_;
  clock::time_point drawn_;
};

}  // namespace glia

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/profiling/memory.hpp"
#include "glia/training/callback.hpp"
#include "glia/training/chrome_trace.hpp"
#include "glia/training/machine_peak.hpp"
#include "glia/training/profile.hpp"

namespace glia {

/// The options of `profiler`: the steps that it measures, and the stream to which it prints.
struct profiler_options {
  std::ostream* print = nullptr;  ///< Stream for the tables at the end; null: none.
  std::size_t skip = 3;           ///< Number of steps to skip at the start, while glia warms up.
  std::size_t steps = 50;         ///< Number of steps to measure after the skipped steps.
  /// Whether to measure the machine's peak FLOP/s at the end, in a few hundredths of a second.
  bool measure_peak = true;
};

/// A callback that measures the time and memory of training steps by layer, phase and kernel,
/// including the time spent waiting for data.
///
///     const glia::profiler profiler("profile");
///     trainer.fit(train, test, {.callbacks = {profiler}});
///     std::cout << profiler.result().layer_table();
///
/// If it has a folder, it writes two files there when the training ends: trace.json, for Perfetto
/// or Chrome's trace viewer, and profile.txt with the tables. The folder is created before the
/// first step.
///
/// Copies share their results, so you can read them from the object that you passed to `fit`. `fit`
/// throws `data_error`, with the path, if the folder cannot be created or a file cannot be written.
class profiler {
 public:
  static constexpr bool first_rank_only = true;

  static constexpr bool runs_last = true;

  explicit profiler(std::filesystem::path folder = {}, profiler_options options = {})
      : folder_(std::move(folder)), options_(options), recording_(std::make_shared<recording>()) {}

  /// The measurements of the last training.
  [[nodiscard]] const profile& result() const { return recording_->found; }
  /// The timeline of the last training, which can be written as a file for Perfetto.
  [[nodiscard]] const chrome_trace& trace() const { return recording_->trace; }

  void operator()(const training& t) const {
    recording& record = *recording_;
    const std::int64_t time = timeline::now();
    switch (t.event) {
      case event::train_begin:
        begin(t);
        break;
      case event::epoch_begin:
        record.step_began = 0;  // the time between epochs belongs to no step
        watch_if_due(t);
        break;
      case event::train_batch_end:
        if (record.watching && record.step_began != 0) {
          record.found.first_step = record.found.steps == 0 ? t.step : record.found.first_step;
          record.found.add(record.times, 1e-9 * static_cast<double>(time - record.step_began));
          record.trace.add("step " + std::to_string(t.step), record.step_began, time);
          record.trace.add(record.times);
          record.trace.add({time, static_cast<double>(resident_bytes())});
        }
        ++record.step_count;
        watch_if_due(t);
        break;
      case event::train_end:
        t.record_timeline(nullptr);
        finish(t);
        break;
      default:
        break;
    }
  }

 private:
  struct recording {
    profile found;
    chrome_trace trace;
    timeline times;
    std::size_t step_count = 0;
    bool watching = false;
    std::int64_t step_began = 0;
  };

  void begin(const training& t) const {
    *recording_ = {};
    if (!folder_.empty()) {
      std::error_code failure;
      std::filesystem::create_directories(folder_, failure);
      require<data_error>(std::filesystem::is_directory(folder_), folder_.string(),
                          ": the folder for the profile cannot be created (", failure.message(),
                          ")");
    }
    recording_->found.layers = t.plan.layers;
    recording_->found.batch_size = t.batch_size;
    recording_->found.memory.baseline = resident_bytes();
  }

  void watch_if_due(const training& t) const {
    recording& record = *recording_;
    record.watching = record.step_count >= options_.skip && record.found.steps < options_.steps;
    record.times.clear();
    t.record_timeline(record.watching ? &record.times : nullptr);
    record.step_began = timeline::now();
  }

  void finish(const training& t) const {
    profile& found = recording_->found;
    found.memory.training = t.memory();
    found.memory.peak = peak_resident_bytes();
    if (options_.measure_peak) {
      found.peak_flops = detail::measure_peak_flops();
    }
    if (!folder_.empty()) {
      recording_->trace.write(folder_ / "trace.json");
      write_whole_file(folder_ / "profile.txt", [&](std::ostream& out) {
        out << found.layer_table() << '\n' << found.kernel_table() << '\n' << found.memory_table();
      });
    }
    if (options_.print != nullptr) {
      *options_.print << '\n' << found.layer_table() << '\n' << found.memory_table() << std::flush;
    }
  }

  std::filesystem::path folder_;
  profiler_options options_;
  std::shared_ptr<recording> recording_;
};

}  // namespace glia

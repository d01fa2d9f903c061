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
#include "glia/training/chrome_trace.hpp"
#include "glia/training/machine_peak.hpp"
#include "glia/training/observer.hpp"
#include "glia/training/profile.hpp"

namespace glia {

/// Which steps a profiler looks at, and what it writes.
struct profiler_options {
  std::ostream* print = nullptr;  ///< where the tables are printed at the end; null: nowhere
  std::size_t skip = 3;      ///< steps at the beginning that are left out: they record and warm up
  std::size_t steps = 50;    ///< steps that are looked at; after them nothing is written down
  bool measure_peak = true;  ///< of the machine, for a few hundredths of a second at the end
};

/// An observer that finds out where the time of a training's steps goes, and its memory: by layer,
/// phase and kernel, with what waits for data.
///
///     const glia::profiler watch("profile");
///     trainer.fit(train, test, {.observers = {watch}});
///     std::cout << watch.result().layer_table();
///
/// With a folder it writes trace.json, for Perfetto or Chrome's trace viewer, and profile.txt, the
/// tables. Throws `data_error`, naming them, where they cannot be written; the folder is made
/// before the first step. Copies share what they found.
class profiler {
 public:
  static constexpr bool first_rank_only = true;

  static constexpr bool after_others = true;

  explicit profiler(std::filesystem::path folder = {}, profiler_options options = {})
      : folder_(std::move(folder)), options_(options), all_(std::make_shared<recording>()) {}

  /// What was found in the training that ended last.
  [[nodiscard]] const profile& result() const { return all_->found; }
  [[nodiscard]] const chrome_trace& trace() const { return all_->trace; }

  void operator()(const training& t) const {
    recording& all = *all_;
    const std::int64_t now = timeline::now();
    switch (t.at) {
      case moment::begins:
        begin(t);
        break;
      case moment::epoch_begins:
        all.step_began = 0;  // what is between epochs is no part of a step
        watch_if_due(t);
        break;
      case moment::step:
        if (all.watching && all.step_began != 0) {
          all.found.first_step = all.found.steps == 0 ? t.step : all.found.first_step;
          all.found.add(all.times, 1e-9 * static_cast<double>(now - all.step_began));
          all.trace.add("step " + std::to_string(t.step), all.step_began, now);
          all.trace.add(all.times);
          all.trace.add({now, static_cast<double>(resident_bytes())});
        }
        ++all.seen;
        watch_if_due(t);
        break;
      case moment::ends:
        t.watch(nullptr);
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
    std::size_t seen = 0;  // steps
    bool watching = false;
    std::int64_t step_began = 0;
  };

  void begin(const training& t) const {
    *all_ = {};
    if (!folder_.empty()) {
      std::error_code failure;
      std::filesystem::create_directories(folder_, failure);
      require<data_error>(std::filesystem::is_directory(folder_), folder_.string(),
                          ": cannot be made (", failure.message(), ")");
    }
    all_->found.layers = t.plan.layers;
    all_->found.batch_size = t.batch_size;
    all_->found.memory.before = resident_bytes();
  }

  void watch_if_due(const training& t) const {
    recording& all = *all_;
    all.watching = all.seen >= options_.skip && all.found.steps < options_.steps;
    all.times.clear();
    t.watch(all.watching ? &all.times : nullptr);
    all.step_began = timeline::now();
  }

  void finish(const training& t) const {
    profile& found = all_->found;
    found.memory.training = t.memory();
    found.memory.peak = peak_resident_bytes();
    if (options_.measure_peak) {
      found.peak_flops = measure_peak_flops();
    }
    if (!folder_.empty()) {
      all_->trace.write(folder_ / "trace.json");
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
  std::shared_ptr<recording> all_;
};

}  // namespace glia

#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/models/model_identity.hpp"
#include "glia/training/background_writer.hpp"
#include "glia/training/best_epoch.hpp"
#include "glia/training/callback.hpp"
#include "glia/training/checkpoint_file.hpp"
#include "glia/training/checkpoint_folder.hpp"
#include "glia/training/folder_lock.hpp"
#include "glia/training/not_finite.hpp"
#include "glia/training/watched_score.hpp"

namespace glia {

/// The options of `checkpoints`: when checkpoints are written, and how many are kept.
struct checkpoint_options {
  std::size_t every_steps = 0;  ///< Number of steps between checkpoints; 0 turns this off.
  double every_seconds = 0;     ///< Seconds between checkpoints; 0 turns this off.
  bool every_epoch = true;      ///< Whether to write a checkpoint after each epoch.
  std::size_t keep_last = 3;    ///< Number of newest checkpoints to keep, at least 1.
  /// Name of the score whose best epoch is kept as best.safetensors, such as "validation_loss";
  /// empty: no such file.
  std::string monitor = "";
};

/// A callback that saves the complete state of the training to files in a folder, so that a later
/// run of the program can resume it.
///
///     const glia::checkpoints saver{"run", {.every_seconds = 60}};
///     trainer.fit(train, test, {.epochs = 20, .callbacks = {saver}, .resume = true});
///
/// With `fit_options::resume`, `fit` continues from the newest checkpoint in the folder, also in
/// the middle of an epoch, or begins a new training if the folder has no checkpoint. A training
/// that was killed at any moment and is resumed ends with the same parameters, bit for bit, as
/// without the interruption. Keras's `BackupAndRestore` is similar; Keras's `ModelCheckpoint` does
/// not resume.
///
/// - A background thread writes the files, such as step-000001200.safetensors. Each file is written
///   as a whole or not at all. An older file is removed only after a newer file is complete.
/// - The best epoch by the score `monitor` is kept as best.safetensors.
/// - `load` reads the model's parameters from any of these files.
/// - If the newest checkpoint is damaged, the checkpoint before it is used, and `history::notes`
///   says so.
/// - A state with an infinite or NaN number is not written. A checkpoint with such a number is
///   skipped when a training is resumed. `history::notes` reports both.
///
/// The first checkpoint is written before the first step, so that errors are found early. `fit`
/// throws `data_error`
///
/// - if the folder cannot be written to or the disk is full;
/// - if another running training writes to the folder;
/// - if the folder contains checkpoints and `fit_options::resume` is false;
/// - if all checkpoints in the folder are damaged, or if they belong to another model.
///
/// The constructor throws `value_error` if `keep_last` is 0 or `every_seconds` is negative. Needs
/// nlohmann-json: link `glia::safetensors`.
class checkpoints {
 public:
  static constexpr bool runs_last = true;
  static constexpr bool first_rank_only = true;

  explicit checkpoints(std::filesystem::path folder, checkpoint_options options = {})
      : folder_(std::move(folder)), options_(std::move(options)) {
    require<value_error>(options_.keep_last > 0, "checkpoints: expected keep_last of at least 1");
    require<value_error>(options_.every_seconds >= 0,
                         "checkpoints: expected every_seconds of at least 0");
  }

  void operator()(const training& t) {
    switch (t.event) {
      case event::train_begin:
        begin(t);
        break;
      case event::train_batch_end:
        writer_->look();
        if ((options_.every_steps > 0 && t.step % options_.every_steps == 0) ||
            (options_.every_seconds > 0 && seconds_since_last() >= options_.every_seconds)) {
          write(t, false);
        }
        break;
      case event::epoch_end: {
        const bool best = !options_.monitor.empty() &&
                          detail::best_of(t.history, options_.monitor).epoch == t.epoch;
        if (options_.every_epoch || best) {
          write(t, best);
        }
        break;
      }
      case event::train_end:
        if (t.step != last_step_) {  // lower if a callback has gone back to an earlier state
          write(t, false);
        }
        writer_->finish();
        writer_.reset();
        lock_.reset();
        break;
      default:
        break;
    }
  }

  /// The paths of the checkpoints in a folder, the newest first. Empty if the folder does not
  /// exist.
  [[nodiscard]] static std::vector<std::filesystem::path> newest_first(
      const std::filesystem::path& folder) {
    return detail::checkpoints_newest_first(folder);
  }

 private:
  using clock = std::chrono::steady_clock;

  void begin(const training& t) {
    std::error_code failure;
    std::filesystem::create_directories(folder_, failure);
    require<data_error>(std::filesystem::is_directory(folder_), folder_.string(),
                        ": the folder for checkpoints cannot be created (", failure.message(), ")");
    if (!options_.monitor.empty()) {
      (void)smaller_is_better(t.history.metrics, options_.monitor);
    }
    lock_ = std::make_shared<detail::folder_lock>(folder_);
    detail::part_file::remove_abandoned(folder_);
    identity_ = detail::model_identity(t.plan, t.sample_shape);
    const std::vector<std::filesystem::path> files = newest_first(folder_);
    require<data_error>(
        !files.empty() || options_.monitor.empty() ||
            !std::filesystem::exists(folder_ / detail::best_checkpoint),
        folder_.string(), ": the folder contains the ", detail::best_checkpoint,
        " of another training, which this training would replace; move it, or use another folder");
    if (t.resume) {
      go_on(t, files);
    } else {
      require<data_error>(files.empty(), folder_.string(),
                          ": the folder already contains the checkpoints of a training; resume it "
                          "with fit_options{.resume = true}, or use another folder");
    }
    writer_ = std::make_shared<detail::background_writer>();
    // The initial state of an optimizer need not be finite.
    takes_any_ = !not_finite_in(t.state()).empty();
    write(t, false);
    writer_->finish();
  }

  /// The name of the first tensor with a number that is not finite; empty if all are finite.
  [[nodiscard]] static std::string not_finite_in(const training_state& state) {
    const auto found =
        std::find_if_not(state.tensors.begin(), state.tensors.end(),
                         [](const named_tensor& t) { return detail::all_finite(t); });
    return found == state.tensors.end() ? "" : found->name;
  }

  void go_on(const training& t, const std::vector<std::filesystem::path>& files) const {
    const auto restore = [&](const std::filesystem::path& path, const training_state& state) {
      try {
        t.restore(state);
      } catch (const value_error& e) {
        throw value_error(text(path.string(), ": the training cannot resume from it: ", e.what()));
      }
      t.add_note(text("resumed from ", path.string()));
    };
    std::string damage;
    std::optional<std::pair<std::filesystem::path, training_state>> not_finite;  // the newest
    for (const std::filesystem::path& path : files) {
      safetensors_content content;
      try {
        content = detail::read_checked_content(path);
      } catch (const data_error& e) {
        damage = e.what();
        t.add_note(text("skipped: ", damage));
        continue;
      }
      training_state state = detail::checkpoint_of(path.string(), std::move(content), identity_);
      const std::string name = not_finite_in(state);
      if (name.empty()) {
        restore(path, state);
        return;
      }
      t.add_note(text("skipped: ", path.string(), ": '", name, "' is not finite"));
      if (!not_finite) {
        not_finite.emplace(path, std::move(state));
      }
    }
    if (not_finite) {  // the state of an optimizer can be infinite on purpose
      restore(not_finite->first, not_finite->second);
      return;
    }
    require<data_error>(files.empty(), folder_.string(), ": none of the ", files.size(),
                        " checkpoints in the folder can be read (", damage,
                        "); use another folder");
  }

  void write(const training& t, bool best) {
    last_written_ = clock::now();
    training_state current = t.state();
    if (const std::string name = not_finite_in(current); !takes_any_ && !name.empty()) {
      if (!std::exchange(skips_, true)) {
        t.add_note(text("no checkpoint was written at step ", current.step, ", because '", name,
                        "' is not finite"));
      }
      return;
    }
    skips_ = false;
    const bool goes_back = current.step < last_step_;
    last_step_ = current.step;
    writer_->start([state = std::move(current), identity = identity_, folder = folder_,
                    keep = options_.keep_last, best, goes_back]() mutable {
      const std::uint64_t step = state.step;
      const std::filesystem::path path = folder / detail::checkpoint_name(step);
      detail::write_checkpoint(path, std::move(state), std::move(identity));
      if (best) {
        detail::mark_best_checkpoint(path);
      }
      // Checkpoints of later steps do not count: they are damaged, since the training was not
      // resumed from them, or the training has gone back to an earlier step.
      if (goes_back) {
        detail::remove_later_checkpoints(folder, step);
      }
      detail::remove_old_checkpoints(folder, step, keep);
    });
  }

  [[nodiscard]] double seconds_since_last() const {
    return std::chrono::duration<double>(clock::now() - last_written_).count();
  }

  std::filesystem::path folder_;
  checkpoint_options options_;
  std::map<std::string, std::string> identity_;
  std::shared_ptr<const detail::folder_lock> lock_;    // while a training runs
  std::shared_ptr<detail::background_writer> writer_;  // while a training runs
  clock::time_point last_written_;
  std::uint64_t last_step_ = 0;  // step of the last checkpoint
  bool takes_any_ = false;       // whether states with infinite or NaN numbers are also written
  bool skips_ = false;           // whether the last state was skipped, because it was not finite
};

}  // namespace glia

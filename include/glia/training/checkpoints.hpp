#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/models/model_identity.hpp"
#include "glia/training/callback.hpp"
#include "glia/training/checkpoint_file.hpp"
#include "glia/training/not_finite.hpp"
#include "glia/training/watched_score.hpp"

namespace glia {

namespace detail {

/// Runs tasks on a background thread, one at a time. If a task throws an exception, the next call
/// of a member function rethrows it.
class background_writer {
 public:
  background_writer() : thread_([this] { work(); }) {}
  background_writer(const background_writer&) = delete;
  background_writer& operator=(const background_writer&) = delete;
  ~background_writer() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  /// Waits for the previous task to end and starts the next one.
  void start(std::function<void()> task) {
    finish();
    {
      const std::lock_guard lock(mutex_);
      task_ = std::move(task);
    }
    changed_.notify_all();
  }
  /// Waits until no task runs.
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !task_; });
    rethrow();
  }
  /// Rethrows the exception of a failed task, if there is one. Does not wait.
  void look() {
    const std::lock_guard lock(mutex_);
    rethrow();
  }

 private:
  void rethrow() {
    if (failure_ != nullptr) {
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
  }
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stopping_ || task_; });
      if (!task_) {
        return;
      }
      lock.unlock();
      std::exception_ptr failure;
      try {
        task_();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      task_ = nullptr;
      failure_ = failure;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;
  std::exception_ptr failure_;
  bool stopping_ = false;
  std::thread thread_;
};

/// A lock on a checkpoint folder. Only one training at a time, in this program or in another, can
/// hold the lock and write to the folder. The locked file is .glia-lock in the folder; it is not
/// removed. On file systems without locks, the lock has no effect.
class folder_lock {
 public:
  /// Throws `data_error` if another training holds the lock.
  explicit folder_lock(const std::filesystem::path& folder)
      : file_(open((folder / ".glia-lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (file_ >= 0 && flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(file_);
      throw data_error(text(folder.string(),
                            ": another running training writes its checkpoints to this folder; "
                            "wait until it ends, or use another folder"));
    }
  }
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;
  ~folder_lock() {
    if (file_ < 0) {
      return;
    }
    if (getpid() == owner_) {  // a child process inherits the lock but does not own it
      flock(file_, LOCK_UN);
    }
    close(file_);
  }

 private:
  int file_;
  pid_t owner_ = getpid();
};

}  // namespace detail

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
    std::vector<std::pair<std::uint64_t, std::filesystem::path>> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      if (const auto step = step_of(entry.path().filename().string())) {
        found.emplace_back(*step, entry.path());
      }
    }
    std::sort(found.rbegin(), found.rend());
    std::vector<std::filesystem::path> result;
    result.reserve(found.size());
    for (auto& [step, path] : found) {
      result.push_back(std::move(path));
    }
    return result;
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr std::string_view before_step = "step-";
  static constexpr std::string_view ending = ".safetensors";
  static constexpr const char* best_name = "best.safetensors";

  [[nodiscard]] static std::string name_of(std::uint64_t step) {
    const std::string digits = std::to_string(step);
    constexpr std::size_t width = 9;
    return std::string(before_step) + std::string(width - std::min(width, digits.size()), '0') +
           digits + std::string(ending);
  }
  [[nodiscard]] static std::optional<std::uint64_t> step_of(std::string_view name) {
    std::uint64_t step = 0;
    if (!name.starts_with(before_step) || !name.ends_with(ending)) {
      return std::nullopt;
    }
    const auto [end, failure] = std::from_chars(name.data() + before_step.size(),
                                                name.data() + name.size() - ending.size(), step);
    return failure == std::errc() && name == name_of(step) ? std::optional(step) : std::nullopt;
  }

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
        !files.empty() || options_.monitor.empty() || !std::filesystem::exists(folder_ / best_name),
        folder_.string(), ": the folder contains the ", best_name,
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
      const std::filesystem::path path = folder / name_of(step);
      detail::write_checkpoint(path, std::move(state), std::move(identity));
      if (best) {
        stand_in(path, folder / best_name);
      }
      // Checkpoints of later steps do not count: they are damaged, since the training was not
      // resumed from them, or the training has gone back to an earlier step.
      std::vector<std::filesystem::path> files = newest_first(folder);
      const auto counted = std::find_if(files.begin(), files.end(), [&](const auto& p) {
        return step_of(p.filename().string()) <= step;
      });
      std::error_code ignored;
      for (auto later = files.begin(); goes_back && later != counted; ++later) {
        std::filesystem::remove(*later, ignored);
      }
      for (auto old = counted; old != files.end(); ++old) {
        if (static_cast<std::size_t>(old - counted) >= keep) {
          std::filesystem::remove(*old, ignored);
        }
      }
    });
  }

  /// Gives `file` the second name `name`. Replaces a file that already has this name.
  static void stand_in(const std::filesystem::path& file, const std::filesystem::path& name) {
    const std::filesystem::path between = name.parent_path() / ".glia-best";
    std::error_code failure;
    std::filesystem::remove(between, failure);
    std::filesystem::create_hard_link(file, between, failure);
    if (failure) {  // for example on file systems without hard links
      std::filesystem::copy_file(file, between, failure);
    }
    require<data_error>(!failure, name.string(), ": cannot be written (", failure.message(), ")");
    std::filesystem::rename(between, name, failure);
    require<data_error>(!failure, name.string(), ": cannot be replaced (", failure.message(), ")");
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

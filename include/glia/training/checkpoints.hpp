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
#include "glia/training/checkpoint_file.hpp"
#include "glia/training/not_finite.hpp"
#include "glia/training/observer.hpp"
#include "glia/training/watched_score.hpp"

namespace glia {

namespace detail {

/// Runs one task after the other on a thread of its own, at most one ahead. What a task throws
/// comes out of the next call.
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

  /// Waits for the task before, and hands over the next.
  void start(std::function<void()> task) {
    finish();
    {
      const std::lock_guard lock(mutex_);
      task_ = std::move(task);
    }
    changed_.notify_all();
  }
  /// Waits until nothing is left to do.
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !task_; });
    rethrow();
  }
  /// Throws what has failed so far, without waiting.
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

/// A folder that one training at a time writes its checkpoints to, in this program or another: that
/// training has locked the file .glia-lock in it, which stays there. On file systems without locks
/// it is just a folder.
class folder_lock {
 public:
  /// Throws `data_error` where another training has it.
  explicit folder_lock(const std::filesystem::path& folder)
      : file_(open((folder / ".glia-lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (file_ >= 0 && flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(file_);
      throw data_error(text(folder.string(),
                            ": another training that still runs writes its checkpoints here; wait "
                            "for its end, or name another folder"));
    }
  }
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;
  ~folder_lock() {
    if (file_ < 0) {
      return;
    }
    if (getpid() == owner_) {  // and not a child process, which has inherited the lock
      flock(file_, LOCK_UN);
    }
    close(file_);
  }

 private:
  int file_;
  pid_t owner_ = getpid();
};

}  // namespace detail

/// When checkpoints are written, and which of them are kept.
struct checkpoint_options {
  std::size_t every_steps = 0;  ///< 0: not by steps
  double every_seconds = 0;     ///< 0: not by time
  bool every_epoch = true;
  std::size_t keep_last = 3;  ///< how many of the newest stay, at least 1
  std::string best = "";      ///< the best epoch's is kept, too, by "validation_loss" or another
};

/// An observer that writes the state of a training to a folder, so that it can be gone on with
/// after whatever ended it, and goes on from there where fit is asked to resume:
///
///     const glia::checkpoints keep{"run", {.every_seconds = 60, .best = "validation_accuracy"}};
///     trainer.fit(train, test, {.epochs = 20, .observers = {keep}, .resume = true});
///
/// A training that was killed at any moment and is run again so ends with the same parameters, bit
/// for bit, as one that was not. Files are written on a thread of their own, each whole or not at
/// all: step-000001200.safetensors, the newest of which counts; one that is damaged is passed over
/// for the one before, and history::notes says so. The best epoch's is best.safetensors. `load`
/// takes any of them for the model alone. Needs nlohmann-json: link `glia::safetensors`.
///
/// A state with a parameter that is infinite or not a number is not written, since a training
/// cannot be gone on with from there; history::notes says so. Those that are in the folder are
/// passed over.
///
/// Before the first step one is written, so that a folder that cannot be written to, or a disk that
/// is full, shows then. Throws `data_error` for these, for a folder that another training writes to
/// at the same time, for one that holds the checkpoints of another training when fit is not asked
/// to resume, and for one whose checkpoints are all damaged or of another model; older checkpoints
/// are removed only once a newer one is there.
class checkpoints {
 public:
  static constexpr bool after_others = true;
  static constexpr bool first_rank_only = true;

  explicit checkpoints(std::filesystem::path folder, checkpoint_options options = {})
      : folder_(std::move(folder)), options_(std::move(options)) {
    require<value_error>(options_.keep_last > 0, "checkpoints: expected to keep at least 1");
    require<value_error>(options_.every_seconds >= 0, "checkpoints: expected at least 0 seconds");
  }

  void operator()(const training& t) {
    switch (t.at) {
      case moment::begins:
        begin(t);
        break;
      case moment::step:
        writer_->look();
        if ((options_.every_steps > 0 && t.step % options_.every_steps == 0) ||
            (options_.every_seconds > 0 && seconds_since_last() >= options_.every_seconds)) {
          write(t, false);
        }
        break;
      case moment::epoch: {
        const bool best =
            !options_.best.empty() && best_of(t.result, options_.best).epoch == t.epoch;
        if (options_.every_epoch || best) {
          write(t, best);
        }
        break;
      }
      case moment::ends:
        if (t.step != last_step_) {  // less, where an observer has gone back
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

  /// The checkpoints of a folder, the newest first; empty where there is no such folder.
  [[nodiscard]] static std::vector<std::filesystem::path> newest_first(
      const std::filesystem::path& folder) {
    std::vector<std::pair<std::uint64_t, std::filesystem::path>> found;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
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
                        ": cannot be made (", failure.message(),
                        "); checkpoints need a folder to be written to");
    if (!options_.best.empty()) {
      (void)smaller_is_better(t.result.metrics, options_.best);
    }
    lock_ = std::make_shared<detail::folder_lock>(folder_);
    detail::part_file::remove_abandoned(folder_);
    identity_ = model_identity(t.plan, t.sample);
    const std::vector<std::filesystem::path> there = newest_first(folder_);
    require<data_error>(
        !there.empty() || options_.best.empty() || !std::filesystem::exists(folder_ / best_name),
        folder_.string(), ": holds the ", best_name,
        " of another training, which this one would replace; move it, or name "
        "another folder");
    if (t.resume) {
      go_on(t, there);
    } else {
      require<data_error>(there.empty(), folder_.string(),
                          ": holds the checkpoints of a training already; go on with it by "
                          "fit_options{.resume = true}, or name another folder");
    }
    writer_ = std::make_shared<detail::background_writer>();
    // What an optimizer begins with need not be finite.
    takes_any_ = !not_finite_in(t.state()).empty();
    write(t, false);
    writer_->finish();
  }

  /// The first tensor with a number that is not finite; empty where there is none.
  [[nodiscard]] static std::string not_finite_in(const training_state& state) {
    const auto found = std::find_if_not(state.tensors.begin(), state.tensors.end(),
                                        [](const named_tensor& one) { return all_finite(one); });
    return found == state.tensors.end() ? "" : found->name;
  }

  void go_on(const training& t, const std::vector<std::filesystem::path>& there) const {
    const auto restore = [&](const std::filesystem::path& path, const training_state& state) {
      try {
        t.restore(state);
      } catch (const value_error& e) {
        throw value_error(text(path.string(), ": training cannot resume from it: ", e.what()));
      }
      t.note(text("going on from ", path.string()));
    };
    std::string damage;
    std::optional<std::pair<std::filesystem::path, training_state>> not_finite;  // the newest
    for (const std::filesystem::path& path : there) {
      safetensors_content content;
      try {
        content = read_checked_content(path);
      } catch (const data_error& e) {
        damage = e.what();
        t.note(text("passed over: ", damage));
        continue;
      }
      training_state state = detail::checkpoint_of(path.string(), std::move(content), identity_);
      const std::string name = not_finite_in(state);
      if (name.empty()) {
        restore(path, state);
        return;
      }
      t.note(text("passed over: ", path.string(), ": '", name, "' is not finite"));
      if (!not_finite) {
        not_finite.emplace(path, std::move(state));
      }
    }
    if (not_finite) {  // an optimizer may keep such numbers on purpose
      restore(not_finite->first, not_finite->second);
      return;
    }
    require<data_error>(there.empty(), folder_.string(), ": none of its ", there.size(),
                        " checkpoints can be read (", damage, "); name another folder");
  }

  void write(const training& t, bool best) {
    last_written_ = clock::now();
    training_state now = t.state();
    if (const std::string name = not_finite_in(now); !takes_any_ && !name.empty()) {
      if (!std::exchange(skips_, true)) {
        t.note(text("no checkpoint of step ", now.step, ", as '", name, "' is not finite"));
      }
      return;
    }
    skips_ = false;
    const bool goes_back = now.step < last_step_;
    last_step_ = now.step;
    writer_->start([state = std::move(now), identity = identity_, folder = folder_,
                    keep = options_.keep_last, best, goes_back]() mutable {
      const std::uint64_t step = state.step;
      const std::filesystem::path path = folder / name_of(step);
      write_checkpoint(path, std::move(state), std::move(identity));
      if (best) {
        stand_in(path, folder / best_name);
      }
      // Those of later steps do not count: they are damaged, as this training has not come to them
      // yet, or it has gone back.
      std::vector<std::filesystem::path> there = newest_first(folder);
      const auto counted = std::find_if(there.begin(), there.end(), [&](const auto& p) {
        return step_of(p.filename().string()) <= step;
      });
      std::error_code ignored;
      for (auto later = there.begin(); goes_back && later != counted; ++later) {
        std::filesystem::remove(*later, ignored);
      }
      for (auto old = counted; old != there.end(); ++old) {
        if (static_cast<std::size_t>(old - counted) >= keep) {
          std::filesystem::remove(*old, ignored);
        }
      }
    });
  }

  /// Gives a file a second name, which it takes from another file if need be.
  static void stand_in(const std::filesystem::path& file, const std::filesystem::path& name) {
    const std::filesystem::path between = name.parent_path() / ".glia-best";
    std::error_code failure;
    std::filesystem::remove(between, failure);
    std::filesystem::create_hard_link(file, between, failure);
    if (failure) {  // as on file systems without links
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
  std::shared_ptr<detail::background_writer> writer_;  // likewise
  clock::time_point last_written_;
  std::uint64_t last_step_ = 0;  // that was written
  bool takes_any_ = false;       // numbers that are not finite, too
  bool skips_ = false;           // as the last state was not finite
};

}  // namespace glia

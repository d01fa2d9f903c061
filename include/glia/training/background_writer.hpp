#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace glia::detail {

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

}  // namespace glia::detail

#pragma once

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX's

#include <array>
#include <atomic>
#include <mutex>

namespace glia {

/// While an object of this class exists, Ctrl-C and SIGTERM do not end the program, so that a loop
/// can stop after its current step. Schedulers end programs with SIGTERM.
///
///     const glia::interrupt_guard guard;
///     while (!guard.interrupted()) { ... }
///
/// A second signal of the same kind ends the program as usual. A signal that the program ignores,
/// such as Ctrl-C in a background job, stays ignored and is not reported.
///
/// Guards can be nested and can exist on several threads. The first guard installs the signal
/// handlers. A signal is remembered until the last guard is destroyed. The last guard restores the
/// previous handlers, unless the program has installed other handlers in the meantime.
class interrupt_guard {
 public:
  interrupt_guard() {
    state& global = shared();
    const std::lock_guard lock(global.changing);
    if (global.guards++ > 0) {
      return;
    }
    global.noted = 0;
    for (watched& signal : global.signals) {
      signal.acting =
          sigaction(signal.number, nullptr, &signal.previous) == 0 && !ignored(signal.previous);
      if (signal.acting) {
        struct sigaction noting {};
        noting.sa_handler = note;
        sigemptyset(&noting.sa_mask);
        // SA_RESETHAND: the second signal has the default action. SA_RESTART: system calls such as
        // reading and writing are not interrupted.
        noting.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
        sigaction(signal.number, &noting, nullptr);
      }
    }
  }
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
  ~interrupt_guard() {
    state& global = shared();
    const std::lock_guard lock(global.changing);
    if (--global.guards > 0) {
      return;
    }
    for (watched& signal : global.signals) {
      struct sigaction current {};
      sigaction(signal.number, nullptr, &current);
      // The flags do not help here: they do not change when SA_RESETHAND removes a handler.
      if (signal.acting &&
          (current.sa_handler == note || (global.noted != 0 && current.sa_handler == SIG_DFL))) {
        sigaction(signal.number, &signal.previous, nullptr);
      }
    }
  }

  /// Whether Ctrl-C or SIGTERM was received.
  [[nodiscard]] bool interrupted() const noexcept { return shared().noted != 0; }
  /// The name of the signal: "Ctrl-C" or "SIGTERM".
  [[nodiscard]] const char* reason() const noexcept {
    return shared().noted == SIGTERM ? "SIGTERM" : "Ctrl-C";
  }

 private:
  struct watched {
    int number;
    bool acting = false;
    struct sigaction previous {};
  };
  // A signal handler can only use global variables; this is the library's only one.
  struct state {
    std::atomic<int> noted{0};  // the signal received, or 0
    std::mutex changing;        // guards the members below; the handler only writes `noted`
    int guards = 0;
    std::array<watched, 2> signals{watched{SIGINT}, watched{SIGTERM}};
  };
  static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait");

  static state& shared() noexcept {
    static constinit state value;
    return value;
  }
  static void note(int number) { shared().noted = number; }
  static bool ignored(const struct sigaction& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
  }
};

}  // namespace glia

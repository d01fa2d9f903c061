#pragma once

#include <array>
#include <atomic>
#include <mutex>

#include "glia/core/platform/signals.hpp"
#include "glia/core/spin_lock.hpp"

namespace glia {

/// While an object of this class exists, Ctrl-C and SIGTERM do not end the program, so that a loop
/// can stop after its current step. Schedulers end programs with SIGTERM. On Windows, Ctrl-Break
/// takes the place of SIGTERM.
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
    for (platform::signal_action& action : global.actions) {
      action.install(note);
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
    for (platform::signal_action& action : global.actions) {
      action.restore(note, global.noted != 0);
    }
  }

  /// Whether Ctrl-C or SIGTERM was received.
  [[nodiscard]] bool interrupted() const noexcept { return shared().noted != 0; }
  /// The name of the signal: "Ctrl-C" or "SIGTERM".
  [[nodiscard]] const char* reason() const noexcept {
    return platform::signal_name(shared().noted);
  }

 private:
  // A signal handler can only use global variables; this is the library's only one.
  struct state {
    std::atomic<int> noted{0};   // the signal received, or 0
    detail::spin_lock changing;  // guards the members below; the handler only writes `noted`
    int guards = 0;
    std::array<platform::signal_action, 2> actions{
        platform::signal_action{platform::stop_signals[0]},
        platform::signal_action{platform::stop_signals[1]}};
  };
  static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait");

  static state& shared() noexcept {
    static constinit state value;
    return value;
  }
  static void note(int number) { shared().noted = number; }
};

}  // namespace glia

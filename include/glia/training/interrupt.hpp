#pragma once

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX's

#include <atomic>
#include <mutex>

namespace glia {

/// While it lives, Ctrl-C does not end the program but is noted, so that a loop can stop after the
/// step it is in. A second Ctrl-C ends the program as usual. Where Ctrl-C is ignored, as in a
/// program in the background, it stays so and nothing is noted.
///
/// Guards may nest, and may live on several threads at once: the first one acts, what was noted
/// stays so until the last one ends, and then all is as it was before, unless someone else has set
/// a handler meanwhile, which stays.
class interrupt_guard {
 public:
  interrupt_guard() {
    state& all = shared();
    const std::lock_guard lock(all.changing);
    if (all.guards++ > 0) {
      return;
    }
    all.noted = false;
    all.acting = sigaction(SIGINT, nullptr, &all.before) == 0 && !ignored(all.before);
    if (all.acting) {
      struct sigaction noting {};
      noting.sa_handler = note;
      sigemptyset(&noting.sa_mask);
      // The second one finds what the system does by itself; reading and writing are not disturbed.
      noting.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
      sigaction(SIGINT, &noting, nullptr);
    }
  }
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
  ~interrupt_guard() {
    state& all = shared();
    const std::lock_guard lock(all.changing);
    if (--all.guards > 0 || !all.acting) {
      return;
    }
    struct sigaction now {};
    sigaction(SIGINT, nullptr, &now);
    // The flags say nothing here: they stay when the system takes a handler away.
    if (now.sa_handler == note || (all.noted && now.sa_handler == SIG_DFL)) {
      sigaction(SIGINT, &all.before, nullptr);
    }
  }

  [[nodiscard]] bool interrupted() const noexcept { return shared().noted; }

 private:
  // A signal handler can reach nothing but a global; this is the library's only one.
  struct state {
    std::atomic<bool> noted{false};
    std::mutex changing;  // what follows; the handler touches `noted` alone
    int guards = 0;
    bool acting = false;
    struct sigaction before {};
  };
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait");

  static state& shared() noexcept {
    static constinit state value;
    return value;
  }
  static void note(int) { shared().noted = true; }
  static bool ignored(const struct sigaction& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
  }
};

}  // namespace glia

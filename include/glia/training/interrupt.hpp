#pragma once

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX's

#include <array>
#include <atomic>
#include <mutex>

namespace glia {

/// While it lives, Ctrl-C and SIGTERM, by which schedulers end programs, do not end this one but
/// are noted, so that a loop can stop after the step it is in. A second one of a kind ends the
/// program as usual. Where one is ignored, as Ctrl-C in a program in the background, it stays so
/// and is not noted.
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
    all.noted = 0;
    for (watched& one : all.signals) {
      one.acting = sigaction(one.number, nullptr, &one.before) == 0 && !ignored(one.before);
      if (one.acting) {
        struct sigaction noting {};
        noting.sa_handler = note;
        sigemptyset(&noting.sa_mask);
        // The second one finds what the system does by itself; reading and writing are not
        // disturbed.
        noting.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
        sigaction(one.number, &noting, nullptr);
      }
    }
  }
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
  ~interrupt_guard() {
    state& all = shared();
    const std::lock_guard lock(all.changing);
    if (--all.guards > 0) {
      return;
    }
    for (watched& one : all.signals) {
      struct sigaction now {};
      sigaction(one.number, nullptr, &now);
      // The flags say nothing here: they stay when the system takes a handler away.
      if (one.acting && (now.sa_handler == note || (all.noted != 0 && now.sa_handler == SIG_DFL))) {
        sigaction(one.number, &one.before, nullptr);
      }
    }
  }

  [[nodiscard]] bool interrupted() const noexcept { return shared().noted != 0; }
  /// By what: "Ctrl-C" or "SIGTERM".
  [[nodiscard]] const char* reason() const noexcept {
    return shared().noted == SIGTERM ? "SIGTERM" : "Ctrl-C";
  }

 private:
  struct watched {
    int number;
    bool acting = false;
    struct sigaction before {};
  };
  // A signal handler can reach nothing but a global; this is the library's only one.
  struct state {
    std::atomic<int> noted{0};  // the signal
    std::mutex changing;        // what follows; the handler touches `noted` alone
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

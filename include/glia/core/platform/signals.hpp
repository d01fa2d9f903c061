#pragma once

#if defined(_WIN32) || defined(__wasm__)
#include <csignal>
#else
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX's
#endif

#include <array>

namespace glia::platform {

/// The signals that ask a program to end: Ctrl-C, and what schedulers send.
#if defined(_WIN32)
inline constexpr std::array<int, 2> stop_signals{SIGINT, SIGBREAK};
#else
inline constexpr std::array<int, 2> stop_signals{SIGINT, SIGTERM};
#endif

/// Returns the name of one of `stop_signals`.
[[nodiscard]] constexpr const char* signal_name(int number) noexcept {
  return number == SIGINT ? "Ctrl-C" : stop_signals[1] == SIGTERM ? "SIGTERM" : "Ctrl-Break";
}

/// The action at a signal. `install` gives it a function that is called at the first signal only:
/// the second has the system's action. `restore` gives it back what it had.
class signal_action {
 public:
  using handler = void (*)(int);

  explicit constexpr signal_action(int number) : number_(number) {}

  /// Installs the function, unless the program ignores the signal.
  void install(handler function) noexcept {
#if defined(_WIN32) || defined(__wasm__)
    previous_ = std::signal(number_, function);  // which is forgotten at the first signal
    acts_ = previous_ != SIG_ERR && previous_ != SIG_IGN;
    if (previous_ == SIG_IGN) {
      std::signal(number_, SIG_IGN);
    }
#else
    acts_ = ::sigaction(number_, nullptr, &previous_) == 0 && !ignored(previous_);
    if (acts_) {
      struct sigaction action {};
      action.sa_handler = function;
      sigemptyset(&action.sa_mask);
      // SA_RESETHAND: the second signal has the default action. SA_RESTART: system calls such as
      // reading and writing are not interrupted.
      action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
      ::sigaction(number_, &action, nullptr);
    }
#endif
  }

  /// Restores what was there before `install`, unless the program has installed another function.
  /// `received` says whether the function has been called.
  void restore(handler function, bool received) noexcept {
    if (!acts_) {
      return;
    }
#if defined(_WIN32) || defined(__wasm__)
    const handler current = std::signal(number_, previous_);
    if (current != function && !(received && current == SIG_DFL)) {
      std::signal(number_, current);
    }
#else
    struct sigaction current {};
    ::sigaction(number_, nullptr, &current);
    // The flags do not help here: they do not change when SA_RESETHAND removes a function.
    if (current.sa_handler == function || (received && current.sa_handler == SIG_DFL)) {
      ::sigaction(number_, &previous_, nullptr);
    }
#endif
  }

 private:
  int number_;
  bool acts_ = false;
#if defined(_WIN32) || defined(__wasm__)
  handler previous_ = nullptr;
#else
  static bool ignored(const struct sigaction& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
  }

  struct sigaction previous_ {};
#endif
};

}  // namespace glia::platform

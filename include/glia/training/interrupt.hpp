#pragma once

#include <csignal>

namespace glia {

/// While it lives, Ctrl-C does not end the program but is noted, so that a loop can stop after the
/// step it is in. A second Ctrl-C ends the program as usual. Guards may nest: the outermost one
/// acts, and what was noted under it stays so until it ends.
class interrupt_guard {
 public:
  interrupt_guard() {
    if (shared().guards++ == 0) {
      shared().flag = 0;
      shared().before = std::signal(SIGINT, [](int) {
        shared().flag = 1;
        std::signal(SIGINT, SIG_DFL);
      });
    }
  }
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
  ~interrupt_guard() {
    if (--shared().guards == 0) {
      std::signal(SIGINT, shared().before == SIG_ERR ? SIG_DFL : shared().before);
    }
  }

  [[nodiscard]] bool interrupted() const noexcept { return shared().flag != 0; }

 private:
  // A signal handler can reach nothing but a global; this is the library's only one.
  struct state {
    volatile std::sig_atomic_t flag = 0;
    int guards = 0;
    void (*before)(int) = SIG_DFL;
  };
  static state& shared() noexcept {
    static state value;
    return value;
  }
};

}  // namespace glia

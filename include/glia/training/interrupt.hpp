#pragma once

#include <csignal>

namespace glia {

/// While it lives, Ctrl-C does not end the program but is noted, so that a loop can stop after the
/// step it is in. A second Ctrl-C ends the program as usual. Only the outermost guard acts.
class interrupt_guard {
 public:
  interrupt_guard() {
    flag() = 0;
    before_ = std::signal(SIGINT, [](int) {
      flag() = 1;
      std::signal(SIGINT, SIG_DFL);
    });
  }
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
  ~interrupt_guard() { std::signal(SIGINT, before_ == SIG_ERR ? SIG_DFL : before_); }

  [[nodiscard]] bool interrupted() const noexcept { return flag() != 0; }

 private:
  // A signal handler can reach nothing but a global; this is the library's only one.
  static volatile std::sig_atomic_t& flag() noexcept {
    static volatile std::sig_atomic_t value = 0;
    return value;
  }

  void (*before_)(int) = SIG_DFL;
};

}  // namespace glia

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX's

#include <glia/training/interrupt.hpp>
#include <thread>
#include <vector>

#include "catch.hpp"

namespace {

int handled = 0;
void handle(int) { ++handled; }
void handle_with_context(int, siginfo_t*, void*) { ++handled; }

/// What Ctrl-C does now.
struct sigaction action() {
  struct sigaction current {};
  sigaction(SIGINT, nullptr, &current);
  return current;
}

/// Another handler than Ctrl-C's own while it lives.
struct another_handler {
  struct sigaction original = action();
  explicit another_handler(void (*handler)(int)) {
    struct sigaction replacement {};
    replacement.sa_handler = handler;
    sigaction(SIGINT, &replacement, nullptr);
  }
  explicit another_handler(const struct sigaction& replacement) {
    sigaction(SIGINT, &replacement, nullptr);
  }
  another_handler(const another_handler&) = delete;
  another_handler& operator=(const another_handler&) = delete;
  ~another_handler() { sigaction(SIGINT, &original, nullptr); }
};

}  // namespace

TEST_CASE("what one interrupt guard notes, those inside it and around it know") {
  const glia::interrupt_guard outer;
  {
    const glia::interrupt_guard inner;
    CHECK_FALSE(inner.interrupted());
    raise(SIGINT);
    CHECK(inner.interrupted());
  }
  CHECK(outer.interrupted());
  const glia::interrupt_guard later;
  CHECK(later.interrupted());
}

TEST_CASE("a new outermost interrupt guard begins anew and puts back what was before") {
  const another_handler handler(handle);
  handled = 0;
  {
    const glia::interrupt_guard guard;
    CHECK_FALSE(guard.interrupted());
    raise(SIGINT);
    CHECK(guard.interrupted());
    CHECK(action().sa_handler == SIG_DFL);  // the second one ends the program
  }
  CHECK(action().sa_handler == handle);
  {
    const glia::interrupt_guard guard;
    CHECK_FALSE(guard.interrupted());
  }
  CHECK(handled == 0);
  raise(SIGINT);
  CHECK(handled == 1);
}

TEST_CASE("a handler comes back with its flags and its mask") {
  struct sigaction replacement {};
  replacement.sa_sigaction = handle_with_context;
  replacement.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&replacement.sa_mask);
  sigaddset(&replacement.sa_mask, SIGUSR1);
  const another_handler set(replacement);
  for (const bool interrupted : {false, true}) {
    {
      const glia::interrupt_guard guard;
      if (interrupted) {
        raise(SIGINT);
      }
    }
    const struct sigaction current = action();
    CHECK(current.sa_sigaction == handle_with_context);
    CHECK((current.sa_flags & (SA_SIGINFO | SA_RESTART | SA_ONSTACK)) == replacement.sa_flags);
    CHECK((current.sa_flags & static_cast<int>(SA_RESETHAND)) == 0);
    CHECK(sigismember(&current.sa_mask, SIGUSR1) == 1);
    CHECK(sigismember(&current.sa_mask, SIGUSR2) == 0);
  }
}

TEST_CASE("where Ctrl-C is ignored, it stays so") {
  const another_handler handler(SIG_IGN);
  {
    const glia::interrupt_guard guard;
    CHECK(action().sa_handler == SIG_IGN);
    raise(SIGINT);
    raise(SIGINT);
    CHECK_FALSE(guard.interrupted());
  }
  CHECK(action().sa_handler == SIG_IGN);
}

TEST_CASE("a handler that is set while a guard lives stays") {
  const another_handler first(SIG_DFL);
  {
    const glia::interrupt_guard guard;
    struct sigaction replacement {};
    replacement.sa_handler = handle;
    sigaction(SIGINT, &replacement, nullptr);
  }
  CHECK(action().sa_handler == handle);
}

TEST_CASE("guards on several threads put back what was before") {
  const another_handler handler(handle);
  for (int round = 0; round < 5; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 5000; ++i) {
          const glia::interrupt_guard guard;
        }
      });
    }
    for (std::thread& t : threads) {
      t.join();
    }
    REQUIRE(action().sa_handler == handle);
  }
}

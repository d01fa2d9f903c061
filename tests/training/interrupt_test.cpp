#include <csignal>
#include <glia/training/interrupt.hpp>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "posix.hpp"

namespace {

using handler = void (*)(int);

int handled = 0;
void handle(int) { ++handled; }
#if GLIA_TEST_HAS_POSIX
void handle_with_context(int, siginfo_t*, void*) { ++handled; }
#endif

/// What Ctrl-C does now.
handler action() {
  const handler current = std::signal(SIGINT, SIG_IGN);
  std::signal(SIGINT, current);
  return current;
}

/// Another handler than Ctrl-C's own while it lives.
struct another_handler {
  handler original;
  explicit another_handler(handler replacement) : original(std::signal(SIGINT, replacement)) {}
  another_handler(const another_handler&) = delete;
  another_handler& operator=(const another_handler&) = delete;
  ~another_handler() { std::signal(SIGINT, original); }
};

}  // namespace

TEST_CASE("what one interrupt guard notes, those inside it and around it know") {
  const glia::interrupt_guard outer;
  {
    const glia::interrupt_guard inner;
    CHECK_FALSE(inner.interrupted());
    std::raise(SIGINT);
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
    std::raise(SIGINT);
    CHECK(guard.interrupted());
    CHECK(action() == SIG_DFL);  // the second one ends the program
  }
  CHECK(action() == handle);
  {
    const glia::interrupt_guard guard;
    CHECK_FALSE(guard.interrupted());
  }
  CHECK(handled == 0);
  std::raise(SIGINT);
  CHECK(handled == 1);
}

TEST_CASE("a handler comes back with its flags and its mask") {
#if GLIA_TEST_HAS_POSIX
  struct sigaction replacement {};
  replacement.sa_sigaction = handle_with_context;
  replacement.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&replacement.sa_mask);
  sigaddset(&replacement.sa_mask, SIGUSR1);
  struct sigaction original {};
  sigaction(SIGINT, &replacement, &original);
  for (const bool interrupted : {false, true}) {
    {
      const glia::interrupt_guard guard;
      if (interrupted) {
        std::raise(SIGINT);
      }
    }
    struct sigaction current {};
    sigaction(SIGINT, nullptr, &current);
    CHECK(current.sa_sigaction == handle_with_context);
    CHECK((current.sa_flags & (SA_SIGINFO | SA_RESTART | SA_ONSTACK)) == replacement.sa_flags);
    CHECK((current.sa_flags & static_cast<int>(SA_RESETHAND)) == 0);
    CHECK(sigismember(&current.sa_mask, SIGUSR1) == 1);
    CHECK(sigismember(&current.sa_mask, SIGUSR2) == 0);
  }
  sigaction(SIGINT, &original, nullptr);
#else
  GLIA_SKIP("signals of this system have neither flags nor masks");
#endif
}

TEST_CASE("where Ctrl-C is ignored, it stays so") {
  const another_handler handler(SIG_IGN);
  {
    const glia::interrupt_guard guard;
    CHECK(action() == SIG_IGN);
    std::raise(SIGINT);
    std::raise(SIGINT);
    CHECK_FALSE(guard.interrupted());
  }
  CHECK(action() == SIG_IGN);
}

TEST_CASE("a handler that is set while a guard lives stays") {
  const another_handler first(SIG_DFL);
  {
    const glia::interrupt_guard guard;
    std::signal(SIGINT, handle);
  }
  CHECK(action() == handle);
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
    REQUIRE(action() == handle);
  }
}

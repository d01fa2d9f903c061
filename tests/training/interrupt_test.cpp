#include <csignal>
#include <glia/training/interrupt.hpp>

#include "catch.hpp"

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
  const auto before = std::signal(SIGINT, SIG_IGN);
  {
    const glia::interrupt_guard guard;
    CHECK_FALSE(guard.interrupted());
    std::raise(SIGINT);
    CHECK(guard.interrupted());
  }
  CHECK(std::signal(SIGINT, before) == SIG_IGN);
}

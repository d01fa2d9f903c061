#include <glia/core/flush_denormals.hpp>
#include <glia/core/thread_pool.hpp>
#include <limits>

#include "catch.hpp"

TEST_CASE("a program in WebAssembly has one thread") {
  glia::thread_pool pool;
  CHECK(pool.size() == 1);
  CHECK_THROWS_AS(glia::thread_pool(2), glia::value_error);
}

TEST_CASE("WebAssembly computes with denormal numbers") {
  const glia::flush_denormals on_this_thread;
  volatile float smallest = std::numeric_limits<float>::min();
  CHECK(smallest / 2 > 0);
}

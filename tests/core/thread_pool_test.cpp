#include <atomic>
#include <glia/core/thread_pool.hpp>
#include <vector>

#include "catch.hpp"

TEST_CASE("a parallel loop runs every index once, for any number of threads") {
  for (std::size_t threads : {1, 2, 3, 8}) {
    glia::thread_pool pool(threads);
    CHECK(pool.size() == threads);
    for (std::size_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(count);
      pool.parallel_for(count, [&](std::size_t i) { ++runs[i]; });
      for (const auto& n : runs) {
        CHECK(n == 1);
      }
    }
  }
}

TEST_CASE("many short loops in a row do not mix") {
  glia::thread_pool pool(3);
  std::size_t total = 0;
  for (std::size_t round = 0; round < 20000; ++round) {
    std::atomic<std::size_t> sum{0};
    pool.parallel_for(1 + round % 5, [&](std::size_t i) { sum += round + i; });
    const std::size_t n = 1 + round % 5;
    total += sum == n * round + n * (n - 1) / 2 ? 1 : 0;
  }
  CHECK(total == 20000);
}

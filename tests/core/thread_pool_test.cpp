#include <atomic>
#include <glia/core/thread_pool.hpp>
#include <vector>

#include "catch.hpp"

TEST_CASE("a parallel loop runs every index once, for any number of threads") {
  for (const std::size_t threads : {1U, 2U, 3U, 8U}) {
    glia::thread_pool pool(threads);
    CHECK(pool.size() == threads);
    for (const std::size_t count : {0U, 1U, 2U, 7U, 1000U}) {
      std::vector<std::atomic<int>> runs(count);
      pool.parallel_for(count, [&](std::size_t i, std::size_t) { ++runs[i]; });
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
    pool.parallel_for(1 + round % 5, [&](std::size_t i, std::size_t) { sum += round + i; });
    const std::size_t n = 1 + round % 5;
    total += sum == n * round + n * (n - 1) / 2 ? 1 : 0;
  }
  CHECK(total == 20000);
}

TEST_CASE("no two calls with the same thread number overlap") {
  glia::thread_pool pool(4);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<int> overlaps{0};
  for (int round = 0; round < 200; ++round) {
    pool.parallel_for(64, [&](std::size_t, std::size_t thread) {
      overlaps += inside.at(thread)++ != 0;
      --inside[thread];
    });
  }
  CHECK(overlaps == 0);
}

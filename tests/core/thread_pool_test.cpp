#include <atomic>
#include <glia/core/thread_pool.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "messages.hpp"
#include "posix.hpp"

TEST_CASE("a parallel loop runs every index once, for any number of threads") {
  for (const std::size_t threads : {1U, 2U, 3U, 8U, 70U}) {
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
  constexpr std::size_t rounds = 70000;  // so many that parts without an index get new tickets
  for (std::size_t round = 0; round < rounds; ++round) {
    std::atomic<std::size_t> sum{0};
    pool.parallel_for(1 + round % 5, [&](std::size_t i, std::size_t) { sum += round + i; });
    const std::size_t n = 1 + round % 5;
    total += sum == n * round + n * (n - 1) / 2 ? 1 : 0;
  }
  CHECK(total == rounds);
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

TEST_CASE("loops of several callers run side by side, each index once") {
  glia::thread_pool pool(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (std::size_t round = 0; round < 500; ++round) {
        std::vector<std::atomic<int>> runs(2 + round % 7);
        std::vector<std::atomic<int>> inside(pool.size());
        pool.parallel_for(runs.size(), [&](std::size_t i, std::size_t thread) {
          wrong += inside.at(thread)++ != 0;
          ++runs[i];
          --inside[thread];
        });
        for (const auto& n : runs) {
          wrong += n != 1;
        }
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  CHECK(wrong == 0);
}

TEST_CASE("a loop may run within another one's body") {
  glia::thread_pool pool(3);
  std::atomic<int> runs{0};
  pool.parallel_for(10, [&](std::size_t, std::size_t) {
    pool.parallel_for(10, [&](std::size_t, std::size_t) { ++runs; });
  });
  CHECK(runs == 100);
}

TEST_CASE("threads that are not to be had are an error") {
  CHECK(test::contains(test::message_of<glia::value_error>([] { glia::thread_pool pool(200000); }),
                       "at most 1024 threads, got 200000"));
}

TEST_CASE("a forked child runs loops and destroys its parent's pool") {
#if GLIA_TEST_HAS_POSIX
  auto pool = std::make_unique<glia::thread_pool>(3);
  const auto sum = [&] {
    std::atomic<int> total{0};
    pool->parallel_for(100, [&](std::size_t i, std::size_t) { total += static_cast<int>(i); });
    return total.load();
  };
  CHECK(sum() == 4950);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const bool right = sum() == 4950;
    pool.reset();
#if !defined(__SANITIZE_THREAD__)  // which ends children that make threads
    glia::thread_pool another(2);
#endif
    _exit(right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(sum() == 4950);
#else
  GLIA_SKIP("this system has no fork");
#endif
}

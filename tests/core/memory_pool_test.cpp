#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("a memory pool hands the same block out again") {
  const glia::memory_pool pool;
  void* first = nullptr;
  {
    const glia::memory_block block = pool.allocate(1000);
    first = block.data();
  }
  const std::size_t reserved = pool.reserved_bytes();
  const glia::memory_block reused = pool.allocate(1000);
  CHECK(reused.data() == first);
  CHECK(pool.reserved_bytes() == reserved);
  const glia::memory_block fresh = pool.allocate(1000);
  CHECK(fresh.data() != first);
  CHECK(pool.reserved_bytes() > reserved);
}

TEST_CASE("blocks are large enough, aligned, and waste at most an eighth") {
  for (const std::size_t bytes :
       {0U, 1U, 63U, 64U, 65U, 100U, 127U, 128U, 129U, 1000U, 4097U, 1U << 20U, 12345678U}) {
    const glia::memory_pool pool;
    const glia::memory_block block = pool.allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(block.data()) % 64 == 0);
    CHECK(pool.reserved_bytes() >= bytes + 64);
    CHECK(pool.reserved_bytes() <= bytes + bytes / 8 + 64 + 64);
    std::fill_n(static_cast<char*>(block.data()), bytes, 'x');
  }
}

TEST_CASE("a block is unique until it is shared, and outlives its pool") {
  std::optional<glia::memory_pool> pool(std::in_place);
  glia::memory_block block = pool->allocate(10);
  CHECK(block.unique());
  {
    const glia::memory_block shared = block;
    CHECK_FALSE(block.unique());
  }
  CHECK(block.unique());
  pool.reset();
  static_cast<char*>(block.data())[9] = 1;
  block = {};
  CHECK_FALSE(block);
}

TEST_CASE("a pool gives back what it no longer needs before it keeps six times of it") {
  const glia::memory_pool pool;
  for (std::size_t bytes = 1000; bytes < 4'000'000; bytes += bytes / 5) {
    const glia::memory_block first = pool.allocate(bytes);
    const glia::memory_block second = pool.allocate(bytes);
    // Four times, and what came back since it last made room.
    CHECK(pool.reserved_bytes() <= 6 * (2 * bytes + bytes / 4 + 256));
  }
  pool.trim();
  CHECK(pool.reserved_bytes() == 0);
}

TEST_CASE("blocks go back and forth between threads, and outlive their pool there") {
  std::optional<glia::memory_pool> pool(std::in_place);
  std::vector<glia::memory_block> blocks(100);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t round = 0; round < 300; ++round) {
        for (std::size_t i = t; i < blocks.size(); i += 4) {
          blocks[i] = pool->allocate(100 + i);
          *static_cast<char*>(blocks[i].data()) = static_cast<char>(i);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(pool->reserved_bytes() < 400 * 300);
  pool.reset();
  std::thread([&] { blocks.resize(50); }).join();
  CHECK(*static_cast<char*>(blocks[7].data()) == 7);
}

TEST_CASE("a borrowed block is not counted and can be made to last") {
  const glia::memory_pool pool;
  glia::memory_block counted;
  {
    const glia::memory_block block = pool.allocate(10);
    const glia::memory_block borrowed = block.borrowed();
    const glia::memory_block copy =
        borrowed;  // NOLINT(performance-unnecessary-copy-initialization)
    CHECK(block.unique());
    CHECK_FALSE(copy.unique());
    counted = copy.counted();
    CHECK_FALSE(block.unique());
    CHECK(counted.data() == block.data());
  }
  CHECK(counted.unique());
}

TEST_CASE("sizes that no machine has are refused") {
  const glia::memory_pool pool;
  CHECK_THROWS_AS(pool.allocate(~std::size_t{0}), glia::value_error);
  CHECK_THROWS_AS(pool.allocate((std::size_t{1} << 56) + 1), glia::value_error);
}

#include <cstdint>
#include <optional>

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
  const glia::memory_block again = pool.allocate(1000);
  CHECK(again.data() == first);
  CHECK(pool.reserved_bytes() == reserved);
  const glia::memory_block another = pool.allocate(1000);
  CHECK(another.data() != first);
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

#include "random/ranks.hpp"

#include <cstdint>
#include <string>

#include "catch.hpp"
#include "random/seeds.hpp"

TEST_CASE("random trainings on ranks are those of one process, however their sums travel") {
  const auto seeds = test::random::seeds(100);
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    INFO("seed " << seed);
    CHECK(test::difference_of_ranks(seed) == "");
  }
}

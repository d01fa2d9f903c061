#include "glia/data/shard.hpp"

#include <algorithm>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("each sample is one rank's, drawn alike for every number of ranks") {
  const test::quadrants data{50};
  std::vector<std::uint32_t> drawn;
  for (const std::size_t ranks : {1U, 3U, 7U, 60U}) {
    std::vector<std::uint32_t> side_by_side;
    std::vector<std::uint32_t> samples;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto plain = glia::shard(data, rank, ranks);
      const auto shuffled = glia::shard(data, rank, ranks, 5);
      CHECK((shuffled.size() == 50 / ranks || shuffled.size() == 50 / ranks + 1));
      CHECK(shuffled.size() == plain.size());
      side_by_side.insert(side_by_side.end(), plain.samples().begin(), plain.samples().end());
      samples.insert(samples.end(), shuffled.samples().begin(), shuffled.samples().end());
    }
    CHECK(std::is_sorted(side_by_side.begin(), side_by_side.end()));
    drawn = drawn.empty() ? samples : drawn;
    CHECK(samples == drawn);
    CHECK_FALSE(std::is_sorted(samples.begin(), samples.end()));
    std::sort(samples.begin(), samples.end());
    CHECK(samples == side_by_side);
    CHECK(std::adjacent_find(samples.begin(), samples.end()) == samples.end());
    CHECK(samples.size() == 50);
  }
  CHECK_THROWS_AS(glia::shard(data, 3, 3), glia::value_error);
}

TEST_CASE("each file is one rank's") {
  const std::vector<std::filesystem::path> files{"a", "b", "c", "d", "e"};
  CHECK(glia::shard(files, 0, 2) == std::vector<std::filesystem::path>{"a", "c", "e"});
  CHECK(glia::shard(files, 1, 2) == std::vector<std::filesystem::path>{"b", "d"});
  CHECK_THROWS_AS(glia::shard(files, 0, 6), glia::value_error);
  CHECK_THROWS_AS(glia::shard(files, 2, 2), glia::value_error);
}

#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace test::random {

/// The seeds of random programs: seed `first` and those behind it, `count` in all.
struct seed_range {
  std::uint64_t first = 1;
  std::uint64_t count = 0;
};

/// As many as a test asks for, from 1 on; other ones where the environment says GLIA_RANDOM_FIRST
/// and GLIA_RANDOM_COUNT, as tests/run_random does.
[[nodiscard]] inline seed_range seeds(std::uint64_t count) {
  const auto number = [](const char* name, std::uint64_t otherwise) -> std::uint64_t {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::stoull(text);
  };
  return {number("GLIA_RANDOM_FIRST", 1), number("GLIA_RANDOM_COUNT", count)};
}

}  // namespace test::random

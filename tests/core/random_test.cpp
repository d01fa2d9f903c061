#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("Philox gives the words of its authors' known-answer test") {
  // Random123's kat_vectors, philox4x32 10.
  CHECK(glia::philox({.seed = 0, .stream = 0, .step = 0}, 0) ==
        std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(glia::philox({.seed = 0xffffffffffffffff, .stream = 0xffffffff, .step = 0xffffffff},
                     0xffffffffffffffff) ==
        std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(glia::philox({.seed = 0x299f31d0a4093822, .stream = 0x13198a2e, .step = 0x03707344},
                     0x85a308d3243f6a88) ==
        std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a stream reads the words of its key in order") {
  const glia::random_key key{.seed = 3, .stream = 4, .step = 5};
  glia::random_stream stream(key);
  for (std::uint64_t i = 0; i < 9; ++i) {
    CHECK(stream.bits() == glia::detail::random_bits(key, i));
  }
}

TEST_CASE("uniform and normal numbers have the moments that they should") {
  glia::random_stream random({.seed = 1});
  constexpr int count = 100000;
  double sum = 0;
  double squares = 0;
  double uniforms = 0;
  for (int i = 0; i < count; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
    uniforms += random.uniform();
  }
  // Four standard errors.
  CHECK(std::abs(sum / count) < 4 / std::sqrt(count));
  CHECK(std::abs(squares / count - 1) < 4 * std::sqrt(2.0 / count));
  CHECK(std::abs(uniforms / count - 0.5) < 4 * std::sqrt(1.0 / 12 / count));
}

TEST_CASE("a shuffle is a permutation that depends on the key alone") {
  std::vector<std::uint32_t> a(1000);
  std::iota(a.begin(), a.end(), 0U);
  std::vector<std::uint32_t> b = a;
  std::vector<std::uint32_t> c = a;
  glia::shuffle(std::span(a), {.seed = 1, .step = 2});
  glia::shuffle(std::span(b), {.seed = 1, .step = 2});
  glia::shuffle(std::span(c), {.seed = 1, .step = 3});
  CHECK(a == b);
  CHECK(a != c);
  CHECK(std::set(a.begin(), a.end()).size() == 1000);
}

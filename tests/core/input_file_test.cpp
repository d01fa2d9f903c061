#include <glia/core/input_file.hpp>
#include <vector>

#include "catch.hpp"

TEST_CASE("what a header announces takes no more memory than there are bytes for") {
  for (const std::size_t available : {0U, 1U, 4096U, 4097U, 100'000U}) {
    std::size_t delivered = 0;
    const auto read = glia::detail::read_announced<std::vector<std::uint8_t>>(
        std::uint64_t{1} << 62, [&](std::uint8_t* destination, std::size_t count) {
          REQUIRE(count <= std::max<std::size_t>(4096, 3 * delivered));
          const std::size_t chunk = std::min(count, available - delivered);
          std::fill_n(destination, chunk, std::uint8_t{7});
          delivered += chunk;
          return chunk;
        });
    CHECK(read == std::vector<std::uint8_t>(available, 7));
    CHECK(read.capacity() <= std::max<std::size_t>(4096, 4 * available));
  }
}

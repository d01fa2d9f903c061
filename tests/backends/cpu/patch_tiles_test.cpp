#include <cstddef>
#include <glia/backends/cpu/loops/patch_tiles.hpp>

#include "catch.hpp"

namespace {

// Checks the tiles of all numbers of patches up to 1,000: they are consecutive and fit into the
// registers, and from 20 patches on, a loop is compiled for each.
template <std::size_t Largest>
void check_tiles() {
  using tiles_of_patches = glia::cpu_loops::patch_tiles<Largest>;
  for (std::size_t patches = 0; patches <= 1000; ++patches) {
    CAPTURE(patches);
    const tiles_of_patches tiles(patches);
    REQUIRE(tiles.count() == (patches + Largest - 1) / Largest);
    std::size_t end = 0;
    for (std::size_t i = 0; i < tiles.count(); ++i) {
      CAPTURE(i);
      const std::size_t size = tiles.size(i);
      REQUIRE(tiles.start(i) == end);
      REQUIRE(size > 0);
      REQUIRE(size <= Largest);
      if (patches >= 20) {
        REQUIRE((size >= tiles_of_patches::smallest || size == tiles_of_patches::piece));
      }
      end += size;
    }
    REQUIRE(end == patches);
  }
}

}  // namespace

TEST_CASE("tiles of patches have sizes for which loops are compiled") {
  check_tiles<6>();
  check_tiles<12>();
}

TEST_CASE("25 patches are three tiles without one that takes two loops") {
  const glia::cpu_loops::patch_tiles<12> tiles(25);
  REQUIRE(tiles.count() == 3);
  CHECK(tiles.size(0) == 7);
  CHECK(tiles.size(1) == 7);
  CHECK(tiles.size(2) == 11);
}

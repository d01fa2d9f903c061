#include <cstddef>
#include <glia/backends/cpu/loops/patch_tiles.hpp>
#include <vector>

#include "catch.hpp"

namespace {

template <std::size_t Largest>
std::vector<std::size_t> sizes_of(std::size_t patches) {
  const glia::cpu_loops::patch_tiles<Largest> tiles(patches);
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < tiles.count(); ++i) {
    sizes.push_back(tiles.size(i));
  }
  return sizes;
}

// Checks the tiles of a number of patches: they are consecutive and fit into the registers, and if
// `with_loops` is true, each has a size with a loop.
template <std::size_t Largest>
void check_tiles(std::size_t patches, bool with_loops) {
  using tiles_of_patches = glia::cpu_loops::patch_tiles<Largest>;
  CAPTURE(Largest, patches);
  const tiles_of_patches tiles(patches);
  std::size_t end = 0;
  bool consecutive = true;
  bool fit = true;
  bool have_loops = true;
  for (std::size_t i = 0; i < tiles.count(); ++i) {
    const std::size_t size = tiles.size(i);
    consecutive = consecutive && tiles.start(i) == end;
    fit = fit && size > 0 && size <= Largest;
    have_loops =
        have_loops && (size >= tiles_of_patches::min_full || size == tiles_of_patches::short_size ||
                       size == tiles_of_patches::half_size);
    end += size;
  }
  CHECK(consecutive);
  CHECK(fit);
  CHECK((have_loops || !with_loops));
  CHECK(tiles.start(tiles.count()) == patches);
  CHECK(end == patches);
  CHECK(tiles.count() == (patches + Largest - 1) / Largest);
}

}  // namespace

TEST_CASE("tiles of patches are consecutive and have sizes for which there are loops") {
  for (std::size_t patches = 0; patches <= 1000; ++patches) {
    check_tiles<6>(patches, patches > 3);
    check_tiles<12>(patches, patches > 13);
  }
  check_tiles<6>(1'000'003, true);  // the number of outputs of a long sequence
}

TEST_CASE("few patches are cut into tiles that take one loop each where possible") {
  using sizes = std::vector<std::size_t>;
  CHECK(sizes_of<12>(4) == sizes{4});
  CHECK(sizes_of<12>(7) == sizes{7});
  CHECK(sizes_of<12>(9) == sizes{9});  // two loops: 7 and 2
  CHECK(sizes_of<12>(12) == sizes{12});
  CHECK(sizes_of<12>(13) == sizes{7, 6});
  CHECK(sizes_of<12>(14) == sizes{7, 7});
  CHECK(sizes_of<12>(15) == sizes{4, 11});
  CHECK(sizes_of<12>(16) == sizes{4, 12});
  CHECK(sizes_of<12>(17) == sizes{7, 10});
  CHECK(sizes_of<12>(24) == sizes{12, 12});
  CHECK(sizes_of<12>(25) == sizes{7, 7, 11});
  CHECK(sizes_of<12>(27) == sizes{7, 10, 10});
  CHECK(sizes_of<6>(7) == sizes{2, 5});
  CHECK(sizes_of<6>(8) == sizes{4, 4});
}

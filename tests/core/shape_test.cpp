#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("a shape knows its extents, rank and size") {
  const glia::shape s{2, 3, 4};
  CHECK(s.rank() == 3);
  CHECK(s.size() == 24);
  CHECK(s[1] == 3);
  CHECK(s.back() == 4);
  CHECK(glia::shape{}.size() == 1);
  CHECK(glia::shape{2, 3} != glia::shape{3, 2});
  CHECK(glia::shape{2} != glia::shape{2, 1});
  CHECK(glia::text(s) == "(2, 3, 4)");
  CHECK(glia::text(glia::shape{784}) == "(784,)");
}

TEST_CASE("batches and samples convert into each other") {
  CHECK(glia::batch_of(5, {2, 3}) == glia::shape{5, 2, 3});
  CHECK(glia::sample_of({5, 2, 3}) == glia::shape{2, 3});
  CHECK(glia::row_count({5, 2, 3}) == 10);
  CHECK(glia::text(glia::batch_text({5, 28, 28})) == "(N, 28, 28)");
}

TEST_CASE("a shape of too many axes is refused") {
  CHECK_THROWS_AS((glia::shape{1, 2, 3, 4, 5, 6, 7}), glia::shape_error);
}

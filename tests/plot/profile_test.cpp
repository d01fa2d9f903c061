#include <glia/plot/profile.hpp>

#include "catch.hpp"
#include "helpers.hpp"

namespace plot = glia::plot;
using test::contains;

TEST_CASE("a profile's chart has the longest layers by name, and the others together") {
  glia::profile found;
  found.steps = 2;
  for (int i = 0; i < 5; ++i) {
    glia::profile_entry e;
    e.layer = "layer_" + std::to_string(i);
    e.phase = glia::step_phase::backward;
    e.seconds = 0.002 * (i + 1);
    found.entries.push_back(e);
  }
  found.activities.emplace_back("data", 0.02);
  const std::string drawn = plot::svg(plot::profile_chart(found, {.max_layers = 3}));
  CHECK(contains(drawn, "layer_3"));
  CHECK(contains(drawn, "layer_4"));
  CHECK(contains(drawn, "data"));
  CHECK(contains(drawn, "other layers"));
  CHECK_FALSE(contains(drawn, "layer_2"));
  // 0.02 s in two steps are 10 ms of one; of the three shortest layers, 2 + 4 + 6 ms in two.
  CHECK(contains(drawn, ">10.0<"));
  CHECK(contains(drawn, ">6.00<"));
  const std::string complete = plot::svg(plot::profile_chart(found));
  CHECK(contains(complete, "layer_0"));
  CHECK_FALSE(contains(complete, "other layers"));
  CHECK_THROWS_AS(plot::profile_chart(glia::profile{}), glia::value_error);
}

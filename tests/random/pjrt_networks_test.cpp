#include <cstdint>
#include <glia/pjrt.hpp>
#include <string>

#include "catch.hpp"
#include "pjrt/plugins.hpp"
#include "random/seeds.hpp"
#include "random/trial.hpp"

using namespace test::random;

TEST_CASE("random networks on XLA's plugins give the reference's numbers") {
  const auto plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  const seed_range range = seeds(2);
  for (const std::string& plugin : plugins) {
    const glia::pjrt<float> device(test::without_cache(plugin));
    for (std::uint64_t seed = range.first; seed < range.first + range.count; ++seed) {
      const trial t = draw_trial(seed, {.largest_extent = 6, .most_channels = 9}, 9);
      INFO(plugin << ", seed " << seed << ": " << t.subject.net.description() << " on "
                  << t.subject.sample);
      const results exact = exact_results(t);
      network_on<float> net(t.subject, exact_model(t, 0), device);
      check_near<float>(t, exact, &results::predictions,
                        as_numbers(net.predict(t.values, t.samples)));
      check_near<float>(t, exact, &results::trained, as_numbers(net.train(t.batches)));
    }
  }
}

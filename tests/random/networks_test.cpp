#include <cstddef>
#include <cstdint>
#include <glia/glia.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "random/seeds.hpp"
#include "random/trial.hpp"

// Random networks on the cpu, as they are predicted with and trained, beside the reference in
// double.
namespace {

using namespace test::random;

/// One of those that this processor has; networks take turns.
glia::cpu_loops::isa instruction_set(std::uint64_t seed) {
  const auto best = static_cast<std::uint64_t>(glia::cpu_loops::best_isa());
  return static_cast<glia::cpu_loops::isa>(best - seed % (best + 1));
}

/// A network's numbers in one precision: bits that do not depend on threads, near the reference.
template <class T>
void check_on_cpu(const trial& t, const results& exact) {
  const auto level = instruction_set(t.seed);
  INFO("instruction set " << static_cast<int>(level) << ", elements of " << sizeof(T) << " bytes");
  const auto like = exact_model(t, 0);
  network_on<T> single(t.subject, like, glia::cpu<T>({.threads = 1, .isa = level}));
  const std::vector<T> alone = single.predict(t.values, t.samples);
  const std::vector<T> alone_trained = single.train(t.batches);
  for (const std::size_t threads : {2U, 3U, 8U}) {
    INFO(threads << " threads");
    network_on<T> several(t.subject, like, glia::cpu<T>({.threads = threads, .isa = level}));
    CHECK(same_bits(several.predict(t.values, t.samples), alone));
    CHECK(same_bits(several.train(t.batches), alone_trained));
  }
  check_near<T>(t, exact, &results::predictions, as_numbers(alone));
  // Gradients that explode, as those of a long recurrence can, do not fit a float on their way.
  constexpr double exploded = 1e15;
  if (sizeof(T) == sizeof(double) || exact.steepest < exploded) {
    check_near<T>(t, exact, &results::trained, as_numbers(alone_trained));
  }
  network_on<T> level_by_level(t.subject, like, glia::cpu<T>({.threads = 2, .isa = level}),
                               {.depth_first = false});
  check_near<T>(t, exact, &results::predictions,
                as_numbers(level_by_level.predict(t.values, t.samples)));
}

/// What a network throws is a failure of its own: the others are still looked at.
void check_network(std::uint64_t seed, const draw_options& options, std::size_t most_samples) {
  const trial t = draw_trial(seed, options, most_samples);
  INFO("seed " << seed << ": " << t.subject.net.description() << " on " << t.subject.sample << ", "
               << t.samples << " samples");
  std::string thrown;
  try {
    const results exact = exact_results(t);
    check_on_cpu<double>(t, exact);
    check_on_cpu<float>(t, exact);
  } catch (const std::exception& e) {
    thrown = e.what();
  }
  CHECK(thrown == "");
}

}  // namespace

TEST_CASE("random networks on the cpu give the reference's numbers, whatever the threads") {
  const seed_range range = seeds(400);
  for (std::uint64_t seed = range.first; seed < range.first + range.count; ++seed) {
    check_network(seed, {}, 17);
  }
}

// Batches that are cut into tiles, of which each thread takes one at a time.
TEST_CASE("random networks of large images and batches do, too") {
  const seed_range range = seeds(12);
  for (std::uint64_t seed = range.first; seed < range.first + range.count; ++seed) {
    check_network(seed, {.largest_extent = 24, .most_channels = 40}, 40);
  }
}

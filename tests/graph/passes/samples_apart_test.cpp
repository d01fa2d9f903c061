#include <glia/graph/passes.hpp>
#include <glia/graph/uses.hpp>

#include "catch.hpp"
#include "graph/recorded_convolution.hpp"
#include "helpers.hpp"

namespace {

using glia::real_of;

/// Whether the last node of a graph keeps the samples of the first input apart.
bool last_keeps_apart(const glia::graph& g) {
  std::vector<bool> of_samples = glia::detail::fixed_values(g, {0});
  of_samples.flip();
  return glia::passes::keeps_samples_apart(g, g.nodes().back(), of_samples);
}

}  // namespace

TEST_CASE("a convolution and an activation keep samples apart, a sum over them does not") {
  const test::recorded_convolution c;
  CHECK(last_keeps_apart(c.rec.recorded()));
  const auto y = c.unary(glia::relu.map, c.y);
  CHECK(last_keeps_apart(c.rec.recorded()));
  (void)c.rec.run(kernels::sum_to{{4}}, y);
  CHECK_FALSE(last_keeps_apart(c.rec.recorded()));
}

TEST_CASE("a product whose weights are computed from the samples does not keep them apart") {
  const glia::recorder rec;
  const auto x = rec.input("x", real_of({3, 3}));
  const auto w = rec.input("w", real_of({3, 3}));
  (void)rec.run(kernels::dense{}, x, w, glia::tensor{});
  CHECK(last_keeps_apart(rec.recorded()));
  (void)rec.run(kernels::dense{}, w, x, glia::tensor{});
  CHECK_FALSE(last_keeps_apart(rec.recorded()));
}

TEST_CASE("a step mixes samples if its forward part normalizes over the batch") {
  const auto mixes = [](bool normalized, glia::step_phase phase) {
    const glia::recorder rec;
    auto x = rec.samples("x", real_of({8, 3}));
    const auto gamma = rec.input("gamma", real_of({3}));
    const auto beta = rec.input("beta", real_of({3}));
    rec.set_place("layer", phase);
    if (normalized) {
      x = rec.run(kernels::normalize{glia::normalization::batch, 1e-3}, x, gamma, beta)[0];
    }
    rec.output("y", rec.run(kernels::unary{glia::relu.map}, x));
    return glia::passes::mixes_samples(rec.recorded());
  };
  CHECK(mixes(true, glia::step_phase::forward));
  CHECK_FALSE(mixes(true, glia::step_phase::backward));
  CHECK_FALSE(mixes(false, glia::step_phase::forward));
}

#include <glia/pjrt.hpp>
#include <glia/pjrt/target.hpp>
#include <xtensor/xbuilder.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "pjrt/plugins.hpp"

namespace {

using test::contains;
using test::message_of;

const glia::sequential network{
    glia::conv2d{.filters = 4, .kernel_size = {3, 3}, .activation = glia::relu},
    glia::max_pool2d{{2, 2}},
    glia::batch_norm{},
    glia::dropout{0.3},
    glia::flatten{},
    glia::dense{10}};
const glia::labeled_arrays digits(xt::zeros<float>({16, 12, 12, 1}), xt::zeros<std::int32_t>({16}));

/// What a training on the target compiles.
std::vector<glia::target_program> programs_for(const glia::pjrt_target_options& options) {
  const glia::pjrt_target target(options);
  glia::model net{network, {12, 12, 1}, target};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
  const glia::history h =
      trainer.fit(digits, digits, {.epochs = 2, .batch_size = 8, .progress = nullptr});
  CHECK(h.compilations.compiled == target.programs().size());
  return target.programs();
}

}  // namespace

TEST_CASE("a training compiles for a GPU that is not there") {
  const std::string plugin = test::cuda_plugin();
  if (plugin.empty()) {
    GLIA_SKIP("no CUDA plugin; run tests/pjrt/setup");
  }
  const auto programs = programs_for({.plugin = plugin, .settings = test::h200_settings()});
  REQUIRE(programs.size() == 2);
  for (const glia::target_program& p : programs) {
    CHECK(p.seconds > 0);
    CHECK(p.argument_bytes > 0);
    CHECK(p.bytes() > p.argument_bytes);
    CHECK(p.flops() > 1e4);
    CHECK(contains(p.module, "stablehlo.convolution"));
    CHECK_FALSE(p.executable.empty());
  }
  // Parameters and slots are written over where they are, but for the statistics, which have none.
  const glia::target_program& step = programs.front();
  std::int64_t state = 0;
  for (const glia::graph_input& input : step.calls.inputs()) {
    state += input.changes()
                 ? 4 * static_cast<std::int64_t>(step.calls.spec(input.value).shape.size())
                 : 0;
  }
  CHECK(step.shared_bytes == state);
  CHECK(contains(
      message_of<glia::device_error>([&] {
        (void)glia::pjrt_target({.plugin = plugin, .settings = {{"target_config", "no figures"}}});
      }),
      "cannot describe the target ''"));
}

TEST_CASE("a training compiles for TPUs that are not there, with a libtpu that is given") {
  const char* const plugin = std::getenv("GLIA_LIBTPU");
  if (plugin == nullptr) {
    GLIA_SKIP("no libtpu; its license leaves getting it to you: GLIA_LIBTPU=/path/of/libtpu.so");
  }
  for (const auto& [topology, devices] :
       {std::pair("v2:2x2", 1), std::pair("v2:2x2", 8), std::pair("v5e:2x4", 8)}) {
    INFO(topology << ", " << devices);
    const auto programs = programs_for(
        {.plugin = plugin, .topology = topology, .devices = static_cast<std::size_t>(devices)});
    CHECK(programs.size() == 2);
    for (const glia::target_program& p : programs) {
      CHECK(p.bytes() > 0);
      CHECK(contains(p.module, "mhlo.sharding") == (devices > 1));
    }
  }
}

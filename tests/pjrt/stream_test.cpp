#include <glia/models/stream.hpp>
#include <glia/models/zoo/gpt.hpp>
#include <glia/pjrt.hpp>
#include <vector>
#include <xtensor/xview.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "pjrt/plugins.hpp"

TEST_CASE("a stream on a device gives the outputs of the whole sequence, and copies are apart") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  const glia::gpt network{.vocabulary_size = 11,
                          .sequence_length = 16,
                          .num_layers = 2,
                          .num_heads = 2,
                          .embedding_dim = 12,
                          .use_rotary_embedding = true,
                          .kernel_initializer = glia::random_normal(0, 0.5)};
  xt::xarray<float> x = xt::zeros<float>({2, 16});
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.flat(i) = static_cast<float>(i * i % 11);
  }
  const xt::xarray<float> expected = glia::model{network, {16}}.predict(x);
  for (const std::string& plugin : plugins) {
    INFO(plugin);
    const glia::model net{network, {16}, glia::pjrt({.plugin = plugin})};
    const glia::stream step{net, {.batch_size = 2}};
    glia::stream_state state = step.start();
    xt::xarray<float> y = xt::zeros<float>({2, 16, 11});
    const auto run = [&](std::size_t begin, std::size_t end, glia::stream_state& at) {
      const xt::xarray<float> block = xt::view(x, xt::all(), xt::range(begin, end));
      xt::view(y, xt::all(), xt::range(begin, end)) = step(block, at);
    };
    run(0, 5, state);
    glia::stream_state copy = state;
    run(5, 6, state);
    run(5, 16, copy);
    CHECK(state.steps == 6);
    double worst = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      worst = std::max(worst, std::abs(static_cast<double>(y.flat(i) - expected.flat(i))));
    }
    CHECK(worst < 1e-4);
  }
}

#include <glia/backends/reference.hpp>
#include <glia/models/model_file.hpp>
#include <glia/models/open.hpp>
#include <glia/models/zoo/gpt.hpp>

#include "fuzz/fuzz.hpp"

// Descriptions of networks in model files: see `glia::open`.

namespace {

using namespace glia;

template <class Layers>
fuzz::bytes seed(const Layers& layers, const shape& sample) {
  const std::string text = detail::network_text(layers, sample);
  return {text.begin(), text.end()};
}

}  // namespace

std::vector<fuzz::bytes> fuzz::seeds() {
  const sequential images{conv2d{.filters = 2, .kernel_size = {3, 2}, .padding = same},
                          batch_norm{},
                          relu,
                          max_pool2d{},
                          flatten{},
                          dense{2, leaky_relu(0.5)}};
  const sequential sequences{
      positional_encoding{}, residual{time_distributed{dense{3}}},
      multi_head_attention{.num_heads = 1, .key_dim = 2, .use_causal_mask = true},
      bidirectional(gru{.units = 2})};
  const inputs named_parts{join::add{}, input{"a", {2}, dense{3}}, input{"b", {1}, dense{3}}};
  const gpt language{.vocabulary_size = 5,
                     .sequence_length = 4,
                     .num_layers = 1,
                     .num_heads = 1,
                     .embedding_dim = 4};
  return {
      seed(images, {4, 4, 2}), seed(sequences, {4, 3}), seed(named_parts, {3}), seed(language, {4}),
      seed(sequential{upsample2d{.interpolation = interpolation::bilinear}, crop2d{1}}, {4, 4, 1})};
}

void fuzz::check(byte_view input) {
  static const glia::reference<float> target;
  const std::string description(input.begin(), input.end());
  const detail::stored_network network =
      detail::read_network("file", {{"glia.network", description}}, {});
  // Reading what was written gives the same network.
  const std::string written = detail::network_text(network.layers, network.sample);
  const detail::stored_network again =
      detail::read_network("file", {{"glia.network", written}}, {});
  require(detail::network_text(again.layers, again.sample) == written,
          "a description is not written as it was read");
  // Planning a network of sequences on this device costs time for each step.
  std::size_t extents = 1;
  for (const std::size_t extent : network.sample) {
    extents *= std::min<std::size_t>(extent, 1000);
  }
  if (extents <= 1000) {
    static_cast<void>(detail::plan_network("file", network, target));
  }
}

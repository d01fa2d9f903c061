#pragma once

#include <filesystem>
#include <glia/glia.hpp>
#include <glia/io/safetensors.hpp>
#include <glia/models/zoo/mobilenet_v2_names.hpp>
#include <string>

/// MobileNetV2 without its classifier, all stages frozen but the last `trained_blocks` and the head
/// (0: all frozen), then dropout and one unit for each class.
inline auto flowers_network(const glia::mobilenet_v2& features, std::size_t trained_blocks,
                            std::size_t classes) {
  constexpr std::size_t stage_count = glia::mobilenet_v2::stage_count;
  const std::size_t border = trained_blocks == 0 ? stage_count : stage_count - 1 - trained_blocks;
  return glia::sequential{glia::frozen{features.stages(0, border)},
                          features.stages(border, stage_count), glia::dropout{0.4},
                          glia::dense{classes}};
}

/// What a file of weights holds: this network with batch normalization or with it folded into the
/// convolutions, under its own names or torchvision's, or a whole network that was saved.
struct weights {
  glia::tensor_map tensors;
  bool saved = false;
  bool torchvision = false;
  glia::mobilenet_v2 features;

  explicit weights(const std::filesystem::path& path)
      : tensors(glia::read_safetensors(path)),
        saved(tensors.contains("stem.conv.kernel")),
        torchvision(tensors.contains("features.0.0.weight")),
        features(
            {.use_batch_norm = torchvision || tensors.contains("stem.conv.normalization.gamma")}) {}

  template <class Model>
  void load_into(Model& net) const {
    glia::load_parameters(net, tensors,
                          saved         ? glia::same_names(net)
                          : torchvision ? glia::torchvision_names(features)
                                        : glia::folded_names(features));
  }
};

/// Small enough to be trained from nothing on a few hundred drawings.
inline glia::mobilenet_v2 demo_network() { return glia::mobilenet_v2({.width = 0.35}); }

/// What is computed once for each photo; beyond some 10,000 features a photo it goes to a file.
inline const glia::frozen_output_options feature_store{.storage = {.memory_limit = 200 << 20}};

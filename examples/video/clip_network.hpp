#pragma once

#include <cstddef>
#include <filesystem>
#include <glia/glia.hpp>
#include <glia/io/hdf5.hpp>
#include <glia/models/zoo/keras_names.hpp>
#include <glia/models/zoo/resnet_v2.hpp>

/// A residual network for the frames of clips, without its classifier, cut where the last 24 of
/// Keras's layers begin: what stands before them is frozen.
class frame_network {
 public:
  explicit frame_network(glia::zoo_network network)
      : network_(std::move(network)), border_(network_.stage_of("conv5_block2_preact_bn")) {}

  [[nodiscard]] glia::zoo_network frozen() const { return network_.stages(0, border_); }
  /// To feature maps: the last stage is the mean over all positions.
  [[nodiscard]] glia::zoo_network trained() const {
    return network_.stages(border_, network_.stage_count() - 1);
  }

 private:
  glia::zoo_network network_;
  std::size_t border_;
};

/// What Keras trained, where a file is given; all else stays as it is.
template <class Model>
void load_frame_weights(Model& net, const glia::zoo_network& part,
                        const std::filesystem::path& path) {
  if (!path.empty()) {
    const glia::tensor_map tensors = glia::read_hdf5(path);
    glia::load_parameters(net, tensors, glia::keras_names(part, tensors));
  }
}

/// Clips (T, H, W, C) to logits: layers that run on each frame, the largest value of each feature
/// in it, and then in which order these come.
template <class FrameLayers>
[[nodiscard]] auto clip_network(FrameLayers layers, std::size_t units, std::size_t classes) {
  constexpr double rate = 0.5;
  return glia::sequential{
      glia::time_distributed{glia::sequential{std::move(layers), glia::global_max_pool2d{}}},
      glia::gru{.units = units},
      glia::dense{1024, glia::relu},
      glia::dropout{rate},
      glia::dense{512, glia::relu},
      glia::dropout{rate},
      glia::dense{128, glia::relu},
      glia::dropout{rate},
      glia::dense{64, glia::relu},
      glia::dense{classes},
  };
}

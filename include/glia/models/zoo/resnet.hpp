#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "glia/models/zoo/zoo_network.hpp"
#include "glia/models/zoo/zoo_options.hpp"

namespace glia {

/// The numbers of blocks in the four groups of a residual network. Each group after the first
/// halves the image size.
using resnet_blocks = std::array<std::size_t, 4>;

namespace detail {

/// The position, size and name of a block in a residual network.
struct resnet_place {
  std::size_t group = 0;    ///< Index of the group.
  std::size_t block = 0;    ///< Index in the group.
  bool last = false;        ///< Whether the block is the last of the group.
  std::size_t filters = 0;  ///< Filters of the first convolutions of the block, for a width of 1.
  std::string name;         ///< Name, such as "conv2_block1".
};

/// Adds a stage for each block. block(place, x) adds the layers of a block after the output x.
template <class Block>
[[nodiscard]] std::size_t add_blocks(zoo_network& net, const resnet_blocks& blocks, std::size_t x,
                                     const Block& block) {
  std::size_t filters = 64;
  for (std::size_t group = 0; group < blocks.size(); ++group, filters *= 2) {
    for (std::size_t i = 0; i < blocks[group]; ++i) {
      x = block(
          {group, i, i + 1 == blocks[group], filters, text("conv", group + 2, "_block", i + 1)}, x);
      net.end_stage();
    }
  }
  return x;
}

/// Adds the layers of a residual network whose blocks end in an activation.
class resnet_writer {
 public:
  resnet_writer(std::string name, const zoo_options& options, zoo_form form)
      : net_(std::move(name), form),
        options_(options),
        keras_(form == zoo_form::keras),
        normalization_(keras_ ? batch_norm{.momentum = 0.99, .epsilon = 1.001e-5}
                              : batch_norm{.momentum = 0.9, .epsilon = 1e-5}) {
    require_width(net_.name(), options);
  }

  [[nodiscard]] zoo_network write(const resnet_blocks& blocks) && {
    std::size_t x = activated("conv1", 64, {.kernel_size = 7, .strides = 2, .padding = 3}, 0);
    // Keras pads with zeros. After a ReLU, this gives the same maxima.
    x = net_.add("pool1_pool", max_pool2d{.pool_size = 3, .strides = 2, .padding = 1}, x);
    net_.end_stage();
    x = add_blocks(net_, blocks, x, [this](const resnet_place& place, std::size_t y) {
      return block(place, place.block == 0 && place.group > 0 ? 2 : 1, y);
    });
    add_top(net_, x, options_);
    return std::move(net_);
  }

 private:
  struct window {
    extent2d kernel_size;
    extent2d strides = 1;
    padding2d padding = 0;
  };

  [[nodiscard]] std::size_t block(const resnet_place& place, std::size_t stride, std::size_t x) {
    const std::size_t first = keras_ ? stride : 1;
    const std::size_t shortcut = place.block == 0
                                     ? normalized(place.name + "_0", 4 * place.filters,
                                                  {.kernel_size = 1, .strides = stride}, x)
                                     : x;
    std::size_t y =
        activated(place.name + "_1", place.filters, {.kernel_size = 1, .strides = first}, x);
    y = activated(place.name + "_2", place.filters,
                  {.kernel_size = 3, .strides = stride / first, .padding = 1}, y);
    y = normalized(place.name + "_3", 4 * place.filters, {.kernel_size = 1}, y);
    y = net_.add(place.name + "_add", join::add{}, {y, shortcut});
    return net_.add(place.name + "_out", relu, y);
  }

  std::size_t activated(const std::string& name, std::size_t filters, const window& w,
                        std::size_t x) {
    return net_.add(name + "_relu", relu, normalized(name, filters, w, x));
  }
  std::size_t normalized(const std::string& name, std::size_t filters, const window& w,
                         std::size_t x) {
    const conv2d convolution{.filters = scaled_channels(filters, options_),
                             .kernel_size = w.kernel_size,
                             .strides = w.strides,
                             .padding = w.padding,
                             .use_bias = keras_,
                             .kernel_initializer = he_normal()};
    return net_.add(name + "_bn", normalization_, net_.add(name + "_conv", convolution, x));
  }

  zoo_network net_;
  zoo_options options_;
  bool keras_;
  batch_norm normalization_;
};

[[nodiscard]] inline zoo_network make_resnet(std::string name, const resnet_blocks& blocks,
                                             const zoo_options& options, zoo_form form) {
  return resnet_writer(std::move(name), options, form).write(blocks);
}

}  // namespace detail

/// A residual network (ResNet) with bottleneck blocks. It maps images (N, H, W, 3) to features (N,
/// 2048 * width), where `width` is an option, or to the logits of a classifier.
///
///     const auto net = glia::resnet50();
///     const std::size_t border = net.stage_of("conv5_block1_1_conv");
///     glia::sequential{glia::frozen{net.stages(0, border)},
///                      net.stages(border, net.stage_count()), glia::dense{5}}
///
/// It is designed for images of 224x224, and accepts any size. There are two variants:
///
/// - Keras: convolutions have biases, and the first convolution of a block halves the image, as in
///   the paper. Images are BGR with values from 0 to 255, minus the means 103.939, 116.779 and
///   123.68.
/// - torchvision (v1.5): convolutions have no biases, and the 3x3 convolution of a block halves the
///   image. Images are RGB with values from 0 to 1, minus the means 0.485, 0.456 and 0.406, divided
///   by the standard deviations 0.229, 0.224 and 0.225.
///
/// The stages are the stem, each block, and the top (global average pooling and the classifier).
/// Without the top, the outputs are feature maps. In both variants, parameters have Keras's names,
/// such as conv2_block1_1_conv.kernel and conv2_block1_1_bn.gamma.
///
/// Throws `value_error` if the width is not positive.
///
/// Source: He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", CVPR 2016, table
/// 1.
[[nodiscard]] inline zoo_network resnet(const resnet_blocks& blocks,
                                        const zoo_options& options = {},
                                        zoo_form form = zoo_form::keras) {
  return detail::make_resnet("resnet", blocks, options, form);
}

/// ResNet-50, the `resnet` with 50 layers. With 1,000 classes, the Keras variant has 25,636,712
/// parameters, including running statistics.
[[nodiscard]] inline zoo_network resnet50(const zoo_options& options = {},
                                          zoo_form form = zoo_form::keras) {
  return detail::make_resnet("resnet50", {3, 4, 6, 3}, options, form);
}

/// ResNet-101, the `resnet` with 101 layers. With 1,000 classes, the Keras variant has 44,707,176
/// parameters, including running statistics.
[[nodiscard]] inline zoo_network resnet101(const zoo_options& options = {},
                                           zoo_form form = zoo_form::keras) {
  return detail::make_resnet("resnet101", {3, 4, 23, 3}, options, form);
}

/// ResNet-152, the `resnet` with 152 layers. With 1,000 classes, the Keras variant has 60,419,944
/// parameters, including running statistics.
[[nodiscard]] inline zoo_network resnet152(const zoo_options& options = {},
                                           zoo_form form = zoo_form::keras) {
  return detail::make_resnet("resnet152", {3, 8, 36, 3}, options, form);
}

}  // namespace glia

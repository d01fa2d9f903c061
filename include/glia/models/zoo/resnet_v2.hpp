#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "glia/models/zoo/resnet.hpp"
#include "glia/models/zoo/zoo_network.hpp"
#include "glia/models/zoo/zoo_options.hpp"

namespace glia {

namespace detail {

/// Adds the layers of a residual network whose blocks begin with normalization and activation.
class resnet_v2_writer {
 public:
  resnet_v2_writer(std::string name, const zoo_options& options)
      : net_(std::move(name)), options_(options) {
    require_width(net_.name(), options);
  }

  [[nodiscard]] zoo_network write(const resnet_blocks& blocks) && {
    std::size_t x = convolution(
        "conv1", 64, {.kernel_size = 7, .strides = 2, .padding = 3, .use_bias = true}, 0);
    // Zeros are padded explicitly: a padded zero can be the maximum here, but max-pooling ignores
    // its own padding.
    x = net_.add("pool1_pad", zero_pad2d{1}, x);
    x = net_.add("pool1_pool", max_pool2d{.pool_size = 3, .strides = 2}, x);
    net_.end_stage();
    x = add_blocks(net_, blocks, x, [&](const resnet_place& place, std::size_t y) {
      return block(place, place.last && place.group + 1 < blocks.size() ? 2 : 1, y);
    });
    x = activated("post", x);
    net_.end_stage();
    add_top(net_, x, options_);
    return std::move(net_);
  }

 private:
  struct window {
    extent2d kernel_size;
    extent2d strides = 1;
    padding2d padding = 0;
    bool use_bias = false;
  };

  [[nodiscard]] std::size_t block(const resnet_place& place, std::size_t stride, std::size_t x) {
    const std::size_t preact = activated(place.name + "_preact", x);
    const std::size_t shortcut =
        place.block == 0
            ? convolution(place.name + "_0", 4 * place.filters,
                          {.kernel_size = 1, .strides = stride, .use_bias = true}, preact)
        : stride == 1
            ? x
            : net_.add(place.name + "_0_pool", max_pool2d{.pool_size = 1, .strides = stride}, x);
    std::size_t y = convolution(place.name + "_1", place.filters, {.kernel_size = 1}, preact);
    y = activated(place.name + "_1", y);
    y = convolution(place.name + "_2", place.filters,
                    {.kernel_size = 3, .strides = stride, .padding = 1}, y);
    y = activated(place.name + "_2", y);
    y = convolution(place.name + "_3", 4 * place.filters, {.kernel_size = 1, .use_bias = true}, y);
    return net_.add(place.name + "_out", join::add{}, {y, shortcut});
  }

  std::size_t activated(const std::string& name, std::size_t x) {
    x = net_.add(name + "_bn", batch_norm{.momentum = 0.99, .epsilon = 1.001e-5}, x);
    return net_.add(name + "_relu", relu, x);
  }
  std::size_t convolution(const std::string& name, std::size_t filters, const window& w,
                          std::size_t x) {
    const conv2d convolution{.filters = scaled_channels(filters, options_),
                             .kernel_size = w.kernel_size,
                             .strides = w.strides,
                             .padding = w.padding,
                             .use_bias = w.use_bias,
                             .kernel_initializer = he_normal()};
    return net_.add(name + "_conv", convolution, x);
  }

  zoo_network net_;
  zoo_options options_;
};

[[nodiscard]] inline zoo_network make_resnet_v2(std::string name, const resnet_blocks& blocks,
                                                const zoo_options& options) {
  return resnet_v2_writer(std::move(name), options).write(blocks);
}

}  // namespace detail

/// A pre-activation residual network (ResNet v2), as in Keras. It maps images (N, H, W, 3) to
/// features (N, 2048 * width), where `width` is an option, or to the logits of a classifier.
///
/// It is designed for RGB images of 224x224 with values from -1 to 1, and accepts any size.
///
/// The stages are the stem, each block, the normalization and activation after the blocks, and the
/// top (global average pooling and the classifier). Without the top, the outputs are feature maps.
/// Parameters have Keras's names, such as conv2_block1_preact_bn.gamma.
///
/// Keras counts each convolution, normalization, activation and padding as a layer. The last 24
/// layers of Keras's network with include_top=False are conv5_block2 (11 layers), conv5_block3 (11
/// layers), post_bn and post_relu. In Keras, `layers[:-24]` therefore ends with conv5_block1, for
/// every depth. This model trains these 24 layers and your own classifier:
///
///     const auto net = glia::resnet152_v2();
///     const std::size_t border = net.stage_of("conv5_block2_preact_bn");
///     glia::sequential{glia::frozen{net.stages(0, border)},
///                      net.stages(border, net.stage_count()), glia::dense{5}}
///
/// Throws `value_error` if the width is not positive.
///
/// Source: He, Zhang, Ren and Sun, "Identity Mappings in Deep Residual Networks", ECCV 2016.
[[nodiscard]] inline zoo_network resnet_v2(const resnet_blocks& blocks,
                                           const zoo_options& options = {}) {
  return detail::make_resnet_v2("resnet_v2", blocks, options);
}

/// ResNet-50 v2, the `resnet_v2` with 50 layers. With 1,000 classes, it has 25,613,800 parameters,
/// including running statistics.
[[nodiscard]] inline zoo_network resnet50_v2(const zoo_options& options = {}) {
  return detail::make_resnet_v2("resnet50_v2", {3, 4, 6, 3}, options);
}

/// ResNet-101 v2, the `resnet_v2` with 101 layers. With 1,000 classes, it has 44,675,560
/// parameters, including running statistics.
[[nodiscard]] inline zoo_network resnet101_v2(const zoo_options& options = {}) {
  return detail::make_resnet_v2("resnet101_v2", {3, 4, 23, 3}, options);
}

/// ResNet-152 v2, the `resnet_v2` with 152 layers. With 1,000 classes, it has 60,380,648
/// parameters, including running statistics.
[[nodiscard]] inline zoo_network resnet152_v2(const zoo_options& options = {}) {
  return detail::make_resnet_v2("resnet152_v2", {3, 8, 36, 3}, options);
}

}  // namespace glia

#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "glia/models/zoo/resnet.hpp"
#include "glia/models/zoo/zoo_network.hpp"
#include "glia/models/zoo/zoo_options.hpp"

namespace glia {

namespace detail {

/// Adds the layers of a residual network whose blocks begin with normalisation and activation.
class resnet_v2_writer {
 public:
  resnet_v2_writer(std::string name, const zoo_options& options)
      : net_(std::move(name)), options_(options) {
    require_width(net_.name(), options);
  }

  [[nodiscard]] zoo_network write(const resnet_blocks& blocks) && {
    std::size_t x =
        convolution("conv1", 64, {.kernel = 7, .stride = 2, .padding = 3, .bias = true}, 0);
    // Zeros that win over what is negative, which a pool's own padding would not.
    x = net_.add("pool1_pad", zero_pad2d{1}, x);
    x = net_.add("pool1_pool", max_pool2d{.window = 3, .stride = 2}, x);
    net_.end_stage();
    x = add_blocks(net_, blocks, x, [&](const resnet_place& at, std::size_t y) {
      return block(at, at.last && at.group + 1 < blocks.size() ? 2 : 1, y);
    });
    x = activated("post", x);
    net_.end_stage();
    add_top(net_, x, options_);
    return std::move(net_);
  }

 private:
  struct window {
    extent2d kernel;
    extent2d stride = 1;
    padding2d padding = 0;
    bool bias = false;
  };

  [[nodiscard]] std::size_t block(const resnet_place& at, std::size_t stride, std::size_t x) {
    const std::size_t before = activated(at.name + "_preact", x);
    const std::size_t shortcut =
        at.block == 0 ? convolution(at.name + "_0", 4 * at.filters,
                                    {.kernel = 1, .stride = stride, .bias = true}, before)
        : stride == 1 ? x
                      : net_.add(at.name + "_0_pool", max_pool2d{.window = 1, .stride = stride}, x);
    std::size_t y = convolution(at.name + "_1", at.filters, {.kernel = 1}, before);
    y = activated(at.name + "_1", y);
    y = convolution(at.name + "_2", at.filters, {.kernel = 3, .stride = stride, .padding = 1}, y);
    y = activated(at.name + "_2", y);
    y = convolution(at.name + "_3", 4 * at.filters, {.kernel = 1, .bias = true}, y);
    return net_.add(at.name + "_out", join::add{}, {y, shortcut});
  }

  std::size_t activated(const std::string& name, std::size_t x) {
    x = net_.add(name + "_bn", batch_norm{.momentum = 0.99, .epsilon = 1.001e-5}, x);
    return net_.add(name + "_relu", relu, x);
  }
  std::size_t convolution(const std::string& name, std::size_t filters, const window& w,
                          std::size_t x) {
    const conv2d convolution{.filters = scaled_channels(filters, options_),
                             .kernel = w.kernel,
                             .stride = w.stride,
                             .padding = w.padding,
                             .bias = w.bias,
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

/// A residual network whose shortcuts nothing interrupts, as Keras defines it: images (N, H, W, 3)
/// to features (N, 2048 width), or to the logits of a classifier. He, Zhang, Ren and Sun, "Identity
/// Mappings in Deep Residual Networks", ECCV 2016. Made for 224x224, images RGB, -1 to 1; any
/// extents do.
///
/// Stages: the stem, each block, the normalisation and activation behind the blocks, the top, which
/// is the mean over all positions and the classifier. Without the top it ends in feature maps.
/// Parameters are called as Keras calls the layers: conv2_block1_preact_bn.gamma.
///
/// Keras counts every convolution, normalisation, activation and padding as a layer. The last 24
/// layers of what it gives for include_top=False are the blocks conv5_block2 and conv5_block3 of 11
/// each, post_bn and post_relu: its `layers[:-24]` end with conv5_block1, whatever the depth. To
/// train those 24 and a classifier of one's own:
///
///     const auto net = glia::resnet152_v2();
///     const std::size_t border = net.stage_of("conv5_block2_preact_bn");
///     glia::sequential{glia::frozen{net.stages(0, border)},
///                      net.stages(border, net.stage_count()), glia::dense{5}}
///
/// Throws `value_error` for a width that is not positive.
[[nodiscard]] inline zoo_network resnet_v2(const resnet_blocks& blocks,
                                           const zoo_options& options = {}) {
  return detail::make_resnet_v2("resnet_v2", blocks, options);
}

/// The `resnet_v2` of 50 layers: 25,613,800 parameters for 1,000 classes, running statistics
/// included.
[[nodiscard]] inline zoo_network resnet50_v2(const zoo_options& options = {}) {
  return detail::make_resnet_v2("resnet50_v2", {3, 4, 6, 3}, options);
}

/// The `resnet_v2` of 101 layers: 44,675,560 parameters for 1,000 classes.
[[nodiscard]] inline zoo_network resnet101_v2(const zoo_options& options = {}) {
  return detail::make_resnet_v2("resnet101_v2", {3, 4, 23, 3}, options);
}

/// The `resnet_v2` of 152 layers: 60,380,648 parameters for 1,000 classes.
[[nodiscard]] inline zoo_network resnet152_v2(const zoo_options& options = {}) {
  return detail::make_resnet_v2("resnet152_v2", {3, 8, 36, 3}, options);
}

}  // namespace glia

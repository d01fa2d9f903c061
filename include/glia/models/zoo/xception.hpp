#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "glia/models/zoo/zoo_network.hpp"
#include "glia/models/zoo/zoo_options.hpp"

namespace glia {

namespace detail {

class xception_writer {
 public:
  explicit xception_writer(const zoo_options& options) : options_(options) {
    require_width(net_.name(), options);
  }

  [[nodiscard]] zoo_network write() && {
    std::size_t x = first("block1_conv1", 32, 2, 0);
    x = first("block1_conv2", 64, 1, x);
    net_.end_stage();
    x = halving_block(2, {128, 128}, x);
    x = halving_block(3, {256, 256}, x);
    x = halving_block(4, {728, 728}, x);
    for (std::size_t number = 5; number <= 12; ++number) {
      x = middle_block(number, x);
    }
    x = halving_block(13, {728, 1024}, x);
    x = activated("block14_sepconv1", separable("block14_sepconv1", 1536, x));
    x = activated("block14_sepconv2", separable("block14_sepconv2", 2048, x));
    net_.end_stage();
    add_top(net_, x, options_);
    return std::move(net_);
  }

 private:
  struct channels {
    std::size_t first, second;
  };

  [[nodiscard]] std::size_t first(const std::string& name, std::size_t filters, std::size_t stride,
                                  std::size_t x) {
    return activated(name, convolution(name, filters, 3, stride, valid, x));
  }

  /// Adds a block of two separable convolutions and a pool, with a 1x1 convolution as the shortcut.
  [[nodiscard]] std::size_t halving_block(std::size_t number, const channels& filters,
                                          std::size_t x) {
    const std::string name = text("block", number);
    const std::size_t shortcut = convolution(name + "_shortcut", filters.second, 1, 2, same, x);
    // The input of block 2 already has an activation.
    std::size_t y = number == 2 ? x : activated(name + "_sepconv1", x);
    y = separable(name + "_sepconv1", filters.first, y);
    y = separable(name + "_sepconv2", filters.second, activated(name + "_sepconv2", y));
    y = net_.add(name + "_pool", max_pool2d{.pool_size = 3, .strides = 2, .padding = same}, y);
    return sum(name, y, shortcut);
  }

  /// Adds a residual block of three separable convolutions.
  [[nodiscard]] std::size_t middle_block(std::size_t number, std::size_t x) {
    const std::string name = text("block", number);
    std::size_t y = x;
    for (const char* part : {"_sepconv1", "_sepconv2", "_sepconv3"}) {
      y = separable(name + part, 728, activated(name + part, y));
    }
    return sum(name, y, x);
  }

  [[nodiscard]] std::size_t sum(const std::string& name, std::size_t y, std::size_t shortcut) {
    y = net_.add(name + "_add", join::add{}, {y, shortcut});
    net_.end_stage();
    return y;
  }
  [[nodiscard]] std::size_t activated(const std::string& name, std::size_t x) {
    return net_.add(name + "_act", relu, x);
  }
  [[nodiscard]] std::size_t separable(const std::string& name, std::size_t filters, std::size_t x) {
    const separable_conv2d convolution{.filters = scaled_channels(filters, options_),
                                       .kernel_size = 3,
                                       .padding = same,
                                       .use_bias = false,
                                       .depthwise_initializer = he_normal(),
                                       .pointwise_initializer = he_normal()};
    return normalized(name, net_.add(name, convolution, x));
  }
  [[nodiscard]] std::size_t convolution(const std::string& name, std::size_t filters,
                                        extent2d kernel, extent2d stride, const padding2d& padding,
                                        std::size_t x) {
    const conv2d convolution{.filters = scaled_channels(filters, options_),
                             .kernel_size = kernel,
                             .strides = stride,
                             .padding = padding,
                             .use_bias = false,
                             .kernel_initializer = he_normal()};
    return normalized(name, net_.add(name, convolution, x));
  }
  [[nodiscard]] std::size_t normalized(const std::string& name, std::size_t x) {
    return net_.add(name + "_bn", batch_norm{.momentum = 0.99, .epsilon = 1e-3}, x);
  }

  zoo_network net_{"xception"};
  zoo_options options_;
};

}  // namespace detail

/// Xception, a network of depthwise separable convolutions, as in Keras. It maps images (N, H, W,
/// 3) to features (N, 2048 * width), where `width` is an option, or to the logits of a classifier.
/// With 1,000 classes, it has 22,910,480 parameters, including running statistics.
///
/// It is designed for RGB images of 299x299 with values from -1 to 1, and accepts any size from
/// 7x7.
///
/// The stages are block1 to block14 and the top (global average pooling and the classifier).
/// Without the top, the outputs are feature maps. Parameters have Keras's names, such as
/// block2_sepconv1.depthwise_kernel and block2_sepconv1_bn.gamma. The shortcuts of the blocks 2, 3,
/// 4 and 13 have names such as block2_shortcut.kernel; in Keras, they have only numbers.
///
/// Throws `value_error` if the width is not positive.
///
/// Source: Chollet, "Xception: Deep Learning with Depthwise Separable Convolutions", CVPR 2017,
/// figure 5.
[[nodiscard]] inline zoo_network xception(const zoo_options& options = {}) {
  return detail::xception_writer(options).write();
}

}  // namespace glia

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "glia/models/zoo/zoo_network.hpp"
#include "glia/models/zoo/zoo_options.hpp"

namespace glia {

namespace detail {

class squeezenet_writer {
 public:
  squeezenet_writer(std::string name, const zoo_options& options)
      : net_(std::move(name), zoo_form::torchvision), options_(options) {
    require_width(net_.name(), options);
  }

  struct stem {
    std::size_t filters;
    extent2d kernel;
  };

  /// Writes the network. `pooled` contains the numbers of the modules that pooling follows; conv1
  /// is module 1.
  [[nodiscard]] zoo_network write(const stem& first, const std::array<std::size_t, 3>& pooled) && {
    std::size_t x = convolution("conv1", first.filters, first.kernel, valid, 0, 2);
    constexpr std::array<std::size_t, 8> squeezed{16, 16, 32, 32, 48, 48, 64, 64};
    for (std::size_t number = 1; number <= 9; ++number) {
      if (number > 1) {
        x = fire(text("fire", number), squeezed[number - 2], x);
      }
      if (std::find(pooled.begin(), pooled.end(), number) != pooled.end()) {
        // As in Caffe, a window reaches beyond the last row if no window would cover this row
        // otherwise. The same applies to columns.
        const padding2d reach{0, 1, 0, 1};
        x = net_.add(text("pool", number),
                     max_pool2d{.pool_size = 3, .strides = 2, .padding = reach}, x);
      }
      net_.end_stage();
    }
    if (options_.classes > 0) {
      x = net_.add("drop9", dropout{0.5}, x);
      const conv2d classifier{.filters = options_.classes, .kernel_size = 1, .activation = relu};
      x = net_.add("conv10", classifier, x);
    }
    net_.add("pool10", global_avg_pool2d{}, x);
    net_.end_stage();
    return std::move(net_);
  }

 private:
  /// Adds a fire module: a squeeze layer with `squeezed` filters, followed by 4 * squeezed filters
  /// of 1x1 and 4 * squeezed filters of 3x3.
  [[nodiscard]] std::size_t fire(const std::string& name, std::size_t squeezed, std::size_t x) {
    x = convolution(name + ".squeeze1x1", squeezed, 1, valid, x);
    const std::size_t expand1x1 = convolution(name + ".expand1x1", 4 * squeezed, 1, valid, x);
    const std::size_t expand3x3 = convolution(name + ".expand3x3", 4 * squeezed, 3, 1, x);
    return net_.add(name + ".concat", join::concat{}, {expand1x1, expand3x3});
  }
  [[nodiscard]] std::size_t convolution(const std::string& name, std::size_t filters,
                                        extent2d kernel, const padding2d& padding, std::size_t x,
                                        extent2d stride = 1) {
    const conv2d convolution{.filters = scaled_channels(filters, options_),
                             .kernel_size = kernel,
                             .strides = stride,
                             .padding = padding,
                             .activation = relu,
                             .kernel_initializer = he_normal()};
    return net_.add(name, convolution, x);
  }

  zoo_network net_;
  zoo_options options_;
};

}  // namespace detail

/// SqueezeNet 1.0, a very small convolutional network. It maps images (N, H, W, 3) to features (N,
/// 512 * width), where `width` is an option, or to the logits of a classifier. These logits are
/// never negative. With 1,000 classes, it has 1,248,424 parameters.
///
/// It is designed for RGB images of 224x224, and accepts any size from 21x21. The values are from 0
/// to 1, minus the means 0.485, 0.456 and 0.406, divided by the standard deviations 0.229, 0.224
/// and 0.225.
///
/// The stages are conv1, the modules fire2 to fire9, and the top (the classifier and global average
/// pooling). A pooling layer belongs to the stage of the module before it. Without the top, the
/// outputs are feature maps. Parameters have the authors' names, such as fire2.squeeze1x1.kernel.
///
/// Throws `value_error` if the width is not positive.
///
/// Source: Iandola et al., "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters and <0.5MB
/// model size", 2016, table 1, as in torchvision and in the authors' model.
[[nodiscard]] inline zoo_network squeezenet1_0(const zoo_options& options = {}) {
  return detail::squeezenet_writer("squeezenet1_0", options).write({96, 7}, {1, 4, 8});
}

/// SqueezeNet 1.1, with the accuracy of `squeezenet1_0` and less than half of its operations. Only
/// two things differ: the first convolution is smaller, and the pooling layers come earlier. With
/// 1,000 classes, it has 1,235,496 parameters. It accepts any image size from 17x17.
[[nodiscard]] inline zoo_network squeezenet1_1(const zoo_options& options = {}) {
  return detail::squeezenet_writer("squeezenet1_1", options).write({64, 3}, {1, 3, 5});
}

}  // namespace glia

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/layers/layers.hpp"
#include "glia/ops/arrangement.hpp"

namespace glia {

/// U-Net, a convolutional network for segmentation. It maps images (N, H, W, C) to a class or a
/// mask for each pixel: the outputs are the logits (N, H, W, K) with K = `classes`.
///
///     glia::model net{glia::u_net{.classes = 2, .filters = 16}, {128, 128, 3}};
///
/// The encoder has `depth` levels. A level has two 3x3 convolutions, each followed by ReLU, and a
/// max pooling that halves rows and columns. The number of channels is `filters` at the first level
/// and doubles at each following level. Two more convolutions are at the bottom. Each level of the
/// decoder enlarges its input, concatenates the output of the encoder's level of the same size, and
/// has two 3x3 convolutions with as many channels as this level. A 1x1 convolution computes the
/// logits.
///
/// The network of the paper has 64 filters and a depth of 4. It differs in two things: its
/// convolutions have no padding, so that its outputs are smaller than its inputs, and it has
/// dropout at the end of the encoder. Here, inputs and outputs have the same size.
///
/// Parameters have names such as encoder_0.conv2d_0.kernel, bottom.conv2d_1.kernel,
/// upsampling_0.kernel, decoder_0.conv2d_0.kernel and logits.kernel. Level 0 has the size of the
/// images.
///
/// Throws `shape_error` if the input does not have four axes, or if its rows or columns are
/// not a multiple of 2^depth. Throws `value_error` if `classes`, `filters` or `depth` is outside
/// its range.
///
/// Source: Ronneberger, Fischer and Brox, "U-Net: Convolutional Networks for Biomedical Image
/// Segmentation", MICCAI 2015, figure 1.
struct u_net {
  /// Number of outputs K of a pixel, at least 1: the number of classes for `softmax_dice` and
  /// `softmax_cross_entropy`, or the number of masks for `sigmoid_dice` and
  /// `sigmoid_cross_entropy`. Required.
  std::size_t classes = 0;
  std::size_t filters = 64;  ///< Number of channels of the first level, from 1 to 65,536.
  std::size_t depth = 4;     ///< Number of times that rows and columns are halved, from 1 to 16.
  /// Whether batch normalization follows each 3x3 convolution, before ReLU. It is not in the paper.
  bool use_batch_norm = false;
  /// How the decoder enlarges images: true for `conv2d_transpose` with half of the channels, as in
  /// the paper, false for `upsample2d` with bilinear interpolation, which has no parameters.
  bool use_transpose = true;
  initializer kernel_initializer = he_normal();  ///< Initial values of the kernels.

  using contains_layers = void;
  static constexpr std::string_view stored_type = "u_net";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    expect_fitting(s, x.shape());
    std::size_t index = 0;
    const auto run = [&](const auto& layer) { x = s.run(layer, std::move(x), "u_net", index++); };
    const auto convolve = [&](const std::string& name, std::size_t level) {
      const conv2d convolution{.filters = channels_of(level),
                               .kernel_size = 3,
                               .padding = same,
                               .use_bias = !use_batch_norm,
                               .kernel_initializer = kernel_initializer};
      if (use_batch_norm) {
        run(named{name,
                  sequential{convolution, batch_norm{}, relu, convolution, batch_norm{}, relu}});
      } else {
        run(named{name, sequential{convolution, relu, convolution, relu}});
      }
    };
    std::vector<variable> levels;
    for (std::size_t level = 0; level < depth; ++level) {
      convolve(text("encoder_", level), level);
      levels.push_back(x);
      run(max_pool2d{});
    }
    convolve("bottom", depth);
    for (std::size_t level = depth; level-- > 0;) {
      if (use_transpose) {
        run(named{text("upsampling_", level),
                  conv2d_transpose{.filters = channels_of(level),
                                   .kernel_size = 2,
                                   .strides = 2,
                                   .kernel_initializer = kernel_initializer}});
      } else {
        run(upsample2d{.size = 2, .interpolation = interpolation::bilinear});
      }
      x = ops::concat({std::move(levels[level]), std::move(x)}, 3);
      convolve(text("decoder_", level), level);
    }
    run(named{
        "logits",
        conv2d{.filters = classes, .kernel_size = 1, .kernel_initializer = kernel_initializer}});
    return x;
  }

  [[nodiscard]] std::string description() const {
    return text("u_net(", classes, ", filters ", filters, ", depth ", depth,
                use_batch_norm ? ", batch_norm" : "", use_transpose ? "" : ", bilinear", ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("classes", self.classes);
    visit("filters", self.filters);
    visit("depth", self.depth);
    visit("use_batch_norm", self.use_batch_norm);
    visit("use_transpose", self.use_transpose);
  }

  friend bool operator==(const u_net&, const u_net&) = default;

 private:
  static constexpr std::size_t largest_depth = 16;
  static constexpr std::size_t largest_filters = 1 << 16;

  /// Returns the number of channels of a level; the bottom is the level `depth`.
  [[nodiscard]] std::size_t channels_of(std::size_t level) const { return filters << level; }

  void expect_fitting(const scope& s, const shape& x) const {
    s.expect(x.rank() == 4, "expected images (N, H, W, C) for u_net, got ", batch_text(x));
    s.expect_value(classes > 0, "expected at least 1 class for u_net, got 0; write .classes = 2");
    s.expect_value(filters > 0 && filters <= largest_filters, "expected 1 to ", largest_filters,
                   " filters for u_net, got ", filters);
    s.expect_value(depth > 0 && depth <= largest_depth, "expected a depth of u_net from 1 to ",
                   largest_depth, ", got ", depth);
    const std::size_t unit = std::size_t{1} << depth;
    s.expect(x[1] > 0 && x[2] > 0 && x[1] % unit == 0 && x[2] % unit == 0,
             "expected rows and columns in multiples of ", unit, " for u_net of depth ", depth,
             ", got ", batch_text(x),
             "; resize the images, add zero_pad2d before the network, or use a smaller depth");
  }
};

}  // namespace glia

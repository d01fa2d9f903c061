#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "glia/layers/layers.hpp"
#include "glia/models/zoo/zoo_network.hpp"

namespace glia {

/// The options of `mobilenet_v2`.
struct mobilenet_v2_options {
  /// Factor for the number of channels, above 0. Published weights exist for 0.35 to 1.4.
  double width = 1;
  /// Number of classes. The outputs are then the logits of a classifier. 0: no classifier, and the
  /// outputs are the features.
  std::size_t classes = 0;
  /// Whether batch normalization follows each convolution. Set it to false for weights into which
  /// batch normalization is folded.
  bool use_batch_norm = true;
  padding2d padding = 1;  ///< Padding of the 3x3 convolutions; `same` for weights from Keras.
  /// Batch normalization after each convolution. Weights from Keras need an epsilon of 1e-3.
  batch_norm normalization = {.momentum = 0.9, .epsilon = 1e-5};

  friend bool operator==(const mobilenet_v2_options&, const mobilenet_v2_options&) = default;
};

/// MobileNetV2, a small convolutional network. It maps images (N, H, W, 3) to features (N, F), with
/// F = 1280 for widths up to 1, or to the logits of a classifier.
///
///     const glia::mobilenet_v2 net;
///     glia::sequential{glia::frozen{net.stages(0, 16)}, net.stages(16, 19), glia::dense{5}}
///
/// It is designed for images of 224x224, and accepts any size from 32x32. It is a layer like any
/// other: `frozen{mobilenet_v2{}}` is a feature extractor. It can be divided into stages: the stem,
/// seventeen blocks, and the head. Parameters have names such as blocks.3.expand.kernel and
/// blocks.3.expand.normalization.gamma. The names do not depend on the position of the network in a
/// model.
///
/// Throws `value_error` if the width is not positive, or if a stage does not exist.
///
/// Source: Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", CVPR 2018,
/// table 2.
class mobilenet_v2 {
 public:
  using contains_layers = void;
  static constexpr std::string_view stored_type = "mobilenet_v2";
  static constexpr bool preserves_output_kind = true;

  static constexpr std::size_t stage_count = 19;

  /// A convolution, the optional batch normalization after it, and the activation.
  struct unit {
    std::string name;  ///< Name, such as "blocks.3.expand".
    conv2d convolution;
    std::optional<batch_norm> normalization;
    glia::activation activation;

    friend bool operator==(const unit&, const unit&) = default;
  };

  explicit mobilenet_v2(const mobilenet_v2_options& options = {}) : options_(options) {
    require<value_error>(options.width > 0 && options.width <= largest_width,
                         "mobilenet_v2: expected a positive width of at most ", largest_width,
                         ", got ", options.width);
    add_stages();
  }

  /// A copy of the network with only the stages [first, end). 0 is the stem, 1 to 17 are the
  /// blocks, 18 is the head with the pooling and the classifier. A network without stages returns
  /// its input.
  [[nodiscard]] mobilenet_v2 stages(std::size_t first, std::size_t end) const {
    mobilenet_v2 part = *this;
    part.net_ = net_.stages(first, end);
    return part;
  }

  /// The options that the network was made with.
  [[nodiscard]] const mobilenet_v2_options& options() const { return options_; }

  /// The units of the network's stages, in the order in which they run.
  [[nodiscard]] std::vector<unit> units() const {
    std::vector<unit> result;
    for (std::size_t n = 0; n < net_.nodes().size(); ++n) {
      const auto& [name, layer, inputs] = net_.nodes()[n];
      if (!net_.has(n)) {
        continue;
      }
      if (const auto* convolution = std::get_if<conv2d>(&layer)) {
        result.push_back({name, *convolution, {}, linear});
      } else if (const auto* normalization = std::get_if<batch_norm>(&layer)) {
        result.back().normalization = *normalization;
      } else if (const auto* map = std::get_if<glia::activation>(&layer)) {
        result.back().activation = *map;
      }
    }
    return result;
  }

  [[nodiscard]] variable operator()(scope& s, variable x) const { return net_(s, std::move(x)); }

  [[nodiscard]] std::string description() const {
    const std::size_t first = net_.stages_begin();
    const std::size_t end = net_.stages_end();
    const bool whole = first == 0 && end == stage_count;
    return whole ? text("mobilenet_v2(", options_.width, ')')
                 : text("mobilenet_v2(", options_.width, ", stages ", first, " to ", end, ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    std::size_t first = self.net_.stages_begin();
    std::size_t end = self.net_.stages_end();
    visit("width", self.options_.width);
    visit("classes", self.options_.classes);
    visit("use_batch_norm", self.options_.use_batch_norm);
    visit("padding", self.options_.padding);
    visit("normalization", self.options_.normalization);
    visit("first_stage", first);
    visit("end_stage", end);
    if constexpr (!std::is_const_v<Self>) {
      self = mobilenet_v2(self.options_).stages(first, end);
    }
  }

  friend bool operator==(const mobilenet_v2&, const mobilenet_v2&) = default;

 private:
  static constexpr double largest_width = 1000;

  void add_stages() {
    // Table 2 of the paper: expansion, channels, number of blocks, stride of the first block.
    struct row {
      std::size_t expansion, channels, blocks, stride;
    };
    constexpr std::array<row, 7> rows{{{1, 16, 1, 1},
                                       {6, 24, 2, 2},
                                       {6, 32, 3, 2},
                                       {6, 64, 4, 2},
                                       {6, 96, 3, 1},
                                       {6, 160, 3, 2},
                                       {6, 320, 1, 1}}};
    std::size_t channels = scaled_channels(32);
    std::size_t x = add("stem.conv", channels, {.kernel_size = 3, .strides = 2}, relu6, 0);
    net_.end_stage();
    std::size_t block = 0;
    for (const row& r : rows) {
      for (std::size_t i = 0; i < r.blocks; ++i, ++block) {
        const std::size_t stride = i == 0 ? r.stride : 1;
        const std::size_t outputs = scaled_channels(r.channels);
        x = add_bottleneck(block, r.expansion, {channels, outputs}, stride, x);
        channels = outputs;
      }
    }
    const std::size_t features = options_.width > 1 ? scaled_channels(1280) : 1280;
    x = add("head.conv", features, {.kernel_size = 1}, relu6, x);
    x = net_.add("pool", global_avg_pool2d{}, x);
    if (options_.classes > 0) {
      net_.add("classifier", dense{options_.classes}, x);
    }
    net_.end_stage();
  }

  struct ends {
    std::size_t inputs, outputs;
  };

  /// Adds a block. Its input is added to its output if both have the same shape.
  [[nodiscard]] std::size_t add_bottleneck(std::size_t block, std::size_t expansion,
                                           const ends& channels, std::size_t stride,
                                           std::size_t x) {
    const std::string name = text("blocks.", block, '.');
    const std::size_t inner = channels.inputs * expansion;
    std::size_t y = expansion > 1 ? add(name + "expand", inner, {.kernel_size = 1}, relu6, x) : x;
    y = add(name + "depthwise", inner, {.kernel_size = 3, .strides = stride, .groups = inner},
            relu6, y);
    y = add(name + "project", channels.outputs, {.kernel_size = 1}, linear, y);
    if (stride == 1 && channels.inputs == channels.outputs) {
      y = net_.add(name + "add", join::add{}, {y, x});
    }
    net_.end_stage();
    return y;
  }

  struct window {
    extent2d kernel_size;
    extent2d strides = 1;
    std::size_t groups = 1;
  };

  /// Adds a unit and returns the number of its output.
  [[nodiscard]] std::size_t add(const std::string& name, std::size_t filters, const window& w,
                                const glia::activation& map, std::size_t x) {
    x = net_.add(name,
                 conv2d{.filters = filters,
                        .kernel_size = w.kernel_size,
                        .strides = w.strides,
                        .padding = w.kernel_size == 1 ? padding2d(valid) : options_.padding,
                        .groups = w.groups,
                        .use_bias = !options_.use_batch_norm,
                        .kernel_initializer = he_normal()},
                 x);
    if (options_.use_batch_norm) {
      x = net_.add(name + ".normalization", options_.normalization, x);
    }
    return map == linear ? x : net_.add(text(name, '.', map), map, x);
  }

  /// Returns the number of channels times the width, rounded to the nearest multiple of 8 as in the
  /// paper's code. If this rounds down by more than a tenth, the next larger multiple is returned.
  [[nodiscard]] std::size_t scaled_channels(std::size_t channels) const {
    const double exact = static_cast<double>(channels) * options_.width;
    const std::size_t rounded =
        std::max<std::size_t>(8, static_cast<std::size_t>(exact + 4) / 8 * 8);
    return static_cast<double>(rounded) < 0.9 * exact ? rounded + 8 : rounded;
  }

  mobilenet_v2_options options_;
  zoo_network net_{"mobilenet_v2"};
};

}  // namespace glia

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/layers/layers.hpp"

namespace glia {

struct mobilenet_v2_options {
  double width = 1;         ///< multiplies all channels; > 0, published for 0.35 to 1.4
  std::size_t classes = 0;  ///< outputs of a classifier; 0: none, ends in the features
  bool normalized = true;   ///< false: no batch normalisation, for weights that have it folded in
  padding2d padding = 1;    ///< of the 3x3 convolutions; `same` for weights that Keras trained
  batch_norm normalization = {.momentum = 0.9, .epsilon = 1e-5};  ///< epsilon 1e-3 for Keras's

  friend bool operator==(const mobilenet_v2_options&, const mobilenet_v2_options&) = default;
};

/// MobileNetV2: images (N, H, W, 3) to features (N, F), F = 1280 for widths up to 1, or to the
/// logits of a classifier. Sandler et al., "MobileNetV2: Inverted Residuals and Linear
/// Bottlenecks", CVPR 2018, table 2. Made for 224x224; any extents from 32 on do.
///
/// A description like any other: `frozen{mobilenet_v2{}}` uses it as a feature extractor. It can be
/// cut into stages, to freeze only the first: the stem, seventeen blocks, the head. Parameters are
/// called blocks.3.expand.kernel, blocks.3.expand.normalization.gamma and so on, wherever it
/// stands:
///
///     const glia::mobilenet_v2 net;
///     glia::sequential{glia::frozen{net.stages(0, 16)}, net.stages(16, 19), glia::dense{5}}
///
/// Throws `value_error` for a width that is not positive and stages that are not there.
class mobilenet_v2 {
 public:
  using holds_layers = void;

  static constexpr std::size_t stage_count = 19;

  /// A convolution, the batch normalisation after it if any, and the activation.
  struct unit {
    std::string name;  ///< blocks.3.expand
    conv2d convolution;
    std::optional<batch_norm> normalization;
    glia::activation activation;

    friend bool operator==(const unit&, const unit&) = default;
  };

  /// Units one after the other, their input being added to what comes out where both are alike.
  struct stage {
    std::vector<unit> units;
    bool residual = false;

    friend bool operator==(const stage&, const stage&) = default;
  };

  explicit mobilenet_v2(const mobilenet_v2_options& options = {}) : options_(options) {
    require<value_error>(options.width > 0, "mobilenet_v2: expected a positive width, got ",
                         options.width);
    add_stages();
  }

  /// Only the stages first ... end - 1: 0 is the stem, 1 to 17 are the blocks, 18 is the head with
  /// what comes behind it. No stages pass their input on.
  [[nodiscard]] mobilenet_v2 stages(std::size_t first, std::size_t end) const {
    require<value_error>(first_ <= first && first <= end && end <= end_,
                         "mobilenet_v2: expected stages within ", first_, " ... ", end_, ", got ",
                         first, " ... ", end);
    mobilenet_v2 part = *this;
    part.first_ = first;
    part.end_ = end;
    return part;
  }

  [[nodiscard]] const mobilenet_v2_options& options() const { return options_; }

  /// The units of its stages, in the order in which they run.
  [[nodiscard]] std::vector<unit> units() const {
    std::vector<unit> result;
    for (std::size_t i = first_; i < end_; ++i) {
      result.insert(result.end(), stages_[i].units.begin(), stages_[i].units.end());
    }
    return result;
  }

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    for (std::size_t i = first_; i < end_; ++i) {
      x = run_stage(s, std::move(x), i);
    }
    if (first_ < end_ && end_ == stage_count) {
      x = s.run(global_avg_pool2d{}, std::move(x), type_name, stage_count);
      if (options_.classes > 0) {
        const typename scope<B>::under_name called(s, "classifier");
        x = s.run(dense{options_.classes}, std::move(x), type_name, stage_count + 1);
      }
    }
    return x;
  }

  [[nodiscard]] std::string description() const {
    const bool whole = first_ == 0 && end_ == stage_count;
    return whole ? text("mobilenet_v2(", options_.width, ')')
                 : text("mobilenet_v2(", options_.width, ", stages ", first_, " to ", end_, ')');
  }

  friend bool operator==(const mobilenet_v2&, const mobilenet_v2&) = default;

 private:
  static constexpr std::string_view type_name = "mobilenet_v2";

  template <backend B>
  [[nodiscard]] variable<B> run_stage(scope<B>& s, variable<B> x, std::size_t index) const {
    const stage& what = stages_[index];
    const std::optional<variable<B>> shortcut =
        what.residual ? std::optional(x) : std::optional<variable<B>>();
    for (const unit& u : what.units) {
      const typename scope<B>::under_name called(s, u.name);
      x = s.run(u.convolution, std::move(x), type_name, index);
      if (u.normalization) {
        const typename scope<B>::under_name its(s, "normalization");
        x = s.run(*u.normalization, std::move(x), type_name, index);
      }
      if (u.activation != linear) {
        x = s.run(u.activation, std::move(x), type_name, index);
      }
    }
    return shortcut ? x + *shortcut : x;
  }

  void add_stages() {
    // Table 2 of the paper: expansion, channels, blocks, stride of the first.
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
    stages_.push_back({{convolution("stem.conv", channels, {.kernel = 3, .stride = 2})}});
    std::size_t block = 0;
    for (const row& r : rows) {
      for (std::size_t i = 0; i < r.blocks; ++i, ++block) {
        const std::size_t stride = i == 0 ? r.stride : 1;
        const std::size_t outputs = scaled_channels(r.channels);
        stages_.push_back(bottleneck(block, r.expansion, channels, outputs, stride));
        channels = outputs;
      }
    }
    const std::size_t features = options_.width > 1 ? scaled_channels(1280) : 1280;
    stages_.push_back({{convolution("head.conv", features, {.kernel = 1})}});
  }

  [[nodiscard]] stage bottleneck(std::size_t block, std::size_t expansion, std::size_t inputs,
                                 std::size_t outputs, std::size_t stride) const {
    const std::string name = text("blocks.", block, '.');
    const std::size_t inner = inputs * expansion;
    stage result;
    result.residual = stride == 1 && inputs == outputs;
    if (expansion > 1) {
      result.units.push_back(convolution(name + "expand", inner, {.kernel = 1}));
    }
    result.units.push_back(
        convolution(name + "depthwise", inner, {.kernel = 3, .stride = stride, .groups = inner}));
    result.units.push_back(convolution(name + "project", outputs, {.kernel = 1}));
    result.units.back().activation = linear;
    return result;
  }

  struct window {
    extent2d kernel;
    extent2d stride = 1;
    std::size_t groups = 1;
  };

  [[nodiscard]] unit convolution(std::string name, std::size_t filters, const window& w) const {
    unit result{std::move(name),
                {.filters = filters,
                 .kernel = w.kernel,
                 .stride = w.stride,
                 .padding = w.kernel == 1 ? padding2d(valid) : options_.padding,
                 .groups = w.groups,
                 .bias = !options_.normalized,
                 .kernel_initializer = he_normal()},
                {},
                relu6};
    if (options_.normalized) {
      result.normalization = options_.normalization;
    }
    return result;
  }

  /// The paper's code rounds channels to a multiple of 8, but not down by more than a tenth.
  [[nodiscard]] std::size_t scaled_channels(std::size_t channels) const {
    const double wanted = static_cast<double>(channels) * options_.width;
    const std::size_t rounded =
        std::max<std::size_t>(8, static_cast<std::size_t>(wanted + 4) / 8 * 8);
    return static_cast<double>(rounded) < 0.9 * wanted ? rounded + 8 : rounded;
  }

  mobilenet_v2_options options_;
  std::size_t first_ = 0;
  std::size_t end_ = stage_count;
  std::vector<stage> stages_;
};

}  // namespace glia

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <glia/glia.hpp>
#include <glia/models/model_file.hpp>
#include <span>
#include <vector>

/// 10,330 parameters, for images of 28 x 28 numbers from 0 to 1.
[[nodiscard]] inline auto digit_network() {
  const glia::conv2d convolution{
      .filters = 16, .kernel_size = 3, .padding = glia::same, .activation = glia::relu};
  return glia::sequential{convolution,        glia::max_pool2d{}, convolution,
                          glia::max_pool2d{}, glia::flatten{},    glia::dense{10}};
}

/// Reads handwritten digits, and learns from more of them.
class digit_reader {
 public:
  static constexpr std::size_t pixels = 784;
  static constexpr std::size_t classes = 10;

  /// Makes an untrained network.
  explicit digit_reader(const glia::device& device = glia::cpu<float>())
      : net_(digit_network(), {28, 28, 1}, device),
        trainer_(net_, glia::softmax_cross_entropy{}, glia::adam{1e-3}),
        scores_(device, {}) {}

  [[nodiscard]] auto& net() { return net_; }

  /// Computes the probabilities (N, 10) of the digits for images (N, 28, 28).
  void predict(std::span<const float> images, std::span<float> probabilities) const {
    net_.predict_batch(images, probabilities);
    xt::xarray<float> logits = xt::zeros<float>({images.size() / pixels, classes});
    std::copy(probabilities.begin(), probabilities.end(), logits.begin());
    const xt::xarray<float> result = glia::softmax(logits);
    std::copy(result.begin(), result.end(), probabilities.begin());
  }

  /// Trains one step on images (N, 28, 28) with labels (N), and returns the loss.
  float train(std::span<const float> images, std::span<const std::int32_t> labels) {
    scores_.reset();
    trainer_.step({.size = labels.size(),
                   .input_shape = {labels.size(), 28, 28, 1},
                   .inputs = {images.begin(), images.end()},
                   .labels = {labels.begin(), labels.end()},
                   .target_shape = {},
                   .targets = {}},
                  &scores_);
    return static_cast<float>(scores_.means().loss);
  }

 private:
  glia::model<decltype(digit_network())> net_;
  glia::trainer<decltype(net_), glia::softmax_cross_entropy, glia::adam> trainer_;
  glia::running_scores scores_;
};

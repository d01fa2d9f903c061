#pragma once

#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/described.hpp"
#include "glia/losses/cross_entropy.hpp"
#include "glia/losses/targets.hpp"
#include "glia/ops/counting.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/reductions.hpp"
#include "glia/ops/softmax.hpp"

namespace glia {

namespace detail {

/// Throws `shape_error` unless logits are (N, ..., K), with axes for pixels and at least `minimum`
/// channels, and unless the targets are values.
inline void require_pixels(std::string_view loss, const shape& logits, const targets& t,
                           std::size_t minimum) {
  require<shape_error>(logits.rank() >= 3 && logits.back() >= minimum, loss,
                       ": expected logits for each pixel, such as (N, H, W, K) with K of at least ",
                       minimum, ", got ", batch_text(logits),
                       "; end the model in a convolution, such as conv2d{.filters = K, "
                       ".kernel_size = 1}");
  require<shape_error>(static_cast<bool>(t.values), loss,
                       ": expected targets for each pixel, got one class for each sample; make the "
                       "data set with target_arrays");
}

/// Returns the Dice losses (N) of probabilities p and targets t, both (N, ..., K): one minus the
/// mean of the Dice coefficients of the K channels, weighted by `weights` unless it is empty.
[[nodiscard]] inline variable dice_losses(std::string_view loss, variable p, const tensor& t,
                                          double smooth, const std::vector<float>& weights) {
  require<value_error>(smooth > 0 && std::isfinite(smooth), loss,
                       ": expected a finite smooth above 0, got ", smooth);
  const glia::device& device = p.device();
  const std::size_t samples = p.shape()[0];
  const std::size_t channels = p.shape().back();
  const shape rows{samples, sample_of(p.shape()).size() / channels, channels};
  const variable probabilities = ops::reshape(std::move(p), rows);
  const tensor values = device.run(kernels::reshape{rows}, t);
  const variable common = ops::sum(probabilities * values, {1});
  const variable total = ops::sum(probabilities + values, {1});
  const variable coefficients = ops::affine(common, 2, smooth) / ops::affine(total, 1, smooth);
  if (weights.empty()) {
    return ops::affine(ops::mean_per_sample(coefficients), -1, 1);
  }
  require_weights(loss, "class_weight", weights, channels, "class");
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  require<value_error>(sum > 0, loss, ": expected a class_weight with a weight above 0, got ",
                       weights.size(), " weights of 0");
  std::vector<double> shares(weights.begin(), weights.end());
  for (double& share : shares) {
    share /= sum;
  }
  const tensor factors = device.from_host(std::span<const double>(shares), {channels});
  return ops::affine(ops::sum(coefficients * factors, {1}), -1, 1);
}

}  // namespace detail

/// Dice loss for segmentation into two or more classes, computed from logits.
///
///     loss_n = 1 - mean_k (2 sum_p y_npk t_npk + s) / (sum_p y_npk + sum_p t_npk + s)
///
/// y is the softmax of the logits over the classes k, t is 1 for the class of pixel p and 0 for all
/// other classes, the sums are over the pixels of sample n, and s is `smooth`. The fraction is the
/// Dice coefficient, which measures how far the pixels of a class and the predicted pixels overlap.
/// Each class counts alike, however few pixels it has. With `class_weight`, the mean over the
/// classes is a weighted mean.
///
/// If a sample has no pixel of a class, the coefficient of this class is near 0, unless the model
/// predicts hardly any pixels of it, or `smooth` is large.
///
/// The loss applies the softmax itself, so the model must end without a softmax. Logits are
/// (N, ..., K), such as (N, H, W, K) for images. Targets are classes (N, ...), integers from 0 to
/// K - 1, or probability distributions (N, ..., K). Pixels with the class -1 are ignored.
///
/// Often, segmentation uses the sum of this loss and `softmax_cross_entropy`.
///
/// Throws `shape_error` if the logits have no axes for pixels, or if the shapes of logits, targets
/// and weights do not match, and `value_error` if `smooth` or a weight is outside its range.
/// Training and evaluation throw `data_error` if targets are neither classes nor distributions.
///
/// Source: Milletari, Navab and Ahmadi, "V-Net", 3DV 2016, eq. 3, with sums instead of sums of
/// squares in the denominator, as in Keras and MONAI.
struct softmax_dice {
  /// Number s added to the numerator and the denominator, above 0. With s = 1, a class that is
  /// neither in a small image nor predicted costs little.
  double smooth = 1e-5;
  /// Weights of the K classes in the mean over the classes, at least 0, not all 0. {0, 1, 1}
  /// ignores class 0, such as the background. If empty, all weights are 1.
  std::vector<float> class_weight{};

  static constexpr output_kind applied_activation = output_kind::softmax;

  [[nodiscard]] variable operator()(const variable& logits, const targets& t) const {
    detail::require_pixels("softmax_dice", logits.shape(), t, 2);
    const glia::device& device = logits.device();
    variable probabilities = ops::softmax(logits);
    tensor values;
    if (detail::are_classes_of_rows(t.values.shape(), logits.shape())) {
      const auto classes = device.run(kernels::to_index{}, t.values);
      values = device.run(kernels::one_hot{logits.shape().back()}, classes);
      shape pixels = t.values.shape();
      pixels.push_back(1);
      probabilities = probabilities *
                      device.run(kernels::reshape{pixels}, detail::class_mask(device, t.values));
    } else {
      values = detail::target_values("softmax_dice", logits, t);
    }
    return detail::dice_losses("softmax_dice", std::move(probabilities), values, smooth,
                               class_weight);
  }

  [[nodiscard]] std::string description() const {
    return text("softmax_dice", smooth == 1e-5 ? "" : text(", smooth ", smooth),
                class_weight.empty() ? "" : ", class weights");
  }
  friend bool operator==(const softmax_dice&, const softmax_dice&) = default;
};

/// Dice loss for masks: for segmentation into an object and the background, or into several objects
/// that may overlap, computed from logits.
///
///     loss_n = 1 - mean_k (2 sum_p y_npk t_npk + s) / (sum_p y_npk + sum_p t_npk + s)
///
/// y is the sigmoid of the logits, t is the mask of object k, the sums are over the pixels p of
/// sample n, and s is `smooth`. For one object, K is 1. With `class_weight`, the mean over the
/// objects is a weighted mean.
///
/// If the mask of a sample is empty, the coefficient is near 0, unless the model predicts hardly
/// any pixels, or `smooth` is large.
///
/// The loss applies the sigmoid itself, so the model must end without a sigmoid. A logit above 0
/// means that the pixel belongs to the object. Logits are (N, ..., K), such as (N, H, W, 1) for one
/// mask. Targets are values in [0, 1] with the shape of the logits.
///
/// Throws `shape_error` if the logits have no axes for pixels, or if the shapes of logits, targets
/// and weights do not match, and `value_error` if `smooth` or a weight is outside its range.
/// Training and evaluation throw `data_error` if a target is outside [0, 1].
///
/// Source: Milletari, Navab and Ahmadi, "V-Net", 3DV 2016, eq. 3, with sums instead of sums of
/// squares in the denominator, as in Keras and MONAI.
struct sigmoid_dice {
  /// Number s added to the numerator and the denominator, above 0. With s = 1, an empty mask of a
  /// small image costs little if no pixels are predicted.
  double smooth = 1e-5;
  /// Weights of the K masks in the mean over the masks, at least 0, not all 0. If empty, all
  /// weights are 1.
  std::vector<float> class_weight{};

  static constexpr output_kind applied_activation = output_kind::sigmoid;
  static constexpr std::string_view target_range = "from 0 to 1";
  static constexpr bool accepts_target(float t) { return t >= 0 && t <= 1; }

  [[nodiscard]] variable operator()(const variable& logits, const targets& t) const {
    detail::require_pixels("sigmoid_dice", logits.shape(), t, 1);
    const tensor values = detail::target_values("sigmoid_dice", logits, t);
    return detail::dice_losses("sigmoid_dice", ops::sigmoid(logits), values, smooth, class_weight);
  }

  [[nodiscard]] std::string description() const {
    return text("sigmoid_dice", smooth == 1e-5 ? "" : text(", smooth ", smooth),
                class_weight.empty() ? "" : ", class weights");
  }
  friend bool operator==(const sigmoid_dice&, const sigmoid_dice&) = default;
};

}  // namespace glia

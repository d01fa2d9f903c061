#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/described.hpp"
#include "glia/losses/targets.hpp"
#include "glia/ops/counting.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/reductions.hpp"
#include "glia/ops/softmax.hpp"

namespace glia {

namespace detail {

/// Returns, for each sample of `losses` (N, ...), the mean of the elements at which `counts` is 1.
/// The mean is 0 if `counts` is 0 for all elements of the sample.
[[nodiscard]] inline variable mean_of_counting(variable losses, const tensor& counts) {
  const glia::device& device = losses.device();
  const shape rows{losses.shape()[0], sample_of(losses.shape()).size()};
  const auto counting = device.run(kernels::reshape{rows}, counts);
  const auto shares = device.run(kernels::binary{binary_function::divide}, counting,
                                 count_of_ones(device, counting));
  return ops::reshape(ops::sum_to(ops::reshape(std::move(losses), rows) * shares, {rows[0], 1}),
                      {rows[0]});
}

/// Throws `shape_error` unless the option `option` has `count` weights, one for each `subject`, and
/// `value_error` unless they are finite and at least 0.
inline void require_weights(std::string_view loss, std::string_view option,
                            const std::vector<float>& weights, std::size_t count,
                            std::string_view subject) {
  require<shape_error>(weights.size() == count, loss, ": expected a ", option, " with ", count,
                       " weights, one for each ", subject, ", got ", weights.size());
  for (const float weight : weights) {
    require<value_error>(weight >= 0 && std::isfinite(weight), loss, ": expected a ", option,
                         " with finite weights of at least 0, got ", weight);
  }
}

/// Throws `value_error` unless the exponent of a focal loss is finite and at least 0.
inline void require_focal_gamma(std::string_view loss, double gamma) {
  require<value_error>(gamma >= 0 && std::isfinite(gamma), loss,
                       ": expected a finite focal_gamma of at least 0, got ", gamma);
}

/// Returns (1 - exp(-c))^gamma for each cross-entropy c >= 0. No digits are lost if c is small,
/// because 1 - exp(-c) is computed as 2 t / (1 + t) with t = tanh(c / 2).
[[nodiscard]] inline variable focal_factor(const variable& c, double gamma) {
  const variable t = ops::tanh(ops::affine(c, 0.5, 0));
  const variable miss = ops::affine(t, 2, 0) / ops::affine(t, 1, 1);
  constexpr double minimum = 1e-30;  // the logarithm of 0 has no derivative
  return ops::exp(ops::affine(ops::log(ops::clamp(miss, minimum, 1)), gamma, 0));
}

}  // namespace detail

/// Cross-entropy loss for classification into two or more classes, computed from logits.
///
///     loss_n = -sum_k w_k t_nk ln softmax(y)_nk
///
/// The loss applies the softmax itself, so the model must end without a softmax: in `dense{K}` for
/// K classes. The model's predictions are logits y (N, K); `glia::softmax(net.predict(x))` returns
/// probabilities.
///
/// Targets t are classes (N), integers from 0 to K - 1, or probability distributions (N, K). For
/// outputs (N, ..., K), such as the steps of sequences or the pixels of images, targets are classes
/// (N, ...) or distributions (N, ..., K). Samples, steps and pixels with the class -1 are ignored
/// (PyTorch's default is -100). The loss of a sample is the mean over its steps or pixels that are
/// not ignored. The loss of a batch is the mean over its samples. Keras and PyTorch instead compute
/// one mean over all steps of the batch. The results differ if samples have different numbers of
/// ignored steps.
///
/// Label smoothing replaces t by (1 - s) t + s / K (Szegedy et al., CVPR 2016). With class weights,
/// the mean over a batch still divides by the number of samples, as in Keras; PyTorch divides by
/// the sum of the weights.
///
/// With a `focal_gamma` above 0, this is the focal loss: the loss of a row is multiplied by
/// (1 - p)^gamma, where p is the probability of the true class, so that samples that are easy to
/// classify count less (Lin et al., ICCV 2017). It needs targets that are classes. For the factor
/// alpha of Keras's `CategoricalFocalCrossentropy`, use `class_weight`.
///
/// If exactly one logit is +infinity, its class has probability 1 and loss 0. With several infinite
/// logits the loss is NaN.
///
/// Throws `shape_error` if the shapes of logits, targets and weights do not match, and
/// `value_error` if the smoothing, a weight or gamma is outside its range, or if the focal loss
/// gets distributions or label smoothing. Training and evaluation throw `data_error` if targets are
/// neither classes nor distributions.
struct softmax_cross_entropy {
  double label_smoothing = 0;  ///< Label smoothing s, in [0, 1).
  std::vector<float>
      class_weight{};      ///< Weights w of the K classes, at least 0. If empty, all weights are 1.
  double focal_gamma = 0;  ///< Exponent of the focal loss, at least 0; often 2.

  static constexpr output_kind applied_activation = output_kind::softmax;

  [[nodiscard]] variable operator()(variable logits, const targets& t) const {
    require<shape_error>(
        logits.shape().rank() >= 2 && logits.shape().back() >= 2,
        "softmax_cross_entropy: expected logits (N, ..., K) for at least 2 classes, got ",
        batch_text(logits.shape()));
    require<value_error>(label_smoothing >= 0 && label_smoothing < 1,
                         "softmax_cross_entropy: expected a label_smoothing in [0, 1), got ",
                         label_smoothing);
    detail::require_focal_gamma("softmax_cross_entropy", focal_gamma);
    const glia::device& device = logits.device();
    const std::size_t classes = logits.shape().back();
    const double floor = label_smoothing / static_cast<double>(classes);
    const bool rows = t.values && detail::are_classes_of_rows(t.values.shape(), logits.shape());
    require<value_error>(focal_gamma == 0 || (label_smoothing == 0 && (rows || t.labels)),
                         "softmax_cross_entropy: a focal_gamma needs targets that are classes, and "
                         "a label_smoothing of 0");
    tensor counts;
    tensor values;
    if (rows) {
      const kernels::one_hot at_class{classes, 1 - label_smoothing + floor, floor};
      values = device.run(at_class, device.run(kernels::to_index{}, t.values));
      counts = detail::class_mask(device, t.values);
      if (floor > 0) {
        shape counts_shape = t.values.shape();
        counts_shape.push_back(1);
        values = device.run(kernels::binary{binary_function::multiply}, std::move(values),
                            device.run(kernels::reshape{counts_shape}, counts));
      }
    } else {
      values = detail::target_values("softmax_cross_entropy", logits, t,
                                     1 - label_smoothing + floor, floor);
    }
    if (t.values && !rows && label_smoothing > 0) {
      values =
          device.run(kernels::unary{{unary_function::affine, 1 - label_smoothing, floor}}, values);
    }
    std::optional<variable> factor;
    if (focal_gamma > 0) {
      factor = detail::focal_factor(ops::softmax_cross_entropy(logits, values), focal_gamma);
    }
    if (!class_weight.empty()) {
      detail::require_weights("softmax_cross_entropy", "class_weight", class_weight, classes,
                              "class");
      values = device.run(kernels::binary{binary_function::multiply}, std::move(values),
                          device.from_host(std::span<const float>(class_weight), {classes}));
    }
    variable losses = ops::softmax_cross_entropy(std::move(logits), std::move(values));
    if (factor) {
      losses = losses * *factor;
    }
    if (losses.shape().rank() == 1) {
      return losses;
    }
    return rows ? detail::mean_of_counting(std::move(losses), counts)
                : ops::mean_per_sample(std::move(losses));
  }

  [[nodiscard]] std::string description() const {
    std::string result = "softmax_cross_entropy";
    result += label_smoothing > 0 ? text(", label smoothing ", label_smoothing) : "";
    result += focal_gamma > 0 ? text(", focal gamma ", focal_gamma) : "";
    return result + (class_weight.empty() ? "" : ", class weights");
  }
  friend bool operator==(const softmax_cross_entropy&, const softmax_cross_entropy&) = default;
};

/// Cross-entropy loss for binary classification and for several independent labels, computed from
/// logits.
///
///     loss = -p t ln sigmoid(y) - n (1 - t) ln(1 - sigmoid(y)), averaged over the outputs of a
///            sample
///
/// The weights p and n are 1 by default. `positive_weight` multiplies p. For a single output,
/// `class_weight` has a weight for class 0, which multiplies n, and a weight for class 1, which
/// multiplies p. For K outputs, it has a weight for each output, which multiplies p and n. The mean
/// over a batch divides by the number of samples.
///
/// With a `focal_gamma` above 0, this is the focal loss: the first term is multiplied by
/// (1 - sigmoid(y))^gamma and the second by sigmoid(y)^gamma, so that samples that are easy to
/// classify count less (Lin et al., ICCV 2017). For a single output, `class_weight` {1 - alpha,
/// alpha} is the factor alpha of Keras's `BinaryFocalCrossentropy`, which is off by default.
///
/// The loss applies the sigmoid itself, so the model must end without a sigmoid: in `dense{1}` for
/// two classes, or in `dense{K}` for K independent labels. The model's predictions are logits; a
/// logit above 0 means class 1. `glia::sigmoid(net.predict(x))` returns probabilities. The loss is
/// computed as t softplus(-y) + (1 - t) softplus(y), without overflow and cancellation. It
/// corresponds to Keras's BinaryCrossentropy(from_logits=True) and PyTorch's
/// binary_cross_entropy_with_logits.
///
/// Targets are values in [0, 1] with the shape of the logits, or classes (N). For a single output
/// (N, 1), the classes are 0 and 1. For K outputs (N, K), the output of the class has the target 1,
/// and all other outputs have the target 0.
///
/// Throws `shape_error` if the shapes of logits, targets and weights do not match, and
/// `value_error` if a weight or gamma is negative or not finite. Training and evaluation throw
/// `data_error` if a target is outside [0, 1].
struct sigmoid_cross_entropy {
  /// Weights of positive targets: one for all outputs or one for each output. If empty, they are 1.
  /// Weights above 1 increase the recall, weights below 1 the precision.
  std::vector<float> positive_weight{};
  /// For a single output, the weights of the classes 0 and 1. For K outputs, one weight for each
  /// output. If empty, all weights are 1.
  std::vector<float> class_weight{};
  double focal_gamma = 0;  ///< Exponent of the focal loss, at least 0; often 2.

  static constexpr output_kind applied_activation = output_kind::sigmoid;
  static constexpr std::string_view target_range = "from 0 to 1";
  static constexpr bool accepts_target(float t) { return t >= 0 && t <= 1; }

  [[nodiscard]] variable operator()(const variable& logits, const targets& t) const {
    detail::require_focal_gamma("sigmoid_cross_entropy", focal_gamma);
    const glia::device& device = logits.device();
    auto positives = detail::target_values("sigmoid_cross_entropy", logits, t);
    auto negatives = device.run(kernels::unary{{unary_function::affine, -1, 1}}, positives);
    if (!positive_weight.empty() || !class_weight.empty()) {
      const auto [positive_factors, negative_factors] = weights_for(logits.shape());
      const auto weigh = [&](tensor& values, const std::vector<float>& weights) {
        values = device.run(kernels::binary{binary_function::multiply}, std::move(values),
                            device.from_host(std::span<const float>(weights), {weights.size()}));
      };
      weigh(positives, positive_factors);
      weigh(negatives, negative_factors);
    }
    const variable nothing = logits.owner().constant(device.run(kernels::full{}));
    // A selection instead of a product: 0 times the infinite loss of an infinite logit would be
    // NaN.
    const auto share = [&](const tensor& weight, const variable& y) {
      variable loss = ops::softplus(y);
      if (focal_gamma > 0) {
        loss = loss * ops::exp(ops::affine(ops::softplus(-y), -focal_gamma, 0));
      }
      return ops::where(weight, loss * weight, nothing);
    };
    return ops::mean_per_sample(share(positives, -logits) + share(negatives, logits));
  }
  [[nodiscard]] std::string description() const {
    std::string result = "sigmoid_cross_entropy";
    result += positive_weight.empty() ? "" : ", positive weight";
    result += focal_gamma > 0 ? text(", focal gamma ", focal_gamma) : "";
    return result + (class_weight.empty() ? "" : ", class weights");
  }
  friend bool operator==(const sigmoid_cross_entropy&, const sigmoid_cross_entropy&) = default;

 private:
  /// Returns the weights of positive and of negative targets for each output.
  [[nodiscard]] std::pair<std::vector<float>, std::vector<float>> weights_for(
      const shape& logits) const {
    const std::size_t outputs = logits.rank() < 2 ? 1 : logits.back();
    std::vector<float> positive_factors(outputs, 1);
    std::vector<float> negative_factors(outputs, 1);
    if (!class_weight.empty()) {
      detail::require_weights("sigmoid_cross_entropy", "class_weight", class_weight,
                              outputs == 1 ? 2 : outputs, outputs == 1 ? "class" : "output");
      positive_factors.assign(class_weight.end() - static_cast<std::ptrdiff_t>(outputs),
                              class_weight.end());
      negative_factors.assign(class_weight.begin(),
                              class_weight.begin() + static_cast<std::ptrdiff_t>(outputs));
    }
    if (!positive_weight.empty()) {
      const bool shared = positive_weight.size() == 1;
      detail::require_weights("sigmoid_cross_entropy", "positive_weight", positive_weight,
                              shared ? 1 : outputs, "output");
      for (std::size_t i = 0; i < outputs; ++i) {
        positive_factors[i] *= positive_weight[shared ? 0 : i];
      }
    }
    return {std::move(positive_factors), std::move(negative_factors)};
  }
};

}  // namespace glia

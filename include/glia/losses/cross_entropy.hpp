#pragma once

#include <cmath>
#include <cstddef>
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

/// The mean of a sample's numbers (N, ...) where `counts` is 1 and not 0; 0 where none count.
template <backend B>
[[nodiscard]] variable<B> mean_of_counting(variable<B> each, const typename B::tensor& counts) {
  const B& device = each.device();
  const shape rows{each.shape()[0], sample_of(each.shape()).size()};
  const auto counting = device.run(kernels::reshape{rows}, counts);
  const auto shares = device.run(kernels::binary{binary_function::divide}, counting,
                                 count_of_ones(device, counting));
  return ops::reshape(ops::sum_to(ops::reshape(std::move(each), rows) * shares, {rows[0], 1}),
                      {rows[0]});
}

}  // namespace detail

/// -sum_k w_k t_nk ln softmax(y)_nk for logits y (N, K), or (N, ..., K), whose rows are averaged:
/// scores of any size, of which the softmax makes probabilities. The loss applies it, the model
/// ends without one, in dense{K}; predictions are logits then, and glia::softmax(net.predict(x))
/// are probabilities.
///
/// Targets are classes (N) or distributions (N, K); of rows (N, ..., K), such as the steps of
/// sequences, values that are classes (N, ...), -1 for rows that do not count, or distributions
/// (N, ..., K). Label smoothing replaces t by (1 - s) t + s / K (Szegedy et al., CVPR 2016). The
/// mean over a batch divides by the number of samples that count, see counted_targets, also with
/// class weights, as in Keras; PyTorch divides by the sum of the weights.
///
/// If exactly one logit is +infinity, that class has probability 1 and its loss is 0; with several
/// infinite logits the loss is NaN.
///
/// Throws `shape_error` where logits, targets or weights disagree, `value_error` for a smoothing
/// or weights outside their ranges. Training and evaluation throw `data_error` for targets that are
/// neither classes nor distributions.
struct softmax_cross_entropy {
  double label_smoothing = 0;          ///< s, in [0, 1)
  std::vector<float> class_weights{};  ///< w (K), at least 0 each; empty: all 1

  static constexpr output_kind applies = output_kind::softmax;

  template <backend B>
  [[nodiscard]] variable<B> operator()(variable<B> logits, const targets<B>& t) const {
    require<shape_error>(
        logits.shape().rank() >= 2 && logits.shape().back() >= 2,
        "softmax_cross_entropy: expected logits (N, ..., K) of at least 2 classes, got ",
        batch_text(logits.shape()));
    require<value_error>(label_smoothing >= 0 && label_smoothing < 1,
                         "softmax_cross_entropy: expected a label smoothing in [0, 1), got ",
                         label_smoothing);
    const B& device = logits.device();
    const std::size_t classes = logits.shape().back();
    const double floor = label_smoothing / static_cast<double>(classes);
    const bool rows = t.values && are_classes_of_rows(t.values.shape(), logits.shape());
    typename B::tensor counts;
    typename B::tensor values;
    if (rows) {
      const kernels::one_hot at_class{classes, 1 - label_smoothing + floor, floor};
      values = device.run(at_class, device.run(kernels::to_index{}, t.values));
      counts = detail::which_count(device, t.values);
      if (floor > 0) {
        shape each = t.values.shape();
        each.push_back(1);
        values = device.run(kernels::binary{binary_function::multiply}, std::move(values),
                            device.run(kernels::reshape{each}, counts));
      }
    } else {
      values = detail::target_values("softmax_cross_entropy", logits, t,
                                     1 - label_smoothing + floor, floor);
    }
    if (t.values && !rows && label_smoothing > 0) {
      values =
          device.run(kernels::unary{{unary_function::affine, 1 - label_smoothing, floor}}, values);
    }
    if (!class_weights.empty()) {
      require<shape_error>(class_weights.size() == classes,
                           "softmax_cross_entropy: ", class_weights.size(), " class weights for ",
                           classes, " classes");
      for (const float weight : class_weights) {
        require<value_error>(weight >= 0 && std::isfinite(weight),
                             "softmax_cross_entropy: expected finite class weights of at least 0, "
                             "got ",
                             weight);
      }
      values = device.run(kernels::binary{binary_function::multiply}, std::move(values),
                          device.from_host(std::span<const float>(class_weights), {classes}));
    }
    variable<B> losses = ops::softmax_cross_entropy(std::move(logits), std::move(values));
    if (losses.shape().rank() == 1) {
      return losses;
    }
    return rows ? detail::mean_of_counting(std::move(losses), counts)
                : ops::mean_per_sample(std::move(losses));
  }

  [[nodiscard]] std::string description() const {
    std::string result = "softmax_cross_entropy";
    result += label_smoothing > 0 ? text(", label smoothing ", label_smoothing) : "";
    return result + (class_weights.empty() ? "" : ", class weights");
  }
  friend bool operator==(const softmax_cross_entropy&, const softmax_cross_entropy&) = default;
};

/// -t ln sigmoid(y) - (1 - t) ln(1 - sigmoid(y)) for logits y, averaged over a sample's outputs and
/// computed as t softplus(-y) + (1 - t) softplus(y), which neither overflows nor cancels. The loss
/// applies the sigmoid, the model ends without one, in dense{1}; predictions are logits then, above
/// 0 for class 1, and glia::sigmoid(net.predict(x)) are probabilities.
///
/// Targets are values in [0, 1] of the logits' shape, or classes: 0 and 1 for a single output,
/// one output against the rest for several.
struct binary_cross_entropy {
  static constexpr output_kind applies = output_kind::sigmoid;
  static constexpr std::string_view target_range = "from 0 to 1";
  static constexpr bool takes_target(float t) { return t >= 0 && t <= 1; }

  template <backend B>
  [[nodiscard]] variable<B> operator()(const variable<B>& logits, const targets<B>& t) const {
    const B& device = logits.device();
    const auto ones = detail::target_values("binary_cross_entropy", logits, t);
    const auto zeros = device.run(kernels::unary{{unary_function::affine, -1, 1}}, ones);
    const variable<B> nothing = logits.owner().constant(device.run(kernels::full{}));
    // Selected rather than multiplied: 0 times the infinite loss of an infinite logit would be NaN.
    const auto share = [&](const typename B::tensor& weight, variable<B> y) {
      return ops::select(weight, ops::softplus(std::move(y)) * weight, nothing);
    };
    return ops::mean_per_sample(share(ones, -logits) + share(zeros, logits));
  }
  [[nodiscard]] std::string description() const { return "binary_cross_entropy"; }
  friend bool operator==(const binary_cross_entropy&, const binary_cross_entropy&) = default;
};

}  // namespace glia

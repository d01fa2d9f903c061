#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/normalization.hpp"

namespace glia {

/// Batch normalization: normalizes each channel over the batch to mean 0 and variance 1.
///
///     y = gamma (x - mean) / sqrt(variance + epsilon) + beta
///
/// The input and output are (N, ..., C). In training, the layer computes the mean and the variance
/// of each channel (last axis) over the batch and all positions. It also updates its running
/// statistics: running = momentum * running + (1 - momentum) * batch. In inference it uses the
/// running statistics as mean and variance. The parameters are `gamma` (C) and `beta` (C). The
/// running statistics are `moving_mean` (C) and `moving_variance` (C). As in Keras, the running
/// variance is biased: the squared deviations are averaged over all values. The defaults are the
/// same as in Keras. PyTorch's momentum is 1 - `momentum`. Ioffe and Szegedy, ICML 2015.
///
/// Throws `shape_error` if the input has fewer than two axes, and `value_error` if `momentum` or
/// `epsilon` is outside its range.
struct batch_norm {
  double momentum = 0.99;  ///< Factor of the old running statistics in an update, in [0, 1].
  double epsilon = 1e-3;   ///< Number added to the variance, above 0.
  /// Whether the layer has the factors gamma. They are not needed if a layer with a kernel follows.
  bool scale = true;
  initializer gamma_initializer = constant(1);            ///< Initial values of gamma.
  initializer beta_initializer = constant(0);             ///< Initial values of beta.
  initializer moving_mean_initializer = constant(0);      ///< Initial running means.
  initializer moving_variance_initializer = constant(1);  ///< Initial running variances.

  static constexpr std::string_view type_name = "batch_norm";
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    return normalize(s, x, [&](const variable& gamma, const variable& beta) {
      return ops::normalize(normalization::batch, x, gamma, beta, epsilon);
    });
  }

  /// Runs the layer, with another function for training: `in_training(gamma, beta)` returns the
  /// normalized input, the means and the variances.
  template <class InTraining>
  [[nodiscard]] variable normalize(scope& s, const variable& x,
                                   const InTraining& in_training) const {
    s.expect(x.shape().rank() >= 2, "expected an input (N, ..., C), got ", batch_text(x.shape()));
    s.expect_value(momentum >= 0 && momentum <= 1 && epsilon > 0 && std::isfinite(epsilon),
                   "expected a momentum in [0, 1] and a finite positive epsilon");
    const shape channels{x.shape().back()};
    if (!s.is_training()) {
      const auto [factor, shift] = scale_and_shift(s, x.owner(), channels);
      return x * factor + shift;
    }
    const variable gamma = scale_of(s, x.owner(), channels);
    const variable beta = s.parameter("beta", channels, beta_initializer);
    auto& running_mean = s.mutable_state("moving_mean", channels, moving_mean_initializer);
    ops::normalized_variable result = in_training(gamma, beta);
    blend(s.device(), running_mean, std::move(result.mean));
    blend(s.device(), s.mutable_state("moving_variance", channels, moving_variance_initializer),
          std::move(result.variance));
    return std::move(result.output);
  }

  [[nodiscard]] std::string description() const { return std::string(type_name); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("momentum", self.momentum);
    visit("epsilon", self.epsilon);
    visit("scale", self.scale);
  }

  friend bool operator==(const batch_norm&, const batch_norm&) = default;

 private:
  struct affine {
    variable factor;
    variable shift;
  };

  [[nodiscard]] variable scale_of(scope& s, tape& owner, const shape& channels) const {
    return scale ? s.parameter("gamma", channels, gamma_initializer)
                 : owner.constant(s.device().run(kernels::full{channels, 1}));
  }

  /// Returns the factor and the shift with which the layer computes x * factor + shift in
  /// inference.
  [[nodiscard]] affine scale_and_shift(scope& s, tape& owner, const shape& channels) const {
    const variable gamma = scale_of(s, owner, channels);
    const variable beta = s.parameter("beta", channels, beta_initializer);
    const variable mean = owner.constant(s.state("moving_mean", channels, moving_mean_initializer));
    const variable variance =
        owner.constant(s.state("moving_variance", channels, moving_variance_initializer));
    const variable factor = gamma / ops::sqrt(variance + epsilon);
    return {factor, beta - mean * factor};
  }

  void blend(const glia::device& device, tensor& running, tensor batch) const {
    running = device.run(
        kernels::binary{binary_function::add},
        device.run(kernels::unary{{unary_function::affine, momentum, 0}}, std::move(running)),
        device.run(kernels::unary{{unary_function::affine, 1 - momentum, 0}}, std::move(batch)));
  }
};

/// Layer normalization: normalizes the features of each position to mean 0 and variance 1.
///
///     y = gamma (x - mean) / sqrt(variance + epsilon) + beta
///
/// The input and output are (N, ..., C). Mean and variance are over the features (last axis). The
/// parameters are `gamma` (C) and `beta` (C). The layer behaves the same in training and inference.
/// The defaults are the same as in Keras; PyTorch's epsilon is 1e-5. Ba, Kiros and Hinton, 2016.
///
/// Throws `shape_error` if the input has fewer than two axes, and `value_error` if `epsilon` is not
/// positive and finite.
struct layer_norm {
  double epsilon = 1e-3;                        ///< Number added to the variance, above 0.
  initializer gamma_initializer = constant(1);  ///< Initial values of the factors gamma.
  initializer beta_initializer = constant(0);   ///< Initial values of the offsets beta.

  static constexpr std::string_view type_name = "layer_norm";
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    s.expect(x.shape().rank() >= 2, "expected an input (N, ..., C), got ", batch_text(x.shape()));
    s.expect_value(epsilon > 0 && std::isfinite(epsilon), "expected a finite positive epsilon");
    const shape features{x.shape().back()};
    const variable gamma = s.parameter("gamma", features, gamma_initializer);
    const variable beta = s.parameter("beta", features, beta_initializer);
    return ops::normalize(normalization::layer, x, gamma, beta, epsilon).output;
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("epsilon", self.epsilon);
  }

  friend bool operator==(const layer_norm&, const layer_norm&) = default;
};

}  // namespace glia

#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/normalization.hpp"

namespace glia {

/// Normalises every channel (last axis) to mean 0 and variance 1 over the batch and all positions,
/// then scales by gamma (C) and shifts by beta (C). While training it uses the batch's own
/// statistics and keeps running averages, r = momentum r + (1 - momentum) batch; afterwards those.
/// Ioffe and Szegedy, ICML 2015. Defaults and the biased running variance are Keras's.
///
/// Throws `shape_error` for inputs without a channel axis.
struct batch_norm {
  double momentum = 0.99;  ///< in [0, 1]
  double epsilon = 1e-3;   ///< > 0
  bool scale = true;       ///< false: no gamma, where what follows can scale as well
  initializer gamma_initializer = constant(1);
  initializer beta_initializer = constant(0);
  initializer moving_mean_initializer = constant(0);
  initializer moving_variance_initializer = constant(1);

  static constexpr std::string_view type_name = "batch_norm";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    s.expect(x.shape().rank() >= 2, "expected input (N, ..., C), got ", batch_text(x.shape()));
    s.expect_value(momentum >= 0 && momentum <= 1 && epsilon > 0 && std::isfinite(epsilon),
                   "expected a momentum in [0, 1] and a finite positive epsilon");
    const shape channels{x.shape().back()};
    if (!s.training()) {
      const auto [factor, shift] = scale_and_shift(s, x.owner(), channels);
      return x * factor + shift;
    }
    const variable<B> gamma = scale_of(s, x.owner(), channels);
    const variable<B> beta = s.parameter("beta", channels, beta_initializer);
    auto& running_mean = s.changing_state("moving_mean", channels, moving_mean_initializer);
    auto result = ops::normalize(normalization::batch, x, gamma, beta, epsilon);
    blend(s.device(), running_mean, std::move(result.mean));
    blend(s.device(), s.changing_state("moving_variance", channels, moving_variance_initializer),
          std::move(result.variance));
    return std::move(result.output);
  }

  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const batch_norm&, const batch_norm&) = default;

 private:
  template <backend B>
  struct affine {
    variable<B> factor;
    variable<B> shift;
  };

  template <backend B>
  [[nodiscard]] variable<B> scale_of(scope<B>& s, tape<B>& owner, const shape& channels) const {
    return scale ? s.parameter("gamma", channels, gamma_initializer)
                 : owner.constant(s.device().run(kernels::full{channels, 1}));
  }

  /// What the layer comes to in inference: x factor + shift.
  template <backend B>
  [[nodiscard]] affine<B> scale_and_shift(scope<B>& s, tape<B>& owner,
                                          const shape& channels) const {
    const variable<B> gamma = scale_of(s, owner, channels);
    const variable<B> beta = s.parameter("beta", channels, beta_initializer);
    const variable<B> mean =
        owner.constant(s.state("moving_mean", channels, moving_mean_initializer));
    const variable<B> variance =
        owner.constant(s.state("moving_variance", channels, moving_variance_initializer));
    const variable<B> factor = gamma / ops::square_root(variance + epsilon);
    return {factor, beta - mean * factor};
  }

  template <backend B>
  void blend(const B& device, typename B::tensor& running, typename B::tensor batch) const {
    running = device.run(
        kernels::binary{binary_function::add},
        device.run(kernels::unary{{unary_function::affine, momentum, 0}}, std::move(running)),
        device.run(kernels::unary{{unary_function::affine, 1 - momentum, 0}}, std::move(batch)));
  }
};

/// Normalises every row of features (last axis) to mean 0 and variance 1, then scales by gamma (C)
/// and shifts by beta (C). Ba, Kiros and Hinton, 2016. The default epsilon is Keras's.
///
/// Throws `shape_error` for inputs without a feature axis.
struct layer_norm {
  double epsilon = 1e-3;  ///< > 0
  initializer gamma_initializer = constant(1);
  initializer beta_initializer = constant(0);

  static constexpr std::string_view type_name = "layer_norm";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    s.expect(x.shape().rank() >= 2, "expected input (N, ..., C), got ", batch_text(x.shape()));
    s.expect_value(epsilon > 0 && std::isfinite(epsilon), "expected a finite positive epsilon");
    const shape features{x.shape().back()};
    const variable<B> gamma = s.parameter("gamma", features, gamma_initializer);
    const variable<B> beta = s.parameter("beta", features, beta_initializer);
    return ops::normalize(normalization::layer, x, gamma, beta, epsilon).output;
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const layer_norm&, const layer_norm&) = default;
};

}  // namespace glia

#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "glia/layers/scope.hpp"
#include "glia/ops/normalization.hpp"

namespace glia {

/// Normalises groups of channels (last axis) of every sample to mean 0 and variance 1 over all
/// positions, then scales by gamma (C) and shifts by beta (C). Wu and He, ECCV 2018. Defaults are
/// Keras's; one channel in each group is instance normalisation.
///
/// Throws `shape_error` for inputs without a channel axis, `value_error` for groups that do not
/// divide the channels.
struct group_norm {
  std::size_t groups = 32;
  double epsilon = 1e-3;  ///< > 0
  initializer gamma_initializer = constant(1);
  initializer beta_initializer = constant(0);

  static constexpr std::string_view type_name = "group_norm";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const shape in = x.shape();
    s.expect(in.rank() >= 2, "expected input (N, ..., C), got ", batch_text(in));
    s.expect_value(epsilon > 0 && std::isfinite(epsilon), "expected a finite positive epsilon");
    const std::size_t channels = in.back();
    s.expect_value(groups > 0 && channels > 0 && channels % groups == 0, "groups (", groups,
                   ") must divide the input's channels (", channels, ")");
    const variable<B> gamma = s.parameter("gamma", {channels}, gamma_initializer);
    const variable<B> beta = s.parameter("beta", {channels}, beta_initializer);
    return ops::normalize(normalization::group, x, gamma, beta, epsilon, groups).output;
  }
  [[nodiscard]] std::string description() const { return text("group_norm(", groups, ')'); }
  friend bool operator==(const group_norm&, const group_norm&) = default;
};

/// Divides every row of features (last axis) by the root of its mean square, and scales by `scale`
/// (C): x scale / sqrt(mean(x^2) + epsilon). Zhang and Sennrich, NeurIPS 2019. Defaults are
/// Keras's.
///
/// Throws `shape_error` for inputs without a feature axis.
struct rms_norm {
  double epsilon = 1e-6;  ///< > 0
  initializer scale_initializer = constant(1);

  static constexpr std::string_view type_name = "rms_norm";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const shape in = x.shape();
    s.expect(in.rank() >= 2 && in.back() > 0, "expected input (N, ..., C), got ", batch_text(in));
    s.expect_value(epsilon > 0 && std::isfinite(epsilon), "expected a finite positive epsilon");
    const variable<B> scale = s.parameter("scale", {in.back()}, scale_initializer);
    const variable<B> none = x.owner().constant(s.device().run(kernels::full{{in.back()}, 0}));
    return ops::normalize(normalization::rms, x, scale, none, epsilon).output;
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const rms_norm&, const rms_norm&) = default;
};

}  // namespace glia

#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/normalization.hpp"
#include "glia/ops/reductions.hpp"

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
    // Groups of one channel are columns; longer ones are made so.
    const std::size_t positions = sample_of(in).size() / channels;
    const std::size_t each = channels / groups;
    if (each == 1) {
      const variable<B> apart = ops::reshape(std::move(x), {in[0], positions, channels});
      return ops::reshape(
          ops::normalize(normalization::group, apart, gamma, beta, epsilon, groups).output, in);
    }
    const auto number = [&](double value) {
      return s.device().run(kernels::full{{groups}, value});
    };
    const variable<B> ones = x.owner().constant(number(1));
    const variable<B> zeros = x.owner().constant(number(0));
    const variable<B> turned = ops::permute_axes(
        ops::reshape(std::move(x), {in[0], positions, groups, each}), {0, 1, 3, 2});
    const variable<B> normal =
        ops::normalize(normalization::group,
                       ops::reshape(turned, {in[0], positions * each, groups}), ones, zeros,
                       epsilon, groups)
            .output;
    return ops::reshape(ops::permute_axes(ops::reshape(normal, {in[0], positions, each, groups}),
                                          {0, 1, 3, 2}),
                        in) *
               gamma +
           beta;
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

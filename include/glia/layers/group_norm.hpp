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

/// Group normalization: normalizes each group of channels of a sample to mean 0 and variance 1.
///
///     y = gamma (x - mean) / sqrt(variance + epsilon) + beta
///
/// The input and output are (N, ..., C). The layer computes a mean and a variance for each sample
/// and each group of C / groups neighboring channels (last axis), over all positions. The
/// parameters are `gamma` (C) and `beta` (C). The layer behaves the same in training and inference.
/// The defaults are the same as in Keras. With `groups` = C it is instance normalization. Wu and
/// He, ECCV 2018.
///
/// Throws `shape_error` if the input has fewer than two axes, and `value_error` if `groups` does
/// not divide the channels or `epsilon` is not positive and finite.
struct group_norm {
  std::size_t groups = 32;  ///< Number of groups, at least 1; must divide the number of channels.
  double epsilon = 1e-3;    ///< Number added to the variance, above 0.
  initializer gamma_initializer = constant(1);  ///< Initial values of the factors gamma.
  initializer beta_initializer = constant(0);   ///< Initial values of the offsets beta.

  static constexpr std::string_view type_name = "group_norm";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const shape extents = x.shape();
    s.expect(extents.rank() >= 2, "expected an input (N, ..., C), got ", batch_text(extents));
    s.expect_value(epsilon > 0 && std::isfinite(epsilon), "expected a finite positive epsilon");
    const std::size_t channels = extents.back();
    s.expect_value(groups > 0 && channels > 0 && channels % groups == 0, "groups (", groups,
                   ") must divide the input's channels (", channels, ")");
    const variable gamma = s.parameter("gamma", {channels}, gamma_initializer);
    const variable beta = s.parameter("beta", {channels}, beta_initializer);
    // The kernel normalizes columns. A group of one channel is a column already; larger groups are
    // permuted into columns.
    const std::size_t positions = sample_of(extents).size() / channels;
    const std::size_t group_size = channels / groups;
    if (group_size == 1) {
      const variable apart = ops::reshape(std::move(x), {extents[0], positions, channels});
      return ops::reshape(
          ops::normalize(normalization::group, apart, gamma, beta, epsilon, groups).output,
          extents);
    }
    const auto number = [&](double value) {
      return s.device().run(kernels::full{{groups}, value});
    };
    const variable ones = x.owner().constant(number(1));
    const variable zeros = x.owner().constant(number(0));
    const variable turned = ops::permute(
        ops::reshape(std::move(x), {extents[0], positions, groups, group_size}), {0, 1, 3, 2});
    const variable normal =
        ops::normalize(normalization::group,
                       ops::reshape(turned, {extents[0], positions * group_size, groups}), ones,
                       zeros, epsilon, groups)
            .output;
    return ops::reshape(
               ops::permute(ops::reshape(normal, {extents[0], positions, group_size, groups}),
                            {0, 1, 3, 2}),
               extents) *
               gamma +
           beta;
  }
  [[nodiscard]] std::string description() const { return text("group_norm(", groups, ')'); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("groups", self.groups);
    visit("epsilon", self.epsilon);
  }

  friend bool operator==(const group_norm&, const group_norm&) = default;
};

/// Root mean square normalization: divides the features of each position by their root mean square.
///
///     y = scale x / sqrt(mean(x^2) + epsilon)
///
/// The input and output are (N, ..., C). The mean is over the features (last axis). The parameter
/// is `scale` (C). The layer behaves the same in training and inference. The defaults are the same
/// as in Keras. Zhang and Sennrich, NeurIPS 2019.
///
/// Throws `shape_error` if the input has fewer than two axes or no features, and `value_error` if
/// `epsilon` is not positive and finite.
struct rms_norm {
  double epsilon = 1e-6;                        ///< Number added to the mean square, above 0.
  initializer scale_initializer = constant(1);  ///< Initial values of the factors `scale`.

  static constexpr std::string_view type_name = "rms_norm";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    const shape extents = x.shape();
    s.expect(extents.rank() >= 2 && extents.back() > 0, "expected an input (N, ..., C), got ",
             batch_text(extents));
    s.expect_value(epsilon > 0 && std::isfinite(epsilon), "expected a finite positive epsilon");
    const variable scale = s.parameter("scale", {extents.back()}, scale_initializer);
    const variable zeros = x.owner().constant(s.device().run(kernels::full{{extents.back()}, 0}));
    return ops::normalize(normalization::rms, x, scale, zeros, epsilon).output;
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("epsilon", self.epsilon);
  }

  friend bool operator==(const rms_norm&, const rms_norm&) = default;
};

}  // namespace glia

#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <string_view>

#include "glia/core/inline.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/comparisons.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

namespace detail {

/// Returns x where the condition is not 0, and 0 elsewhere.
[[nodiscard]] inline variable select_or_zero(const tensor& condition, const variable& x) {
  return ops::where(condition, x, x.owner().constant(x.device().run(kernels::full{{}, 0})));
}

}  // namespace detail

/// Scales each channel to mean 0 and standard deviation 1, with the statistics of the training
/// data.
///
///     y = (x - mean) / scale
///
/// The input is (N, ..., C), and statistics are those of the channels C (the last axis). `adapt`
/// computes them from a data set. Until then, the layer only replaces missing values, and `fit`
/// adds a note to the history, unless other initial values are set. The statistics are parameters
/// of the model that are not trained: `mean` (C) and `scale` (C), the standard deviation, or 1 for
/// a channel with one value. `save`, checkpoints and `write_onnx` therefore store them with the
/// network.
///
/// NaN means that a value is missing. The output is 0 there, as if the value were the mean. With
/// `invert`, the output is NaN there, and `adapt` leaves out missing targets.
///
/// With `invert`, the layer computes y = mean + scale * x, and `adapt` fits it to the targets of
/// the data set. As the last layer of a model, it turns numbers near 0, which a network learns
/// fast, into predictions in the unit of the targets.
///
/// The output is (N, ..., C), or (N, ..., 2 C) with `missing_indicator`.
///
/// Throws `shape_error` if the input does not have at least two axes, and `value_error` if `invert`
/// and `missing_indicator` are both set. With `invert`, `adapt` throws `shape_error` unless the
/// targets have the shape of the layer's output.
struct standardize {
  /// Whether the layer appends a channel for each input channel, which is 1 where the value is
  /// missing and 0 elsewhere.
  bool missing_indicator = false;
  /// Whether the layer applies the inverse transformation, with the statistics of the targets.
  bool invert = false;
  initializer mean_initializer = constant(0);   ///< Means before `adapt`.
  initializer scale_initializer = constant(1);  ///< Scales before `adapt`.

  static constexpr std::string_view type_name = "standardize";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    s.expect(x.shape().rank() >= 2, "expected an input (N, ..., C), got ", batch_text(x.shape()));
    s.expect_value(!invert || !missing_indicator,
                   "expected only one of invert and missing_indicator, got both");
    const shape channels{x.shape().back()};
    const auto [mean, scale] = s.adaptation() == nullptr
                                   ? fitted{s.state("mean", channels, mean_initializer),
                                            s.state("scale", channels, scale_initializer)}
                                   : fit(s, x, channels);
    if (s.is_planning() && mean_initializer == constant(0) && scale_initializer == constant(1)) {
      s.expect_adapt();
    }
    tape& owner = x.owner();
    if (invert) {
      return x * owner.constant(scale) + owner.constant(mean);
    }
    const tensor is_present = ops::equal(x, x);  // NaN differs from itself
    const variable y =
        detail::select_or_zero(is_present, ops::true_divide(x - mean, owner.constant(scale)));
    return missing_indicator ? ops::concat({y, 1.0 - owner.constant(is_present)}, -1) : y;
  }

  [[nodiscard]] std::string description() const {
    return invert              ? "standardize, invert"
           : missing_indicator ? "standardize, missing indicator"
                               : "standardize";
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("missing_indicator", self.missing_indicator);
    visit("invert", self.invert);
  }

  friend bool operator==(const standardize&, const standardize&) = default;

 private:
  struct fitted {
    tensor mean;
    tensor scale;
  };

  /// Adds x, or the targets, to the statistics that `adapt` collects. Returns the current values of
  /// the states.
  [[nodiscard]] GLIA_INLINE fitted fit(scope& s, const variable& x, const shape& channels) const;
};

/// Turns class indices into columns of zeros and ones.
///
/// The input is (N, ..., C): C columns of class indices from 0 to K - 1, with K = `num_classes`, as
/// in the text columns of a `csv_table`. The output is (N, ..., C * K): K columns for each column,
/// which are 1 in the column of the class and 0 elsewhere. NaN, a missing value, results in K
/// zeros. The gradient of the input is 0.
///
/// Throws `shape_error` if the input does not have at least two axes, and `value_error` if
/// `num_classes` is 0. If the layer reads the model's samples directly, a sample with any other
/// number throws `data_error`, unless `ignore_unknown` is set. Behind other layers, any other
/// number results in K zeros.
struct one_hot {
  std::size_t num_classes = 0;  ///< Number of classes K, at least 1. Required.
  /// Whether numbers that are no class result in K zeros, such as the index K of a text that is
  /// unknown to a `csv_table`. By default, they are an error.
  bool ignore_unknown = false;

  static constexpr std::string_view type_name = "one_hot";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    s.expect(x.shape().rank() >= 2, "expected an input (N, ..., C), got ", batch_text(x.shape()));
    s.expect_value(num_classes > 0, "expected a num_classes of at least 1");
    if (!ignore_unknown) {
      s.expect_integers(x.shape(), num_classes,
                        "increase num_classes, correct the data, or set ignore_unknown, which "
                        "gives zeros for unknown classes",
                        true);
    }
    const tensor rows = s.device().run(kernels::one_hot{num_classes},
                                       s.device().run(kernels::to_index{}, x.value()));
    shape columns = x.shape();
    columns[columns.rank() - 1] *= num_classes;
    return x.owner().constant(s.device().run(kernels::reshape{columns}, rows));
  }

  [[nodiscard]] std::string description() const {
    return text("one_hot(", num_classes, ignore_unknown ? ", ignore unknown" : "", ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("num_classes", self.num_classes);
    visit("ignore_unknown", self.ignore_unknown);
  }

  friend bool operator==(const one_hot&, const one_hot&) = default;
};

/// Turns numbers that repeat after a period, such as days of the year, into a sine and a cosine.
///
///     y = (sin(2 pi x / period), cos(2 pi x / period))
///
/// The input is (N, ..., C) and the output (N, ..., 2 C): first the sines of all columns, then
/// their cosines. The end of a period is then as close to the beginning as neighboring numbers are.
/// With days since 1970, as in the date columns of a `csv_table`, the period is 365.2425 for the
/// time of the year, and 7 for the day of the week. Numbers must be finite, or NaN for a missing
/// value, which results in zeros.
///
/// Throws `shape_error` if the input does not have at least two axes, and `value_error` if `period`
/// is not positive and finite.
struct periodic_encoding {
  double period = 0;  ///< Length of a period, in the unit of the input. Required.

  static constexpr std::string_view type_name = "periodic_encoding";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    s.expect(x.shape().rank() >= 2, "expected an input (N, ..., C), got ", batch_text(x.shape()));
    s.expect_value(period > 0 && std::isfinite(period), "expected a positive finite period, got ",
                   period);
    const tensor is_present = ops::equal(x, x);  // NaN differs from itself
    const variable number = detail::select_or_zero(is_present, x);
    // Whole periods are subtracted first, because a float has few digits for a large angle.
    const variable rest = number - ops::floor(number * (1 / period)) * period;
    const variable angle = rest * (2 * std::numbers::pi / period);
    return ops::concat({ops::sin(angle), detail::select_or_zero(is_present, ops::cos(angle))}, -1);
  }

  [[nodiscard]] std::string description() const { return text("periodic_encoding(", period, ')'); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("period", self.period);
  }

  friend bool operator==(const periodic_encoding&, const periodic_encoding&) = default;
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/layers/preprocessing_impl.hpp"
#endif

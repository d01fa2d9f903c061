#pragma once

#include "glia/training/metric.hpp"

namespace glia {

/// The mean absolute error: the mean of |y - t| over all samples and outputs.
///
/// `fit` and `evaluate` throw `value_error` if outputs and targets differ in shape, or if the loss
/// takes logits.
[[nodiscard]] metric mae();

/// The mean absolute percentage error, as a fraction: the mean of |y - t| / |t| over all samples
/// and outputs. A target of 0 counts as 2.2e-16, as in scikit-learn. Keras multiplies the mean by
/// 100 and counts a target of 0 as 1e-7.
///
/// `fit` and `evaluate` throw `value_error` if outputs and targets differ in shape, if the loss
/// takes logits, or if the samples have class labels.
[[nodiscard]] metric mape();

/// The root mean squared error: the square root of the mean of (y - t)^2 over all samples and
/// outputs.
///
/// `fit` and `evaluate` throw `value_error` if outputs and targets differ in shape, or if the loss
/// takes logits.
[[nodiscard]] metric rmse();

/// The coefficient of determination R^2: 1 - sum (y - t)^2 / sum (t - mean(t))^2.
///
/// The sums and the mean are over all samples and outputs together. Keras's `R2Score` and
/// scikit-learn's `r2_score` compute one score for each output and average them.
///
/// The score is 1 for perfect predictions, 0 for a model that always predicts the mean of the
/// targets, and NaN if all targets are equal. `fit` and `evaluate` throw `value_error` if outputs
/// and targets differ in shape, or if the loss takes logits.
[[nodiscard]] metric r2_score();

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/regression_metrics_impl.hpp"
#endif

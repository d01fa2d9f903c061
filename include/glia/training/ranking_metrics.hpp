#pragma once

#include "glia/training/metric.hpp"

namespace glia {

/// The area under the ROC curve, which plots the true positive rate against the false positive
/// rate.
///
/// It is computed exactly, from all pairs of a sample of class 1 and a sample of class 0: it is the
/// fraction of pairs in which the sample of class 1 has the higher score. A pair with equal scores
/// counts as half a pair. Keras's `AUC` approximates the curve with 200 thresholds.
///
/// The score of a sample is the model's output. For a model with two outputs, it is the output of
/// class 1 minus the output of class 0. The area is NaN if one of the classes is missing or if a
/// score is NaN. The metric needs 24 bytes of memory for each sample.
///
/// Class 1 is the positive class. `fit` and `evaluate` throw `value_error` unless the model has one
/// output or two outputs and the samples have class labels.
///
/// Source: Hanley and McNeil, "The meaning and use of the area under a receiver operating
/// characteristic (ROC) curve", Radiology 143, 1982. The number of such pairs is the Mann-Whitney
/// statistic.
[[nodiscard]] metric auc();

/// The average precision: the area under the curve of precision against recall, as a sum without
/// interpolation.
///
/// All samples with a score of at least a threshold are predicted as class 1. The sum of
/// (R_n - R_(n-1)) P_n is over all thresholds that are scores of samples, from the highest to the
/// lowest, with the recall R_n and the precision P_n. The score of a sample is that of `auc`.
///
/// The result is 0 if no sample has class 1, and NaN if a score is NaN. The metric needs 24 bytes
/// of memory for each sample. Its requirements are those of `auc`.
///
/// Source: scikit-learn's `average_precision_score`.
[[nodiscard]] metric average_precision();

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/ranking_metrics_impl.hpp"
#endif

#pragma once

#include "glia/training/metric.hpp"

// Metrics for two classes. Class 1 is the positive class. The model has one or two outputs. If it
// has two, the higher output is the predicted class. Samples have class labels, not real-valued
// targets.

namespace glia {

/// The precision of class 1: TP / (TP + FP), the fraction of the samples predicted as class 1 that
/// belong to class 1. It is 0 if no sample is predicted as class 1.
///
/// For models with one output or two outputs, and samples with the labels 0 and 1. For more
/// classes, use `confusion_matrix`.
[[nodiscard]] metric precision();

/// The recall of class 1: TP / (TP + FN), the fraction of the samples of class 1 that are predicted
/// as class 1. It is 0 if there are no samples of class 1.
///
/// For models with one output or two outputs, and samples with the labels 0 and 1. For more
/// classes, use `confusion_matrix`.
[[nodiscard]] metric recall();

/// The F1 score of class 1: the harmonic mean of precision P and recall R, 2 P R / (P + R). It is 0
/// if both are 0.
///
/// For models with one output or two outputs, and samples with the labels 0 and 1.
[[nodiscard]] metric f1_score();

/// The area under the ROC curve, which plots the true positive rate against the false positive
/// rate.
///
/// It is computed exactly, from all pairs of a sample of class 1 and a sample of class 0: it is the
/// fraction of pairs in which the sample of class 1 has the higher score. A pair with equal scores
/// counts as half a pair. Keras's `AUC` approximates the curve with 200 thresholds.
///
/// The score of a sample is the model's output. For a model with two outputs, it is the output of
/// class 1 minus the output of class 0. The area is NaN if one of the classes is missing or if a
/// score is NaN. The metric needs 16 bytes of memory for each sample.
///
/// Source: Hanley and McNeil, "The meaning and use of the area under a receiver operating
/// characteristic (ROC) curve", Radiology 143, 1982. The number of such pairs is the Mann-Whitney
/// statistic.
[[nodiscard]] metric auc();

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/binary_metrics_impl.hpp"
#endif

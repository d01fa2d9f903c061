#pragma once

#include <cstddef>
#include <optional>

#include "glia/training/class_count.hpp"
#include "glia/training/metric.hpp"

// Metrics computed from the number of samples, predictions and right predictions of each class.
// The predicted class is the highest of K outputs. For two classes, the model can have one output,
// which predicts class 1 above a threshold. Outputs can be rows, such as the steps of a sequence or
// the pixels of an image; each row of the outputs then counts as a sample, except rows of class -1.

namespace glia {

/// Selects the classes that a metric measures, and how it averages over them.
struct class_options {
  /// Number of classes, K.
  std::size_t classes = 2;
  /// The class to measure; by default, the average over all classes.
  std::optional<std::size_t> class_index = {};
  averaging average = averaging::macro;
  /// Whether a sample can have several of K labels. Each output then predicts one label, and the
  /// targets have the shape of the outputs and are 0 or 1.
  bool multilabel = false;
  /// A single output, or an output of a multilabel model, predicts its class above this value;
  /// by default 0 for logits and 0.5 for probabilities.
  std::optional<double> threshold = {};
};

/// The precision: the fraction of the samples predicted as a class that belong to the class. It is
/// 0 if no sample is predicted as the class.
///
/// By default, it is the precision of class 1 of two classes.
///
///     glia::precision()                                                    // "precision"
///     glia::precision({.classes = 10})                                     // "precision_macro"
///     glia::precision({.classes = 10, .class_index = 7})                   // "precision_7"
///     glia::precision({.classes = 5, .average = glia::averaging::micro, .multilabel = true})
///
/// Throws `value_error` if the options contradict each other. `fit` and `evaluate` throw
/// `value_error` if the number of classes is not that of the model, and `data_error` if a target
/// is not a class.
[[nodiscard]] metric precision(const class_options& options = {.class_index = 1});

/// The recall: the fraction of the samples of a class that are predicted as the class. It is 0 if
/// there are no samples of the class. By default, it is the recall of class 1 of two classes; see
/// `precision` for the options and errors.
[[nodiscard]] metric recall(const class_options& options = {.class_index = 1});

/// The F1 score: the harmonic mean of precision P and recall R, 2 P R / (P + R). It is 0 if both
/// are 0. By default, it is the F1 score of class 1 of two classes; see `precision` for the options
/// and errors. For the pixels of images, this is the Dice coefficient.
[[nodiscard]] metric f1_score(const class_options& options = {.class_index = 1});

/// Intersection over union: the number of samples of a class that are predicted as the class,
/// divided by the number of samples of which at least one of the two is true. By default, it is
/// that of class 1 of two classes; see `precision` for the options and errors. For the pixels of
/// images, `iou({.classes = 21})` is the mean IoU.
[[nodiscard]] metric iou(const class_options& options = {.class_index = 1});

/// The balanced accuracy: the mean of the recalls of all classes that have samples.
[[nodiscard]] metric balanced_accuracy(std::size_t classes = 2);

/// The Matthews correlation coefficient of true and predicted classes, from -1 to 1. It is 0 if all
/// samples have the same class or the same prediction. The overload for `class_count` has the
/// formula.
[[nodiscard]] metric matthews_correlation(std::size_t classes = 2);

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/class_metrics_impl.hpp"
#endif

#pragma once

#include <cstddef>
#include <optional>

#include "glia/training/class_count.hpp"
#include "glia/training/metric.hpp"

namespace glia {

/// The classes that a metric measures, for metrics computed from the number of samples, predictions
/// and right predictions of each class.
///
/// The predicted class is the highest of K outputs. A sample with an output that is NaN predicts no
/// class. For two classes, the model can have one output, which predicts class 1 above a threshold.
/// Outputs can be rows, such as the steps of a sequence or the pixels of an image. Each row then
/// counts as a sample, except rows of class -1 of a model with K outputs.
///
/// Targets are labels, classes of rows, or, for more than two classes, rows of which one target is
/// 1 and the others are 0. For a model with one output they can also be the values 0 and 1.
struct class_options {
  /// Number of classes, K.
  std::size_t classes = 2;
  /// The class to measure. By default, it is class 1 of two classes. For more classes, the default
  /// is an average over all classes.
  std::optional<std::size_t> class_index = {};
  /// Kind of average over the classes; by default `macro`. Set it to measure both of two classes.
  std::optional<averaging> average = {};
  /// Whether a sample can have several of K labels. Each output then predicts one label, and the
  /// targets have the shape of the outputs and are 0 or 1.
  bool multilabel = false;
  /// A single output, or an output of a multilabel model, predicts its class above this value. By
  /// default, it is 0 for logits and 0.5 for probabilities.
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
/// Throws `value_error` if `classes` is less than 2, or less than 1 with `multilabel`, if
/// `class_index` is not below `classes`, or if both `class_index` and `average` are set. `fit` and
/// `evaluate` throw `value_error` if the number of classes is not that of the model, and
/// `data_error` if a target is not a class.
[[nodiscard]] metric precision(const class_options& options = {});

/// The recall: the fraction of the samples of a class that are predicted as the class. It is 0 if
/// there are no samples of the class. By default, it is the recall of class 1 of two classes; see
/// `precision` for the options and errors.
[[nodiscard]] metric recall(const class_options& options = {});

/// The F1 score: the harmonic mean of precision P and recall R, 2 P R / (P + R). It is 0 if both
/// are 0. By default, it is the F1 score of class 1 of two classes; see `precision` for the options
/// and errors. For the pixels of images, this is the Dice coefficient.
[[nodiscard]] metric f1_score(const class_options& options = {});

/// Intersection over union: the number of samples of a class that are predicted as the class,
/// divided by the number of samples of which at least one of the two is true. By default, it is
/// that of class 1 of two classes; see `precision` for the options and errors. For the pixels of
/// images, `iou({.classes = 21})` is the mean IoU.
[[nodiscard]] metric iou(const class_options& options = {});

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

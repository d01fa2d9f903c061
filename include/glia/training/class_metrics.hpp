#pragma once

#include <cstddef>
#include <optional>

#include "glia/training/class_count.hpp"
#include "glia/training/metric.hpp"

namespace glia {

/// The classes that `precision`, `recall`, `f1_score` and `iou` measure.
///
/// With K outputs, the highest output is the predicted class. With one output, class 1 is predicted
/// above a threshold. A sample with a NaN output has no predicted class. If each step of a sequence
/// or each pixel of an image has its own class, each of them counts as one sample, except those of
/// class -1.
///
/// Targets are class labels, a class for each step or pixel, or, for more than two classes, one-hot
/// rows. For a model with one output, they can also be the values 0 and 1.
struct class_options {
  /// Number of classes, K.
  std::size_t classes = 2;
  /// The class to measure. If neither `class_index` nor `average` is set, a metric for two classes
  /// measures class 1, and a metric for more classes, or for several labels, is the macro average.
  std::optional<std::size_t> class_index = {};
  /// Kind of average over all classes. A macro average leaves out classes without samples and
  /// without predictions, but includes all labels if `multilabel` is set.
  std::optional<averaging> average = {};
  /// Whether a sample can have several of K labels. Each output then predicts one label, and the
  /// targets have the shape of the outputs and are 0 or 1.
  bool multilabel = false;
  /// A single output, or an output of a multilabel model, predicts its class above this value. It
  /// is compared with the output itself: if the loss takes logits, the probability 0.9 is the logit
  /// ln(0.9 / 0.1) = 2.197. The default is 0 for logits and 0.5 for probabilities. Models with an
  /// output for each of two or more classes have no threshold.
  std::optional<double> threshold = {};
};

/// The precision: the fraction of the samples predicted as a class that belong to the class. It is
/// 0 if no sample is predicted as the class.
///
/// By default, it is the precision of class 1 of two classes. The class, the average and the
/// threshold are part of the name of the metric:
///
///     glia::precision()                                                    // "precision"
///     glia::precision({.classes = 10})                                     // "precision_macro"
///     glia::precision({.classes = 10, .class_index = 7})                   // "precision_7"
///     glia::precision({.threshold = 0.7})                                  // "precision_at_0.7"
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

/// The balanced accuracy: the mean of the recalls of all classes that have samples. `classes` is
/// the number of classes; see `class_options` for the targets and `precision` for the errors.
[[nodiscard]] metric balanced_accuracy(std::size_t classes = 2);

/// The Matthews correlation coefficient of true and predicted classes, from -1 to 1. It is 0 if all
/// samples have the same class or the same prediction. `classes` is the number of classes, as in
/// `matthews_correlation(10)`; see `class_options` for the targets and `precision` for the errors.
/// The overload for `class_count` has the formula.
[[nodiscard]] metric matthews_correlation(std::size_t classes = 2);

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/class_metrics_impl.hpp"
#endif

"""Writes sklearn_golden.hpp: what scikit-learn computes for data sets with classes of different sizes, and
its metrics with and without weights of samples.

Run it with scikit-learn from PyPI: python3 tests/golden/make_sklearn_golden.py, then clang-format -i.
"""

import pathlib
import random

import numpy
import sklearn
import sklearn.metrics as metrics
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.class_weight import compute_class_weight

HEADER = """\
// Made by tests/golden/make_sklearn_golden.py with scikit-learn {version}: do not edit.
#pragma once

#include <array>
#include <cstdint>

namespace glia_golden {{

"""


def array(kind, name, values):
    form = {"float": "{:.9e}F", "double": "{:.17e}"}.get(kind, "{}")
    texts = [form.format(value) for value in values]
    return f"inline constexpr std::array<{kind}, {len(texts)}> {name}{{\n    {', '.join(texts)}}};\n"


def stratified_fold(labels, count):
    folds = numpy.empty(len(labels), int)
    for fold, (_, test) in enumerate(StratifiedKFold(count).split(labels, labels)):
        folds[test] = fold
    return folds


AVERAGES = ("macro", "micro", "weighted")
SCORES = {"precision": metrics.precision_score, "recall": metrics.recall_score, "f1_score": metrics.f1_score,
          "iou": metrics.jaccard_score}


def scores_of(truth, prediction, weight, binary=False):
    """For each score: its averages, or the score of class 1 of two."""
    for score in SCORES.values():
        for average in ("binary",) if binary else AVERAGES:
            yield score(truth, prediction, average=average, sample_weight=weight, zero_division=0)


def scores_of_classes(truth, prediction, weight):
    yield from scores_of(truth, prediction, weight)
    yield metrics.balanced_accuracy_score(truth, prediction, sample_weight=weight)
    yield metrics.matthews_corrcoef(truth, prediction, sample_weight=weight)


def scores_of_ranking(truth, score, weight):
    yield metrics.roc_auc_score(truth, score, sample_weight=weight)
    yield metrics.average_precision_score(truth, score, sample_weight=weight)


def rounded(values):
    """Values as glia gets them, in a precision in which scikit-learn does not round them again."""
    return values.astype(numpy.float32).astype(float)


def metric_arrays():
    """Samples of five classes: class 3 is never predicted, class 4 never occurs; weights, some of them 0."""
    rng = numpy.random.default_rng(3)
    count = 60
    truth = rng.integers(0, 4, count)
    prediction = numpy.where(rng.random(count) < 0.6, truth, rng.integers(0, 3, count))
    prediction[prediction == 3] = 0
    weight = rng.choice([0, 0.25, 1, 1.75], count)
    yield array("std::int32_t", "classes", truth)
    yield array("std::int32_t", "predictions", prediction)
    yield array("float", "sample_weights", weight)
    yield array("double", "class_scores", scores_of_classes(truth, prediction, None))
    yield array("double", "weighted_class_scores", scores_of_classes(truth, prediction, weight))
    yield array("double", "scores_of_one_class", scores_of_classes(truth * 0 + 2, prediction * 0 + 2, None))

    two, guess = truth % 2, prediction % 2
    yield array("double", "binary_scores", scores_of(two, guess, None, binary=True))
    yield array("double", "weighted_binary_scores", scores_of(two, guess, weight, binary=True))

    labels = (rng.random((count, 3)) < [0.5, 0.2, 0]).astype(int)
    marks = (rng.random((count, 3)) < [0.6, 0.3, 0]).astype(int)
    yield array("int", "labels_of_three", labels.ravel())
    yield array("int", "predicted_of_three", marks.ravel())
    yield array("double", "multilabel_scores", scores_of(labels, marks, None))
    yield array("double", "weighted_multilabel_scores", scores_of(labels, marks, weight))

    ranks = rng.integers(0, 12, count) / 8  # many are equal
    yield array("float", "ranking_outputs", ranks)
    yield array("double", "ranking_scores", scores_of_ranking(two, ranks, None))
    yield array("double", "weighted_ranking_scores", scores_of_ranking(two, ranks, weight))

    targets = rng.normal(size=count).round(3)
    outputs = (targets + rng.normal(size=count) / 3).round(3)
    yield array("float", "regression_targets", targets)
    yield array("float", "regression_outputs", outputs)
    for name, of_samples in (("regression_scores", None), ("weighted_regression_scores", weight)):
        yield array("double", name, [
            metric(rounded(targets), rounded(outputs), sample_weight=of_samples)
            for metric in (metrics.mean_absolute_error, metrics.root_mean_squared_error, metrics.r2_score,
                           metrics.mean_absolute_percentage_error)])


def arrays():
    labels = [label for label, count in ((2, 11), (0, 23), (3, 8), (1, 5)) for _ in range(count)]
    random.Random(1).shuffle(labels)
    yield array("std::int32_t", "labels", labels)
    yield array("float", "balanced_class_weight", compute_class_weight("balanced", classes=numpy.unique(labels), y=labels))
    yield array("int", "stratified_fold", stratified_fold(labels, 4))
    yield from metric_arrays()


def main():
    path = pathlib.Path(__file__).with_name("sklearn_golden.hpp")
    path.write_text(HEADER.format(version=sklearn.__version__) + "\n".join(arrays()) + "\n}  // namespace glia_golden\n")


main()

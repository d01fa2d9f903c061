"""Writes sklearn_golden.hpp: what scikit-learn computes for data sets with classes of different sizes.

Run it with scikit-learn from PyPI: python3 tests/golden/make_sklearn_golden.py, then clang-format -i.
"""

import pathlib
import random

import numpy
import sklearn
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
    texts = [f"{value:.9e}F" if kind == "float" else str(value) for value in values]
    return f"inline constexpr std::array<{kind}, {len(texts)}> {name}{{\n    {', '.join(texts)}}};\n"


def stratified_fold(labels, count):
    folds = numpy.empty(len(labels), int)
    for fold, (_, test) in enumerate(StratifiedKFold(count).split(labels, labels)):
        folds[test] = fold
    return folds


def arrays():
    labels = [label for label, count in ((2, 11), (0, 23), (3, 8), (1, 5)) for _ in range(count)]
    random.Random(1).shuffle(labels)
    yield array("std::int32_t", "labels", labels)
    yield array("float", "balanced_class_weight", compute_class_weight("balanced", classes=numpy.unique(labels), y=labels))
    yield array("int", "stratified_fold", stratified_fold(labels, 4))


def main():
    path = pathlib.Path(__file__).with_name("sklearn_golden.hpp")
    path.write_text(HEADER.format(version=sklearn.__version__) + "\n".join(arrays()) + "\n}  // namespace glia_golden\n")


main()

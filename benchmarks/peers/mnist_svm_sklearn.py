"""The support vector machines of examples/studies/mnist_svm in scikit-learn, on the very rows that the example used.

    build/peers/bin/python benchmarks/peers/mnist_svm_sklearn.py build/examples/mnist_svm [--rounds 3] [--threads 1]

runs the example's program and, in turns with it, SVC on the train.csv and split.csv that it has written; prints
both programs' times and accuracies side by side, and ends with 1 where accuracies are more than half a point
apart.

SVC is scikit-learn's own copy of LIBSVM on dense rows, its dot products by BLAS, with the defaults (C 1, tolerance
1e-3, cache 200 MB) in float64, the only type it trains in. Tried for 4,000 gray images at gamma 'scale', seconds of
fit, two cores of an Intel Xeon (family 6, model 207):

    1.7    numpy arrays, in C order: kept here
    4.8    the same as scipy.sparse.csr_matrix, which takes LIBSVM's sparse rows
    1.7    a cache of 2,000 MB
    1.7    float32, which fit converts
"""

import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

POINTS_APART = 0.5


def parse_flags():
    flags = argparse.ArgumentParser(description="put examples/studies/mnist_svm beside scikit-learn's SVC")
    flags.add_argument("program", help="the example, as it was built")
    flags.add_argument("--rounds", type=int, default=3)
    flags.add_argument("--threads", type=int, default=1, help="of BLAS; LIBSVM itself has one")
    flags.add_argument("--rows", type=int, default=5000)
    return flags.parse_args()


def run_example(flags, folder):
    """(images, gamma) -> (seconds, accuracy in per cent), and the seconds of results.csv."""
    done = subprocess.run([flags.program, "--output", folder, "--images", str(flags.rows), "--rows", str(flags.rows),
                           "--sizes", "100", "200", "--epochs", "1"], capture_output=True, text=True, check=True)
    rows = re.findall(r"^(gray|black and white) +\S+ (scale|auto) +([\d.]+) s +([\d.]+) %", done.stdout, re.MULTILINE)
    found = {(images, gamma): (float(seconds), float(accuracy)) for images, gamma, seconds, accuracy in rows}
    return found, *re.search(r"in ([\d.]+) s, by the SVM on (\S+) images", done.stdout).groups()


def read_rows(path, rows):
    import numpy

    with open(path, encoding="ascii") as file:
        next(file)
        return numpy.array([line.split(",") for line, _ in zip(file, range(rows))], dtype=numpy.float64)


def run_sklearn(folder, results_on):
    """The same of SVC, on the rows and in the order that the example wrote down."""
    from sklearn.svm import SVC

    data = read_rows(f"{folder}/train.csv", 60000)
    labels, gray = data[:, 0].astype(int), data[:, 1:].copy()
    with open(f"{folder}/split.csv", encoding="ascii") as file:
        split = list(csv.DictReader(file))
    train = [int(row["row"]) for row in split if row["part"] == "train"]
    held_out = [int(row["row"]) for row in split if row["part"] == "held_out"]
    unlabeled = read_rows(f"{folder}/test.csv", 5000)
    results, prediction = {}, {}
    for gamma in ("scale", "auto"):
        for images, pixels in (("gray", gray), ("black and white", (gray != 0).astype(gray.dtype))):
            start = time.perf_counter()
            model = SVC(gamma=gamma).fit(pixels[train], labels[train])
            seconds = time.perf_counter() - start
            accuracy = 100 * float((model.predict(pixels[held_out]) == labels[held_out]).mean())
            results[images, gamma] = seconds, accuracy
            if gamma == "scale" and images.replace(" ", "-") == results_on:
                rows = unlabeled if images == "gray" else (unlabeled != 0).astype(gray.dtype)
                start = time.perf_counter()
                predicted = model.predict(rows)
                prediction["seconds"] = time.perf_counter() - start
                with open(f"{folder}/results.csv", encoding="ascii") as file:
                    written = [int(row["Label"]) for row in csv.DictReader(file)]
                prediction["alike"] = float((predicted == written).mean())
    return results, prediction


def main():
    flags = parse_flags()
    # Read when the libraries load.
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(flags.threads)
    import sklearn

    example, peer, predicting = {}, {}, []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(1, flags.rounds + 1):
            print(f"round {number}/{flags.rounds}", file=sys.stderr)
            ours, ours_predicting, results_on = run_example(flags, folder)
            theirs, prediction = run_sklearn(folder, results_on)
            predicting.append((float(ours_predicting), prediction["seconds"]))
            for case, result in ours.items():
                example.setdefault(case, []).append(result)
            for case, result in theirs.items():
                peer.setdefault(case, []).append(result)

    print(f"{flags.rows} rows of MNIST, a fifth held out, medians of {flags.rounds} rounds; "
          f"scikit-learn {sklearn.__version__}\n\n"
          "| images | gamma | LIBSVM in glia's example | scikit-learn | accuracy | scikit-learn's |\n"
          "| --- | --- | --- | --- | --- | --- |")
    apart = 0
    for (images, gamma), runs in example.items():
        others = peer[images, gamma]
        apart = max(apart, abs(runs[0][1] - others[0][1]))
        print(f"| {images} | {gamma} | {statistics.median(r[0] for r in runs):.2f} s "
              f"| {statistics.median(r[0] for r in others):.2f} s | {runs[0][1]:.2f} % | {others[0][1]:.2f} % |")
    print(f"\n5,000 rows without labels: {statistics.median(p[0] for p in predicting):.2f} s, "
          f"scikit-learn {statistics.median(p[1] for p in predicting):.2f} s; "
          f"{100 * prediction['alike']:.2f} % of them are classified alike.\n"
          f"Accuracies are at most {apart:.2f} points apart.")
    return 0 if apart <= POINTS_APART else 1


if __name__ == "__main__":
    sys.exit(main())

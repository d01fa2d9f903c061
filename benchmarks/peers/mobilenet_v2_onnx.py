"""The features of MobileNetV2 (width 1, 224x224, random weights, batch normalization folded) in float32, by OpenVINO
(--openvino 1) or ONNX Runtime (--openvino 0).

As fast as we could get both. Tried with two threads of an Intel Xeon (family 6, model 207, AVX-512) with OpenVINO
2026.4.1 and ONNX Runtime 1.31.1, in one process in turns; milliseconds an image, batches of 32, least and median of
seven:

    4.45  5.01   OpenVINO, one stream with both threads (hint LATENCY); outputs shared, too: 4.73, 5.00
    4.74  5.54   ... a stream for each thread, whole batches
    3.50  3.65   ... a stream for each thread, the batch in parts of 4: kept
    3.46  3.98   ... in parts of 1
    5.17  5.54   ONNX Runtime, all graph optimizations: kept
    4.87  5.73   ... with denormals as zero
    5.24  5.56   ... without spinning
"""

import time

import numpy
import onnx_graphs
import onnx_runtimes
from mnist_data import emit, keep_freed_memory, parse_flags

flags = parse_flags("compute MobileNetV2's features with OpenVINO or ONNX Runtime", epochs=3, batch=32,
                    switches=["openvino"], modes=["bfloat16"])
keep_freed_memory()


def openvino_features():
    part = 4 if flags.batch % 4 == 0 else flags.batch
    features = numpy.empty((flags.batch, 1280), numpy.float32)

    def store(first, array):
        features[first: first + part] = array

    run = onnx_runtimes.openvino_streams(onnx_graphs.mobilenet_v2(part, flags.seed), flags.threads, part, store,
                                           bfloat16=flags.bfloat16)

    def compute(x):
        run(x)
        return features

    return compute


def main():
    random = numpy.random.default_rng(flags.seed)
    x = random.normal(size=(flags.batch, 3, 224, 224)).astype(numpy.float32)
    if flags.openvino:
        features = openvino_features()
        about = {"peer": "openvino", "version": onnx_runtimes.openvino_version()}
    else:
        features = onnx_runtimes.onnxruntime_session(onnx_graphs.mobilenet_v2(flags.batch, flags.seed), flags.threads)
        about = {"peer": "onnxruntime", "version": onnx_runtimes.onnxruntime_version()}
    passes = flags.images // flags.batch
    for epoch in range(1, flags.epochs + 1):
        start = time.perf_counter()
        for _ in range(passes):
            features(x)
        seconds = time.perf_counter() - start
        emit(**about, epoch=epoch, seconds=round(seconds, 4), images=passes * flags.batch)


main()

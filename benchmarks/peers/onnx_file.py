#!/usr/bin/env python3
"""Runs the network of an ONNX file by OpenVINO or ONNX Runtime, in the form of benchmarks/onnx_report.cpp.

    python onnx_file.py --file NET.onnx --runtime openvino --batch 32 --threads 2 --images 256 --epochs 4
"""

import argparse
import json
import resource
import statistics
import time

import numpy as np

from onnx_runtimes import onnxruntime_version, openvino_version


def openvino_pass(path, batch, threads, x_of):
    """One stream with all threads, or for large batches one for each thread: whichever is faster."""
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    sample = [extent.get_length() for extent in list(model.inputs[0].get_partial_shape())[1:]]
    x = x_of(sample)
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads}

    def single():
        model.reshape([batch, *sample])
        request = core.compile_model(model, "CPU", {**settings, "PERFORMANCE_HINT": "LATENCY"}).create_infer_request()

        def run():
            request.set_input_tensor(openvino.Tensor(x, shared_memory=True))
            request.infer()
            return request.get_output_tensor(0).data.copy()

        return run

    def streams():
        part = batch // threads
        model.reshape([part, *sample])
        compiled = core.compile_model(model, "CPU", {**settings, "NUM_STREAMS": str(threads)})
        queue = openvino.AsyncInferQueue(compiled, threads)
        out = {}
        queue.set_callback(lambda request, first: out.__setitem__(first, request.get_output_tensor(0).data.copy()))

        def run():
            for first in range(0, batch, part):
                queue.start_async({0: x[first:first + part]}, first, share_inputs=True)
            queue.wait_all()
            return out

        return run

    ways = [single()] + ([streams()] if batch % threads == 0 and batch >= 8 else [])
    return min(ways, key=lambda run: statistics.median(timed(run) for _ in range(5)))


def onnxruntime_pass(path, batch, threads, x_of):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    x = x_of(given.shape[1:])
    return lambda: session.run(None, {given.name: x})[0]


def timed(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    for name, kind in (("data", str), ("epochs", int), ("batch", int), ("threads", int), ("images", int), ("seed", int),
                       ("file", str), ("runtime", str)):
        parser.add_argument(f"--{name}", type=kind)
    options = parser.parse_args()
    passes = {"openvino": openvino_pass, "onnxruntime": onnxruntime_pass}
    version = {"openvino": openvino_version, "onnxruntime": onnxruntime_version}[options.runtime]()

    def samples(shape):
        return np.random.default_rng(options.seed).random((options.batch, *shape), dtype=np.float32)

    def show(**line):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        print(json.dumps({**line, "peer": options.runtime, "version": version, "peak_mb": peak}), flush=True)

    run = passes[options.runtime](options.file, options.batch, options.threads, samples)
    run()
    count = max(1, options.images // options.batch)
    for epoch in range(1, options.epochs + 1):
        seconds = statistics.median(timed(run) for _ in range(count)) * count
        show(epoch=epoch, seconds=seconds, images=count * options.batch)


if __name__ == "__main__":
    main()

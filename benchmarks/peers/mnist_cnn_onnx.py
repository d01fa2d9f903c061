"""The MNIST convolutional network by OpenVINO (--openvino 1) or ONNX Runtime (--openvino 0): predictions alone,
with random weights, in float32. The accuracy that is printed is that of chance.

As fast as we could get both. Tried with two threads of an Intel Xeon (family 6, model 207, AVX-512) with OpenVINO
2026.4.1 and ONNX Runtime 1.31.1, in one process in turns, from NumPy to NumPy; milliseconds for 10,000 images, least
and median of seven:

    336  394   OpenVINO, one stream with both threads, batches of 100: kept (of 20: 376, 471; of 1000: 456, 553)
    371  408   ... a stream for each thread, batches of 50 (of 100: 371, 462; of 1000: 479, 539)
    261  343   ONNX Runtime, batches of 50: kept (of 10: 259, 382; of 100: 284, 385; of 1000: 371, 466)

Microseconds for one image, median and 99th percentile:

    143  370   OpenVINO, one thread
     99  216   ... two threads
     91  201   ... an inference request kept, its tensors shared: kept
     84  201   ONNX Runtime, one thread
     64  147   ... two threads: kept
    112  221   ... two threads that do not spin
"""

import onnx_graphs
import onnx_runtimes
from mnist_data import emit_inference, keep_freed_memory, parse_flags, read_split

flags = parse_flags("predict with the MNIST convolutional network", switches=["openvino"])
keep_freed_memory()

BATCH = 100 if flags.openvino else 50


def main():
    def graph(batch):
        return onnx_graphs.mnist_cnn(batch, flags.seed)

    if flags.openvino:
        whole = onnx_runtimes.openvino_request(graph(BATCH), flags.threads)
        one = onnx_runtimes.openvino_request(graph(1), flags.threads)
        about = {"peer": "openvino", "version": onnx_runtimes.openvino_version()}
    else:
        whole = onnx_runtimes.onnxruntime_session(graph(BATCH), flags.threads)
        one = onnx_runtimes.onnxruntime_session(graph(1), flags.threads)
        about = {"peer": "onnxruntime", "version": onnx_runtimes.onnxruntime_version()}

    def predict(rows):
        return whole(rows.reshape(-1, 1, 28, 28))

    def single(row):
        return one(row.reshape(1, 1, 28, 28))[0]

    images, labels = read_split(flags.data, "t10k")
    whole_batches = len(images) - len(images) % BATCH  # the graph's batch is fixed
    emit_inference(about, predict, single, images[:whole_batches], labels[:whole_batches], batch=BATCH)


main()

"""The runtimes that only infer, behind one function: OpenVINO and ONNX Runtime, in float32; OpenVINO also in
bfloat16."""


def openvino_version():
    import openvino

    return openvino.__version__.split("-")[0]


def onnxruntime_version():
    import onnxruntime

    return onnxruntime.__version__


def compile_openvino(model, threads, bfloat16=0, **settings):
    """An openvino.CompiledModel; processors with bfloat16 would choose that themselves."""
    import openvino

    core = openvino.Core()
    return core.compile_model(core.read_model(model, b""), "CPU",
                              {"INFERENCE_PRECISION_HINT": "bf16" if bfloat16 else "f32",
                               "INFERENCE_NUM_THREADS": threads, **settings})


def openvino_request(model, threads):
    """A function of one array that runs in one stream with all threads."""
    import openvino

    request = compile_openvino(model, threads, PERFORMANCE_HINT="LATENCY").create_infer_request()

    def run(x):
        request.set_input_tensor(openvino.Tensor(x, shared_memory=True))
        request.infer()
        return request.get_output_tensor(0).data.copy()

    return run


def openvino_streams(model, threads, part, store, bfloat16=0):
    """A function of an array of a multiple of `part` items: a stream for each thread, each takes the next
    part; store(first, array) gets what came out for the items from the first on."""
    import openvino

    compiled = compile_openvino(model, threads, bfloat16, NUM_STREAMS=str(threads))
    queue = openvino.AsyncInferQueue(compiled, threads)
    queue.set_callback(lambda request, first: store(first, request.get_output_tensor(0).data))

    def run(x):
        for first in range(0, len(x), part):
            queue.start_async({0: x[first: first + part]}, first, share_inputs=True)
        queue.wait_all()

    return run


def onnxruntime_session(model, threads):
    """A function of one array."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})[0]

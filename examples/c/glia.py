"""Opens models of glia in Python, through the C interface of glia and ctypes. It needs only NumPy.

    net = glia.Model("net.safetensors", library="libglia.so")
    y = net.predict(x)
"""

import ctypes

import numpy as np


class _Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("message", ctypes.c_char * 1024)]


class _Shape(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_size_t), ("extents", ctypes.c_size_t * 6)]

    def as_tuple(self):
        return tuple(self.extents[: self.rank])


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_size_t), ("tolerance", ctypes.c_double)]


class Error(Exception):
    """An error of glia. `status` is the glia_status."""

    def __init__(self, error):
        super().__init__(error.message.decode())
        self.status = error.status


def _floats(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


def _load(path):
    library = ctypes.CDLL(path)
    library.glia_version.restype = ctypes.c_char_p
    library.glia_summary.restype = ctypes.c_char_p
    library.glia_metadata.restype = ctypes.c_char_p
    for name in ("input_shape", "output_shape", "stream_input_shape", "stream_output_shape"):
        function = getattr(library, "glia_" + name)
        function.restype = _Shape
        function.argtypes = [ctypes.c_void_p]
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    floats, error = ctypes.POINTER(ctypes.c_float), ctypes.POINTER(_Error)
    library.glia_open.argtypes = [ctypes.c_char_p, ctypes.POINTER(_Options), ctypes.POINTER(pointer), error]
    library.glia_close.argtypes = [pointer]
    library.glia_close.restype = None
    library.glia_summary.argtypes = [pointer]
    library.glia_metadata.argtypes = [pointer, ctypes.c_char_p]
    library.glia_predict.argtypes = [pointer, floats, size, floats, error]
    library.glia_stream_open.argtypes = [pointer, size, size, ctypes.POINTER(pointer), error]
    library.glia_stream_close.argtypes = [pointer]
    library.glia_stream_close.restype = None
    library.glia_stream_run.argtypes = [pointer, floats, size, floats, error]
    library.glia_stream_reset.argtypes = [pointer, error]
    return library


class _Handle:
    """An object of the library."""

    def _call(self, function, *arguments):
        error = _Error()
        if function(*arguments, ctypes.byref(error)) != 0:
            raise Error(error)


class Model(_Handle):
    """A model that glia::save wrote. `threads` is the number of its threads; 0 means all processors."""

    def __init__(self, path, library="libglia.so", threads=0):
        self._library = _load(library)
        self._model = ctypes.c_void_p()
        options = _Options(ctypes.sizeof(_Options), threads, 1e-3)
        self._call(self._library.glia_open, str(path).encode(), ctypes.byref(options), ctypes.byref(self._model))
        self.input_shape = self._library.glia_input_shape(self._model).as_tuple()
        self.output_shape = self._library.glia_output_shape(self._model).as_tuple()

    def __del__(self):
        if getattr(self, "_model", None):
            self._library.glia_close(self._model)

    def summary(self):
        return self._library.glia_summary(self._model).decode()

    def metadata(self, key):
        """A text that glia::save stored in the file, or None."""
        text = self._library.glia_metadata(self._model, key.encode())
        return None if text is None else text.decode()

    def predict(self, inputs):
        """Computes the outputs (N, ...) for inputs (N, ...)."""
        x = np.ascontiguousarray(inputs, np.float32)
        if x.shape[1:] != self.input_shape:
            raise ValueError(f"expected samples of shape {self.input_shape}, got {x.shape[1:]}")
        y = np.empty((len(x), *self.output_shape), np.float32)
        self._call(self._library.glia_predict, self._model, _floats(x), len(x), _floats(y))
        return y

    def stream(self, sequences=1, max_steps=0):
        """Runs sequences in blocks of steps."""
        return Stream(self, sequences, max_steps)


class Stream(_Handle):
    """Sequences that run through a model in blocks of steps. Made by Model.stream."""

    def __init__(self, model, sequences, max_steps):
        self._library = model._library
        self._stream = ctypes.c_void_p()
        self._sequences = sequences
        self._call(self._library.glia_stream_open, model._model, sequences, max_steps, ctypes.byref(self._stream))
        self.input_shape = self._library.glia_stream_input_shape(self._stream).as_tuple()
        self.output_shape = self._library.glia_stream_output_shape(self._stream).as_tuple()

    def __del__(self):
        if getattr(self, "_stream", None):
            self._library.glia_stream_close(self._stream)

    def __call__(self, steps):
        """Computes the outputs (N, T, ...) for the next T steps (N, T, ...) of the sequences."""
        x = np.ascontiguousarray(steps, np.float32)
        if x.ndim < 2 or x.shape[:1] + x.shape[2:] != (self._sequences, *self.input_shape):
            raise ValueError(f"expected steps ({self._sequences}, T, {self.input_shape}), got {x.shape}")
        y = np.empty((*x.shape[:2], *self.output_shape), np.float32)
        self._call(self._library.glia_stream_run, self._stream, _floats(x), x.shape[1], _floats(y))
        return y

    def reset(self):
        """Begins new sequences."""
        self._call(self._library.glia_stream_reset, self._stream)

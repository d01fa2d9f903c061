"""Opens a model in Python and compares its predictions with those of C++, bit for bit.

    c_interface.py FOLDER_OF_GLIA_PY LIBRARY MODEL INPUTS OUTPUTS SEQUENCES
"""

import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import glia  # noqa: E402

library, model, inputs, outputs, sequences = sys.argv[2:]
net = glia.Model(model, library, threads=1)
assert net.metadata("classes") == "a\nb\nc", net.metadata("classes")
assert net.metadata("other") is None
assert "dense(3)" in net.summary()
x, y = np.load(inputs), np.load(outputs)
assert np.array_equal(net.predict(x), y)
assert np.array_equal(net.predict(x[:1]), y[:1])
try:
    net.predict(x[:, :1])
    raise SystemExit("a wrong shape was accepted")
except ValueError:
    pass
try:
    glia.Model("missing.safetensors", library)
    raise SystemExit("a missing file was opened")
except glia.Error as error:
    assert error.status == 2 and "missing.safetensors" in str(error), error

net = glia.Model(sequences, library, threads=1)
steps = np.arange(2 * 8 * 3, dtype=np.float32).reshape(2, 8, 3) / 16 - 1
expected = net.predict(steps)
stream = net.stream(sequences=2)
for _ in range(2):
    blocks = [stream(steps[:, a:b]) for a, b in ((0, 1), (1, 6), (6, 8))]
    assert np.array_equal(np.concatenate(blocks, axis=1), expected)
    stream.reset()
print("equal")

"""Prints the tensors of a safetensors file as Python's package reads them.

    python read_safetensors.py FILE

A line for each tensor, by name: "NAME TYPE (EXTENT, ...) VALUE ...", with all digits of the values.
"""

import sys

from safetensors import safe_open

with safe_open(sys.argv[1], framework="numpy") as file:
    for name in sorted(file.keys()):
        tensor = file.get_tensor(name)
        extents = ", ".join(str(extent) for extent in tensor.shape)
        print(name, tensor.dtype, f"({extents})", *(format(float(value), ".17g") for value in tensor.reshape(-1)))

"""Writes arrays of numbers as a C++ header."""

import pathlib

import numpy


def array(name, values):
    """Returns the definition of an array of floats."""
    texts = [f"{value:.9e}F" for value in numpy.array(values).flatten().tolist()]
    rows = [", ".join(texts[i:i + 6]) for i in range(0, len(texts), 6)]
    body = ",\n    ".join(rows)
    return f"inline constexpr std::array<float, {len(texts)}> {name}{{\n    {body}}};\n"


def write(name, header, cases):
    """Writes the header `name` in this folder. `cases` are pairs of a name and an array."""
    arrays = [array(case, values) for case, values in cases]
    path = pathlib.Path(__file__).with_name(name)
    path.write_text(header + "\n".join(arrays) + "\n}  // namespace glia_golden\n")
    print(f"wrote {len(arrays)} cases to {path.name}")

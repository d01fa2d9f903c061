"""Passes pyarrow's tables to a library that reads them and writes them again, and compares.

    python arrow_tables.py LIBRARY

LIBRARY is tests/data/arrow_library.cpp. Prints the number of tables.
"""

import ctypes
import datetime
import math
import sys

import pyarrow as pa

library = ctypes.CDLL(sys.argv[1])
library.round_trip.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
library.round_trip.restype = ctypes.c_char_p
count = 0


def passed(batch, texts=(), dates=()):
    """The columns of a table that was read and written again; or the message of an error."""
    global count
    count += 1
    # Nine and ten members of eight bytes.
    schema, array = ctypes.create_string_buffer(72), ctypes.create_string_buffer(80)
    addresses = ctypes.addressof(array), ctypes.addressof(schema)
    batch._export_to_c(*addresses)
    lines = ["".join(f"{name}\n" for name in names).encode() for names in (texts, dates)]
    if error := library.round_trip(addresses[1], addresses[0], *lines):
        return error.decode()
    result = pa.RecordBatch._import_from_c(*addresses)
    result.validate(full=True)
    return result.to_pydict()


def expect(expected, actual):
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name, values in expected.items():
            expect(values, actual[name])
        return
    same = actual == expected or (
        isinstance(expected, list)
        and len(actual) == len(expected)
        and all(a == b or (b != b and a != a) for a, b in zip(actual, expected))
    )
    if not same:
        sys.exit(f"expected {expected}, got {actual}")


def column(values, type):
    return pa.record_batch({"x": pa.array(values, type)})


before = pa.total_allocated_bytes()

for type in (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()):
    expect({"x": [1.0, math.nan, 100.0]}, passed(column([1, None, 100], type)))
for type in (pa.float16(), pa.float32(), pa.float64()):
    expect({"x": [0.5, math.nan, math.inf, -2.0]}, passed(column([0.5, None, math.inf, -2.0], type)))
expect({"x": [1.0, 0.0, math.nan] * 5}, passed(column([True, False, None] * 5, pa.bool_())))
expect({"x": [math.nan, math.nan]}, passed(column([None, None], pa.null())))

words = ["Ulm", None, "Bonn", "a name of more than twelve bytes", "Ulm", "\u00fc"]
written = [word or "" for word in words]
for type in (
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint32(), pa.large_string()),
    pa.dictionary(pa.int64(), pa.string()),
):
    expect({"x": written}, passed(column(words, type), texts=["x"]))
expect({"x": ["7", "", "-8"]}, passed(column([7, None, -8], pa.int32()), texts=["x"]))

days = [datetime.date(2026, 11, 28), None, datetime.date(1969, 12, 31)]
times = [datetime.datetime(1970, 1, 2, 6), None, datetime.datetime(1969, 12, 31)]
for type in (pa.date32(), pa.date64()):
    expect({"x": [20785.0, math.nan, -1.0]}, passed(column(days, type), dates=["x"]))
for unit in ("s", "ms", "us", "ns"):
    expect({"x": [1.25, math.nan, -1.0]}, passed(column(times, pa.timestamp(unit)), dates=["x"]))

# Slices, with offsets that are no multiples of 8.
table = pa.record_batch(
    {
        "number": pa.array(range(100), pa.int32()),
        "flag": pa.array([i % 3 == 0 if i % 5 else None for i in range(100)], pa.bool_()),
        "text": pa.array([f"t{i}" for i in range(100)]),
        "class": pa.array([f"c{i % 4}" for i in range(100)]).dictionary_encode(),
    }
)
for first, size in ((0, 100), (13, 40), (61, 1)):
    rows = range(first, first + size)
    expect(
        {
            "number": [float(i) for i in rows],
            "flag": [float(i % 3 == 0) if i % 5 else math.nan for i in rows],
            "text": [f"t{i}" for i in rows],
            "class": [f"c{i % 4}" for i in rows],
        },
        passed(table.slice(first, size), texts=["text", "class"]),
    )
# A struct array with an offset of its own, which is not passed on to its children.
struct = pa.StructArray.from_arrays([pa.array([1.0, 2.0, 3.0]).slice(1), pa.array(["a", "b"])], ["x", "y"]).slice(1)
expect({"x": [3.0], "y": ["b"]}, passed(struct, texts=["y"]))

expect(
    "the Arrow table: column 'x': the format '+l' is not supported; expected booleans, numbers, text, dates or "
    "timestamps; convert the column, or list only others in csv_options::columns",
    passed(column([[1], [2]], pa.list_(pa.int32()))),
)
expect(
    "the Arrow table: column 'x', row 2: expected a number, got 16777217; a float cannot hold this integer exactly; "
    "set csv_options::round_integers to round it, or list the column in csv_options::text_columns if it holds "
    "identifiers",
    passed(column([1, 2**24 + 1], pa.int64())),
)

del table, struct
if pa.total_allocated_bytes() != before:
    sys.exit(f"{pa.total_allocated_bytes() - before} bytes are still allocated")
print(count, "tables")

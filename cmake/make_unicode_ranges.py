"""Writes include/glia/text/unicode_ranges.hpp: the letters and numbers of Unicode.

Run it with Python 3.14, whose unicodedata has Unicode 16, or with unicodedata2 16.0.0 from PyPI:
python3 cmake/make_unicode_ranges.py, then clang-format -i.
"""

import pathlib

try:
    import unicodedata2 as unicodedata
except ImportError:
    import unicodedata

HEADER = """\
// Made by cmake/make_unicode_ranges.py from Unicode {version}: do not edit.
#pragma once

#include <array>
#include <cstdint>

namespace glia::detail {{

// The ranges [a, b), [c, d), ... of code points of a category, as differences: a, b - a, c - b, ...
{arrays}
}}  // namespace glia::detail
"""


def array(name, category):
    """The definition of an array with the ranges of a category, such as L for Lu, Ll, Lt, Lm and Lo."""
    inside = [unicodedata.category(chr(code))[0] == category for code in range(0x110000)] + [False]
    borders = [0] + [code for code, is_member in enumerate(inside) if is_member != (code > 0 and inside[code - 1])]
    widths = [border - last for last, border in zip(borders, borders[1:])]
    assert max(widths) < 2**16
    return f"inline constexpr std::array<std::uint16_t, {len(widths)}> {name}{{\n    {', '.join(map(str, widths))}}};\n"


def main():
    assert unicodedata.unidata_version == "16.0.0", "expected Unicode 16, for the tests of words"
    path = pathlib.Path(__file__).parents[1] / "include/glia/text/unicode_ranges.hpp"
    arrays = [array("letter_ranges", "L"), array("number_ranges", "N")]
    path.write_text(HEADER.format(version=unicodedata.unidata_version, arrays="\n".join(arrays)))


main()

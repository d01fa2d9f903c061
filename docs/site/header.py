#!/usr/bin/env python3
"""Leaves out of a header what Doxygen links to and does not write about: comparison as a hidden friend."""

import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text()
COMPARISON = r"\n( *)friend [\w:& ]+operator(?:==|<<)\([^;{]*?\)(?: noexcept)?(?: = default;| \{[^\n]*\}| \{\n.*?\n\1\})(?=\n)"
print(re.sub(COMPARISON, lambda found: "\n" * found[0].count("\n"), text, flags=re.S), end="")

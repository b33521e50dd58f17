"""`#line` before the lines of a kernel, so that profilers, sanitizers and debuggers show the Python."""

from __future__ import annotations

import os
import re


def added(text: str, python: str, own: str) -> str:
    """`text` with `#line 24 "gemm.py"` before each line of code under a comment `// gemm.py:24`, and a `#line` that
    leads back to the file itself, called `own`, where such a part ends. `python` is the path that tools shall open."""
    origin = re.compile(rf"// {re.escape(os.path.basename(python))}:(\d+)")
    lines: list[str] = []
    current = None                          # the Python line of the part that we are in
    for line in text.split("\n"):
        found = None if line.startswith("//") else origin.search(line)
        if line.startswith("}") and current:
            lines.append(f'#line {len(lines) + 2} "{own}"')
            current = None
        current = found[1] if found else current
        if current and line.strip() and not line.lstrip().startswith("//"):
            lines.append(f'#line {current} "{python}"')
        lines.append(line)
    return "\n".join(lines)

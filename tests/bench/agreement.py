"""Does the emulator agree with silicon? python tests/bench/agreement.py [--json FILE]

Every file of generated/cuda runs on the GPU and on the emulator with the same inputs; the worst difference
of each output is printed, absolute and relative to the largest value (0 means bit for bit).
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from test_gpu import SHAPES, arguments, kernel_of  # noqa: E402
from tilegen.runtime.load import load  # noqa: E402


def compare(example: pathlib.Path) -> list[dict]:
    """One row per output and shape."""
    kernel = kernel_of(example)
    text = (ROOT / "generated" / "cuda" / (example.stem + ".cu")).read_text()
    on_gpu, emulated = load(text), load(text, target="emulator")
    parsed = kernel.specialised("cuda", "sm_80", {}).kernel
    rows = []
    for name in ("whole", "ragged", "one"):
        batched = parsed.sizes[0].name in ("batch", "heads")
        sizes = {s.name: n for s, n in zip(parsed.sizes, ((2,) if batched else ()) + SHAPES[name])}
        first, second = arguments(parsed, sizes, seed=3), arguments(parsed, sizes, seed=3)
        on_gpu(*first.values())
        emulated(*second.values())
        for p in parsed.params:
            if p.buffer is None or p.access == "read":
                continue
            a, b = first[p.name], second[p.name]
            difference = numpy.abs(a.astype(numpy.float64) - b.astype(numpy.float64))
            scale = numpy.abs(b.astype(numpy.float64)).max() or 1.0
            rows.append({"example": example.stem, "shape": name, "output": p.name, "worst": float(difference.max()),
                         "relative": float(difference.max() / scale), "same": float((a == b).mean())})
            print(f"{example.stem:24s} {name:8s} {p.name:3s} worst {difference.max():.2e}, {difference.max() / scale:.2e} of the "
                  f"largest value, {100 * rows[-1]['same']:.2f} % bit for bit", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    path = parser.parse_args().json
    rows = [row for example in sorted((ROOT / "examples").glob("[0-9]*.py")) for row in compare(example)]
    if path:
        pathlib.Path(path).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

"""Does the emulator agree with silicon? python tests/bench/agreement.py [--json FILE]

Every file of generated/cuda runs on the GPU and on the emulator with the same inputs; the worst difference
of each output is printed, absolute and relative to the largest value (0 means bit for bit).
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from generated_files import FILES, Generated  # noqa: E402
from generated_runs import arguments, sizes_of  # noqa: E402
from tilegen.runtime.load import Loaded, load  # noqa: E402


def loaded(file: Generated) -> tuple[Loaded, Loaded]:
    """The file for the GPU and for the emulator, compiled."""
    pair = load(file.text), load(file.text, target="emulator")
    for kernel in pair:
        kernel.artifact
    return pair


def compare(file: Generated, on_gpu: Loaded, emulated: Loaded) -> list[dict]:
    """One row per output and size."""
    rows = []
    for sizes in sizes_of(file):
        if not all(sizes.values()):
            continue
        first, second = (arguments(file.contract, sizes, seed=3) for _ in range(2))
        on_gpu(**first)
        emulated(**second)
        for p in file.contract.params:
            if not p.is_array or not p.writes:
                continue
            a, b = (x[p.name].astype(numpy.float64) for x in (first, second))
            same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
            with numpy.errstate(invalid="ignore"):                  # infinities
                difference = numpy.where(same, 0, numpy.abs(a - b))
            scale = numpy.nanmax(numpy.abs(b)) or 1.0
            shape = " x ".join(map(str, sizes.values()))
            rows.append({"file": str(file), "sizes": sizes, "output": p.name, "worst": float(difference.max()),
                         "relative": float(difference.max() / scale), "same": float(same.mean())})
            print(f"{str(file):34s} {shape:16s} {p.name:6s} worst {difference.max():.2e}, {difference.max() / scale:.2e} of "
                  f"the largest value, {100 * rows[-1]['same']:.2f} % bit for bit", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    path = parser.parse_args().json
    files = [file for file in FILES if file.target == "cuda"]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        kernels = list(pool.map(loaded, files))
    rows = [row for file, pair in zip(files, kernels) for row in compare(file, *pair)]
    if path:
        pathlib.Path(path).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

"""Builds every example as a program of its own and runs it: python tests/bench/selftests.py [--sanitize]

Each emitted file checks itself under TILEGEN_MAIN (nvcc, the device's arch). With --sanitize the small runs go
through compute-sanitizer's memcheck and racecheck as well. Exit code 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile

import cupy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from test_gpu import kernel_of  # noqa: E402

RAGGED = ["201", "333", "77"]


def arch() -> str:
    number = cupy.cuda.Device().compute_capability
    return f"sm_{number}" + ("a" if int(number) >= 90 else "")


def run(command: list[str], expect: str = "") -> bool:
    """Runs and prints the last line of the output; False on failure."""
    done = subprocess.run(command, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    good = done.returncode == 0 and (not expect or expect in done.stdout + done.stderr)
    print("  ", "ok  " if good else "FAIL", " ".join(pathlib.Path(c).name for c in command[:4]), "|", lines[-1] if lines else "",
          flush=True)
    if not good:
        print("\n".join(lines[-30:]))
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sanitize", action="store_true")
    sanitize = parser.parse_args().sanitize
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted((ROOT / "examples").glob("[0-9]*.py")):
            print(path.stem)
            source, program = pathlib.Path(folder, path.stem + ".cu"), str(pathlib.Path(folder, path.stem))
            source.write_text(kernel_of(path).emit("cuda", arch()))
            if not run(["nvcc", "-O3", f"-arch={arch()}", "-DTILEGEN_MAIN", "-lineinfo", str(source), "-o", program]):
                good = False
                continue
            good &= run([program])
            small = ["2", *RAGGED[:2]] if "batched" in path.stem or "attention" in path.stem else RAGGED
            good &= run([program, *small])
            if sanitize:
                good &= run(["compute-sanitizer", "--tool", "memcheck", program, *small], "ERROR SUMMARY: 0 errors")
                good &= run(["compute-sanitizer", "--tool", "racecheck", program, *small], "0 hazards displayed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

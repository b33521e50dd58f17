"""Builds every example as a program of its own and runs it: python tests/bench/selftests.py [--sanitize] [WORD ...]

Each file checks itself under TILEGEN_MAIN: as committed under generated/cuda, and as emitted for the device's arch
where that differs (nvcc, for the device). With --sanitize the small runs go through compute-sanitizer's memcheck and
racecheck as well. WORDs choose the files whose names have one of them. Several files are built and run at a time, so
that the times they print say nothing. Exit code 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import cupy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from generated_files import FILES  # noqa: E402
from generated_runs import RAGGED, sizes_of  # noqa: E402
from tilegen.runtime.contract import read_contract  # noqa: E402

SECONDS = 90                        # for one command


def device_arch() -> str:
    number = cupy.cuda.Device().compute_capability
    return f"sm_{number}" + ("a" if int(number) >= 90 else "")


def texts(arch: str) -> dict[str, tuple[str, dict[str, int]]]:
    """{name: (text, ragged sizes that it takes)} of all programs."""
    result = {}
    for file in FILES:
        if file.target != "cuda":
            continue
        versions = {str(file): file.text}
        if file.arch != arch and (own := file.specialised(arch).source) != file.text:
            versions[f"{file}-{arch}"] = own
        for name, text in versions.items():
            contract, sizes = read_contract(text, name), sizes_of(file)[RAGGED]
            if not all(contract.value(condition, sizes) for condition in contract.requires):
                sizes = {size: -(-value // 8) * 8 for size, value in sizes.items()}
            result[name] = text, {size: sizes[size] for size in contract.sizes}
    return result


def architecture(arch: str) -> str:
    """nvcc's flag for one GPU."""
    return f"-gencode=arch={arch.replace('sm', 'compute')},code={arch}"


def run(command: list[str], expect: str = "") -> tuple[bool, str]:
    """(whether it went well, a line about it, or all of its output)."""
    words = " ".join(pathlib.Path(c).name for c in command[:4])
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False, f"   FAIL {words} | takes more than {SECONDS} s"
    output = done.stdout + done.stderr
    lines = output.strip().splitlines()
    if done.returncode == 0 and (not expect or expect in output):
        return True, f"   ok   {words} | {lines[-1] if lines else ''}"
    return False, "\n".join([f"   FAIL {words}", *lines[-40:]])


def tried(name: str, text: str, sizes: dict[str, int], arch: str, sanitize: bool) -> bool:
    """Builds and runs one program, prints what it gave; whether all went well."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, f"{name}.cu"), str(pathlib.Path(folder, name))
        source.write_text(text)
        small = [program, *map(str, sizes.values())]
        libraries = ["-lcuda"] if "cuTensorMapEncode" in text else []
        commands = [(["nvcc", "-O3", architecture(arch), "-DTILEGEN_MAIN", "-lineinfo", str(source), "-o", program,
                      *libraries], ""), ([program], ""), (small, "")]
        if sanitize:
            tool = ["compute-sanitizer", "--tool"]
            commands += [([*tool, "memcheck", *small], "ERROR SUMMARY: 0 errors"),
                         ([*tool, "racecheck", *small], "0 hazards displayed")]
        results = []
        for command, expect in commands:
            results.append(run(command, expect))
            if len(results) == 1 and not results[0][0]:
                break
    print("\n".join([name, *(line for _, line in results)]), flush=True)
    return all(good for good, _ in results)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("words", nargs="*")
    parsed = parser.parse_args()
    os.chdir(ROOT)
    arch = device_arch()
    chosen = {name: made for name, made in texts(arch).items()
              if not parsed.words or any(word in name for word in parsed.words)}
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        good = pool.map(lambda item: tried(item[0], *item[1], arch, parsed.sanitize), chosen.items())
        bad = [name for name, right in zip(chosen, good) if not right]
    print(f"{len(chosen) - len(bad)} of {len(chosen)} programs are right" + "".join(f", not {name}" for name in bad))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())

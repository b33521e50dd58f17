"""Bank conflicts of the tensor-core examples, counted statically and by ncu: python tests/bench/conflicts.py

The static count enumerates the addresses of a warp for every access of the plan (passes/shared_accesses.py): passes
beyond the first. ncu's are the conflicts that an NVIDIA GPU counted in one launch, of which those of loads and of
stores, and the wavefronts that shared memory served in all. Without ncu or a GPU only the static count is printed.
"""

from __future__ import annotations

import csv
import io
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from tilegen import kernel_files, passes  # noqa: E402
from tilegen.passes.shared_accesses import conflicts  # noqa: E402

PREFIX = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
METRICS = [f"{PREFIX}.sum", f"{PREFIX}_op_ld.sum", f"{PREFIX}_op_st.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"]
EXAMPLES = {"09_gemm_tensor_core": [(2048, 2048), (2048, 2048), (2048, 2048)],
            "10_flash_attention": [(64, 1024, 64)] * 4}


def static(name: str) -> list[tuple[str, str, int]]:
    kernel = kernel_files.find(str(ROOT / "examples" / f"{name}.py"))
    special = kernel.specialised("cuda", "sm_90a", {})
    return conflicts(passes.run(special.kernel, special.target, stop_after="pad_shared"), special.target)


def launch(name: str) -> None:
    """One launch, for ncu to look at."""
    import torch
    kernel = kernel_files.find(str(ROOT / "examples" / f"{name}.py"))
    kernel(*(torch.randn(shape, device="cuda", dtype=torch.half) for shape in EXAMPLES[name]))
    torch.cuda.synchronize()


def counted(name: str, entry: str) -> list[int]:
    """ncu's counts for one launch of the kernel `entry`."""
    command = ["ncu", "--clock-control", "none", "--csv", "--metrics", ",".join(METRICS), "-k", entry, sys.executable,
               __file__, name]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    lines = done.stdout.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if first is None:
        raise SystemExit(f"ncu counted nothing:\n{done.stdout}{done.stderr}")
    values = {row["Metric Name"]: row["Metric Value"] for row in csv.DictReader(io.StringIO("\n".join(lines[first:])))}
    return [int(values[metric].replace(",", "")) for metric in METRICS]


def main() -> None:
    if len(sys.argv) > 1:
        return launch(sys.argv[1])
    device = shutil.which("ncu") and shutil.which("nvidia-smi")
    for name in EXAMPLES:
        print(name)
        found = static(name)
        for buffer, what, count in found:
            print(f"  static  {buffer:12} {what:22} {count}")
        print(f"  static  {'all':12} {'':22} {sum(count for *_, count in found)}")
        if device:
            entry = {"09_gemm_tensor_core": "matmul", "10_flash_attention": "attention"}[name]
            for metric, count in zip(METRICS, counted(name, entry)):
                print(f"  ncu     {metric:60} {count}")


if __name__ == "__main__":
    main()

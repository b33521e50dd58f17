"""Faults that a hand edit may bring into an emitted file, each as an edit of what an example is emitted as."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tilegen import kernel_files

ROOT = Path(__file__).resolve().parent.parent.parent
SUFFIXES = {"cuda": ".cu", "hip": ".hip", "maca": ".maca", "cpu": ".cpp"}


@lru_cache(maxsize=None)
def emitted(example: str, target: str = "cuda") -> str:
    """The text of an example."""
    return kernel_files.find(str(ROOT / "examples" / f"{example}.py")).specialize().specialised(target).source


@dataclass(frozen=True)
class Planted:
    """`find` (a regular expression) becomes `replace`, once. What is reported contains `message`; one of the
    lines of its call chain contains `line`, in the edited text, and comes from the Python line with `python`."""

    name: str
    example: str
    find: str
    replace: str
    shape: str
    message: str
    line: str
    python: str
    target: str = "cuda"

    @property
    def python_file(self) -> Path:
        return ROOT / "examples" / f"{self.example}.py"

    def text(self) -> str:
        """The edited file."""
        text = emitted(self.example, self.target)
        text, count = re.subn(self.find, lambda match: match.expand(self.replace), text, count=1)
        assert count == 1, f"{self.example} for {self.target} has no {self.find}"
        return text

    def write(self, folder: Path) -> Path:
        path = folder / f"edited{SUFFIXES[self.target]}"
        path.write_text(self.text())
        return path

    def lines(self) -> set[int]:
        """The numbers of the lines with `line` in the edited file."""
        found = {n for n, line in enumerate(self.text().splitlines(), 1) if self.line in line}
        assert found, self.line
        return found

    def python_places(self) -> set[str]:
        text = self.python_file.read_text().splitlines()
        return {f"{self.python_file.name}:{n}" for n, line in enumerate(text, 1) if self.python in line}


_BARRIER = r"__syncthreads\(\);(  // why: tile is complete)"
_TILE_READ = "= s.tile["
GEMM_SHAPE = "M=128,N=128,K=96"

FAULTS = [
    Planted("a removed barrier", "03_transpose", _BARRIER, r"\1", "M=64,N=64", "nobody has written", _TILE_READ,
            "for i, j in T.Parallel"),
    Planted("a removed barrier, HIP", "03_transpose", _BARRIER, r"\1", "M=64,N=64", "nobody has written",
            _TILE_READ, "for i, j in T.Parallel", "hip"),
    Planted("a removed barrier in a pipeline", "06_gemm", r"__syncthreads\(\);(  // why: stage ko)", r"\1",
            GEMM_SHAPE, "nobody has written", "&s.A_shared[stage][C_row(r)][k]", "T.gemm(A_shared, B_shared, C_local)"),
    Planted("a barrier for some threads", "03_transpose", _BARRIER, r"if (threadIdx.x < 40) __syncthreads();\1",
            "M=64,N=64", "barrier divergence", "if (threadIdx.x < 40)", "T.copy(A[by * BT, bx * BT], tile)"),
    Planted("a barrier for some threads in a helper", "04_softmax", r"__syncthreads\(\);",
            "if (threadIdx.x < 40) __syncthreads();", "M=2,N=64", "barrier divergence", "row_max[r] =",
            "T.reduce_max(X_local, row_max"),
    Planted("a wait that is one group too weak", "06_gemm", r"cp_async_wait<STAGES - 2>",
            "cp_async_wait<STAGES - 1>", GEMM_SHAPE, "asynchronous copy of thread", "&s.A_shared[stage][C_row(r)][k]",
            "T.gemm(A_shared, B_shared, C_local)"),
    Planted("a ragged edge without its guard", "01_add", r"if \(by \* BM \+ i < M && bx \* BN \+ j < N\)", "",
            "M=20,N=300", "out-of-bounds access: reads 4 bytes", "A[(by * BM + i) * N", "for i, j in T.Parallel"),
    Planted("rows without their guard", "06_gemm", r"(&C_local\[r\]\[c\], )m < M \? N - n : 0", r"\1N - n",
            "M=100,N=128,K=32", "out-of-bounds access: writes 16 bytes", "&C_local[r][c], N - n",
            "T.copy(C_local, C[by * BM, bx * BN])"),
    Planted("a vector to a place for single floats", "06_gemm", r"copy_inside<N>\(dst, src, inside\)",
            "copy_inside<N>(dst + 1, src, inside)", "M=128,N=128,K=33", "misaligned access", "&s.A_shared[stage][row]",
            "T.copy(A[by * BM, ko * BK], A_shared)"),
    Planted("two threads that write one address", "03_transpose", r"s\.tile\[row\]\[col\] =",
            "s.tile[row][col & ~1] =", "M=64,N=64", "data race: this thread writes", "s.tile[row][col & ~1]",
            "T.copy(A[by * BT, bx * BT], tile)"),
    Planted("two threads that write one element of the output", "01_add",
            r"C\[\(by \* BM \+ i\) \* N \+ bx \* BN \+ j\] =", "C[(by * BM + i) * N + bx * BN + j / 2] =",
            "M=16,N=256", "of argument C", "bx * BN + j / 2", "for i, j in T.Parallel"),
    Planted("a mask without lane 31", "04_softmax", r"max_of\(x, shuffle_xor\(x, ",
            "max_of(x, __shfl_xor_sync(0x7fffffff, x, ", "M=2,N=64", "lane 31 is not in its own mask 0x7fffffff",
            "0x7fffffff", "T.reduce_max(X_local, row_max"),
    Planted("a read without the padding", "06_gemm", r"&s\.A_shared\[stage\]\[C_row\(r\)\]\[k\]",
            "&s.A_shared[stage][0][0] + C_row(r) * BK + k", GEMM_SHAPE, "(s.A_shared[", "C_row(r) * BK + k",
            "T.gemm(A_shared, B_shared, C_local)"),
    Planted("an index beyond a shared array", "03_transpose", r"s\.tile\[j\]\[i\]", "s.tile[j + BT][i]", "M=64,N=64",
            "after the end of s.tile", "s.tile[j + BT][i]", "for i, j in T.Parallel"),
]

# What no rule forbids, but gives wrong numbers: the read side swizzles otherwise than the write side.
WRONG_SWIZZLE = Planted("a swizzle on the read side only", "06_gemm", r"&s\.A_shared\[stage\]\[C_row\(r\)\]\[k\]",
                        "&s.A_shared[stage][C_row(r)][k ^ (C_row(r) / 64 * 4)]", "M=128,N=128,K=32", "",
                        "&C_local[r][c]", "T.copy(C_local, C[by * BM, bx * BN])")

NATIVE = [
    Planted("a loop that runs too far", "03_transpose", r"i < columns", "i < columns + 1", "M=13,N=17",
            "writes 4 bytes, 0 bytes after argument B, which has 884 bytes", "= t.tile[j][i];",
            "for i, j in T.Parallel", "cpu"),
    Planted("an index beyond a tile", "03_transpose", r"t\.tile\[j\]\[i\]", "t.tile[j][i + BT]", "M=13,N=17",
            "index 32 out of bounds", "t.tile[j][i + BT]", "for i, j in T.Parallel", "cpu"),
]

"""The rows of gpu.py: softmax, rmsnorm, layernorm, its gradients and row sums, at the roof of memory.

Each problem is timed in two ways. "one call" is the clock of the other suites: one call after 256 MiB were written, so
that a call also waits until what the cache still held of them is in memory, and leaves as much of its own behind. A
kernel that writes little, such as a row sum, pays for that and gives nothing back. "steady" replays a CUDA graph of 8
calls over three sets of arrays, more than the cache holds: every byte is read and written, nothing else is, and no
launch waits for Python.
"""

from __future__ import annotations

import importlib.util
import pathlib
import statistics
import sys
from collections.abc import Callable

import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "bench")]

from race import race  # noqa: E402
from tilegen import kernel_files  # noqa: E402

SETS, CALLS = 3, 8                      # of arrays; in a graph
ROUNDS = 11
WIDE = [(8192, 8192), (16384, 4096), (4096, 32768), (32768, 1024)]
LAYERS = [(8192, 8192), (32768, 1024)]


def kernel(name: str, width: int, dtype: torch.dtype, **more):
    """The kernel of an example file with its own knobs for rows of `width`."""
    path = ROOT / "examples" / name
    spec = importlib.util.spec_from_file_location("example", path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    knobs = dict(found.WIDTHS[min(w for w in found.WIDTHS if w >= width)]) if dtype.itemsize == 2 else {}
    return kernel_files.find(str(path)).specialize(dtype=str(dtype).removeprefix("torch."), **knobs | more)


def steady_clock(sets: list[Callable[[], object]]) -> Callable[[], float]:
    """Seconds of a call where calls follow each other, each on the next set of arrays."""
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for call in sets:
            call()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for position in range(CALLS):
            sets[position % SETS]()

    def clock() -> float:
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1e-3 / CALLS
    return clock


def compare(title: str, candidates: dict[str, list], moved: dict[str, int], clock) -> list[dict]:
    """Prints both timings of each candidate, a list of SETS calls; the ratio is to the first's bytes a second."""
    once = race({name: sets[0] for name, sets in candidates.items()}, clock, ROUNDS)
    graphs = {name: steady_clock(sets) for name, sets in candidates.items()}
    for replay in graphs.values():
        replay()
    steady = race(graphs, lambda replay: replay(), ROUNDS)
    rows = []
    for name in candidates:
        line = f"{title:32s} {name:22s}"
        row = {"work": title, "name": name}
        for how, times in (("one call", once), ("steady", steady)):
            median, first = statistics.median(times[name]), statistics.median(next(iter(times.values())))
            rate, roof = (moved[n] / t * 1e-6 for n, t in ((name, median), (next(iter(candidates)), first)))
            line += f" | {median:8.1f} us {rate:6.3f} TB/s {rate / roof:6.3f}x"
            low, high = sorted(times[name])[len(times[name]) // 10], sorted(times[name])[-1 - len(times[name]) // 10]
            row |= {f"{how}": {"median_us": median, "low_us": low, "high_us": high, "tbs": rate, "ratio": rate / roof}}
        print(line, flush=True)
        rows.append(row)
    return rows


def checked(name: str, got: torch.Tensor, want: torch.Tensor) -> None:
    error = ((got.double() - want.double()).norm() / want.double().norm()).item()
    assert error < (5e-5 if got.dtype == torch.float32 and want.dtype == torch.float32 else 6e-3), f"{name}: {error}"


def over_sets(call: Callable, *arrays: list) -> list[Callable]:
    """`call` on each set of arrays."""
    return [lambda own=own: call(*own) for own in zip(*arrays)]


def raced(title: str, clock, ours: tuple, eager: Callable, inputs: list, outputs: list, copied,
          sums: list | None = None) -> list[dict]:
    """One problem: a copy, torch, torch.compile and a kernel. `inputs`, `outputs`, `sums` are lists of SETS arrays."""
    name, made = ours
    compiled = torch.compile(eager, dynamic=False)
    bound = [made.bind(*own) for own in zip(*inputs, *outputs)]
    for own in outputs:
        own[0].fill_(float("nan"))
    if sums is not None:                # what the kernel adds to
        bound = [lambda call=call, own=own: (own.zero_(), call()) for call, own in zip(bound, sums)]
    bound[0]()
    exact = eager(*(x[0].float() for x in inputs))
    wanted = (exact[0], torch.stack(exact[1:])) if isinstance(exact, tuple) else (exact,)
    for got, want in zip((own[0] for own in outputs), wanted):
        checked(f"{title} {name}", got, want)
    bytes_once = sum(own[0].numel() * own[0].element_size() for own in [*inputs, *outputs])
    candidates = {"copy": over_sets(lambda y, x: y.copy_(x), *copied),
                  "torch": over_sets(eager, *inputs), "torch.compile": over_sets(compiled, *inputs),
                  f"tilegen {name}": bound}
    moved = dict.fromkeys(candidates, bytes_once) | {"copy": 2 * copied[0][0].numel() * copied[0][0].element_size()}
    return compare(title, candidates, moved, clock)


def arrays(*shape: int, dtype: torch.dtype, alike: bool = False) -> list[torch.Tensor]:
    """SETS arrays of random numbers; one array, SETS times, where they are `alike`."""
    if alike:
        return [torch.randn(shape, device="cuda").to(dtype)] * SETS
    return [torch.randn(shape, device="cuda").to(dtype) for _ in range(SETS)]


def softmax_rows(clock) -> list[dict]:
    rows = []
    for dtype, shape in [*((torch.bfloat16, shape) for shape in WIDE), (torch.float32, (8192, 8192))]:
        x, y = arrays(*shape, dtype=dtype), arrays(*shape, dtype=dtype)
        title = f"softmax {'bf16' if dtype.itemsize == 2 else 'f32'} {shape[0]} x {shape[1]}"
        name = "04_softmax.py" if shape[1] <= 8192 else "18_online_softmax.py"
        ours = name[:2], kernel(name, shape[1], dtype)
        rows += raced(title, clock, ours, lambda x: torch.softmax(x, -1), [x], [y], (y, x))
    return rows


def rmsnorm_rows(clock) -> list[dict]:
    rows = []
    for m, n in WIDE:
        x, y = arrays(m, n, dtype=torch.bfloat16), arrays(m, n, dtype=torch.bfloat16)
        weight = arrays(n, dtype=torch.bfloat16, alike=True)
        rows += raced(f"rmsnorm bf16 {m} x {n}", clock, ("16", kernel("16_rmsnorm.py", n, torch.bfloat16)),
                      lambda x, w, n=n: F.rms_norm(x, (n,), w, 1e-6), [x, weight], [y], (y, x))
    return rows


def layernorm_rows(clock) -> list[dict]:
    rows = []
    for dtype, (m, n) in [*((torch.bfloat16, shape) for shape in LAYERS), (torch.float32, (8192, 8192))]:
        x, y = arrays(m, n, dtype=dtype), arrays(m, n, dtype=dtype)
        weight, bias = (arrays(n, dtype=dtype, alike=True) for _ in range(2))
        rows += raced(f"layernorm {'bf16' if dtype.itemsize == 2 else 'f32'} {m} x {n}", clock,
                      ("05", kernel("05_layernorm.py", n, dtype)),
                      lambda x, w, b, n=n: F.layer_norm(x, (n,), w, b, 1e-5), [x, weight, bias], [y], (y, x))
    return rows


def layernorm_backward_rows(clock) -> list[dict]:
    rows = []
    for m, n in LAYERS:
        x, dy, dx = (arrays(m, n, dtype=torch.bfloat16) for _ in range(3))
        weight = arrays(n, dtype=torch.bfloat16, alike=True)
        mean = [a.float().mean(1) for a in x]
        rstd = [(a.float().var(1, unbiased=False) + 1e-5).rsqrt() for a in x]
        dparams = arrays(2, n, dtype=torch.float32)

        def eager(dy, x, w, mean, rstd, n=n):
            return torch.ops.aten.native_layer_norm_backward(dy, x, [n], mean[:, None], rstd[:, None], w, w, [True] * 3)
        rows += raced(f"layernorm backward bf16 {m} x {n}", clock,
                      ("17", kernel("17_layernorm_backward.py", n, torch.bfloat16)),
                      eager, [dy, x, weight, mean, rstd], [dx, dparams], (dx, x), dparams)
    return rows


def sum_rows(clock) -> list[dict]:
    rows = []
    for m, n in WIDE:
        x, y = arrays(m, n, dtype=torch.bfloat16), arrays(m, n, dtype=torch.bfloat16)
        total = arrays(m, dtype=torch.float32)
        rows += raced(f"row sum bf16 {m} x {n}", clock, ("19", kernel("19_row_sum.py", n, torch.bfloat16)),
                      lambda x: x.sum(-1, dtype=torch.float32), [x], [total], (y, x))
    return rows


SUITES = (softmax_rows, rmsnorm_rows, layernorm_rows, layernorm_backward_rows, sum_rows)

"""The GPU benchmarks: python tests/bench/gpu.py [--json FILE] [SUITE ...]

Every kernel is the committed example, emitted for the device's arch and checked against its peer before it
is timed. Peers run in the same process and the same rounds: cuBLAS, cuDNN and FlashAttention through
torch, torch's own kernels, and a plain copy for what memory allows.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "bench")]

import gpu_rows  # noqa: E402
from race import race, report  # noqa: E402
from tilegen import kernel_files  # noqa: E402
from tilegen.timing import gpu_clock  # noqa: E402


def example(name: str, **values):
    """The kernel of an example file, with knobs."""
    kernel = kernel_files.find(str(ROOT / "examples" / name))
    return kernel.specialize(**values) if values else kernel


def archs(kernel) -> dict:
    """{arch: callable}: the kernel as it is emitted for sm_80, and for this device where that differs."""
    texts = {"sm_80": kernel.specialised("cuda", "sm_80")}
    here = kernel.here("cuda")
    return {name: one.loaded for name, one in (texts | {here.target.arch: here}).items()}


def module(name: str):
    """The Python module of an example file, for its other functions."""
    spec = importlib.util.spec_from_file_location("example", ROOT / "examples" / name)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def in_graph(calls: list):
    """The replay of a CUDA graph of these calls, one after the other."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    return graph.replay


def checked(name: str, got: torch.Tensor, want: torch.Tensor, tolerance: float) -> None:
    error = ((got.double() - want.double()).norm() / want.double().norm()).item()
    assert error < tolerance, f"{name}: relative error {error}"


def gemm_f32(clock) -> list[dict]:
    rows = []
    for n in (1024, 2048, 4096, 8192):
        a, b, c = (torch.randn(n, n, device="cuda") for _ in range(3))
        want = a @ b
        kernel = example("06_gemm.py")
        c.fill_(float("nan"))
        kernel(a, b, c)
        checked("matmul", c, want, 1e-5)
        times = race({"cuBLAS": lambda: torch.mm(a, b, out=want), "tilegen 06_gemm": kernel.bind(a, b, c)}, clock)
        rows += report(f"gemm f32 {n}^3", times, flops=2 * n**3)
    return rows


PRODUCTS = (*((n, n, n) for n in (1024, 2048, 4096, 8192, 16384)), (4096, 14336, 4096), (8192, 1024, 8192),
            (8192, 8192, 1024), (4095, 4096, 4088), (1000, 3000, 2000), (5120, 1536, 6144))


def gemm_f16(clock) -> list[dict]:
    """The kernel takes the knobs that its own rule gives for a size."""
    rows = []
    kernel = example("09_gemm_tensor_core.py")
    for m, n, k in PRODUCTS:
        a, b = (torch.randn(shape, device="cuda", dtype=torch.half) for shape in ((m, k), (k, n)))
        c, want = torch.empty(m, n, device="cuda", dtype=torch.half), a @ b
        c.fill_(float("nan"))
        kernel(a, b, c)
        checked("matmul", c, want, 2e-3)
        times = race({"cuBLAS": lambda: torch.mm(a, b, out=want), "tilegen 09": kernel.bind(a, b, c)}, clock)
        title = f"gemm f16 {m}^3" if m == n == k else f"gemm f16 {m} x {n} x {k}"
        rows += report(title, times, flops=2 * m * n * k)
    return rows


def elementwise(clock) -> list[dict]:
    n = 8192
    x, y, z = (torch.randn(n, n, device="cuda") for _ in range(3))
    add, transpose = example("01_add.py"), example("03_transpose.py")
    add(x, y, z)
    checked("add", z, x + y, 1e-6)
    rows = report("add f32 8192 x 8192", race({"torch": lambda: torch.add(x, y, out=z), "tilegen 01_add": add.bind(x, y, z)},
                                              clock), moved=12 * n * n)
    transpose(x, z)
    checked("transpose", z, x.t(), 1e-7)
    times = race({"copy": lambda: z.copy_(y), "torch": lambda: z.copy_(x.t()), "tilegen 03_transpose": transpose.bind(x, z)},
                 clock)
    return rows + report("transpose f32 8192 x 8192", times, moved=8 * n * n)


BATCH, HEADS = 4, 16


def attention_inputs(length: int, size: int):
    q, k, v = (torch.randn(BATCH, HEADS, length, size, device="cuda", dtype=torch.half) for _ in range(3))
    return q, k, v, torch.empty_like(q)


def attention_peers(q, k, v, causal: bool) -> dict:
    """FlashAttention-2 and cuDNN, as torch has them."""
    def peer(backend):
        def run():
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return run
    return {"FlashAttention-2": peer(SDPBackend.FLASH_ATTENTION), "cuDNN": peer(SDPBackend.CUDNN_ATTENTION)}


def attention(clock) -> list[dict]:
    rows = []
    for size in (64, 128):
        for causal, name in ((False, "10_flash_attention.py"), (True, "20_flash_attention_causal_gqa.py")):
            for length in (1024, 4096, 16384):
                q, k, v, out = attention_inputs(length, size)
                peers = attention_peers(q, k, v, causal)
                flat = [t.view(BATCH * HEADS, length, size) for t in (q, k, v, out)]
                ours = {}
                for arch, kernel in archs(example(name, D=size)).items():
                    out.fill_(float("nan"))
                    kernel(*flat)
                    checked(name, out, peers["FlashAttention-2"](), 2e-3)
                    ours[f"tilegen {name[:2]} {arch}"] = kernel.bind(*flat)
                times = race(peers | ours, clock)
                title = f"attention f16 D{size} T{length}{' causal' if causal else ''}"
                rows += report(title, times, flops=4 * BATCH * HEADS * length**2 * size / (2 if causal else 1))
    return rows


def attention_backward(clock) -> list[dict]:
    """Gradients beside torch's backward of FlashAttention-2, which also sums dO * O."""
    rows = []
    for length in (1024, 4096):
        q, k, v, _ = (t.requires_grad_() for t in attention_inputs(length, 64))
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            out = F.scaled_dot_product_attention(q, k, v)
        up = torch.randn_like(out)

        def peer():
            return torch.autograd.grad(out, (q, k, v), up, retain_graph=True)
        scores = [torch.logsumexp(q.detach()[b].float() @ k.detach()[b].float().transpose(-1, -2) / 8, -1)
                  for b in range(BATCH)]
        flat = [t.detach().reshape(BATCH * HEADS, length, -1) for t in (q, k, v, up)]
        lse, delta = torch.stack(scores).view(-1, length), (up.float() * out.detach().float()).sum(-1).view(-1, length)
        dq, dk, dv = (torch.zeros_like(flat[0], dtype=torch.float32), *(torch.empty_like(t) for t in flat[1:3]))
        ours = {}
        for arch, kernel in archs(example("22_flash_attention_backward.py")).items():
            dq.zero_()
            kernel(*flat, lse, delta, dq, dk, dv)
            for name, got, want in zip(("dQ", "dK", "dV"), (dq, dk, dv), peer()):
                checked(name, got, want.view(got.shape), 5e-3)
            bound = kernel.bind(*flat, lse, delta, dq, dk, dv)
            ours[f"tilegen 22 {arch}"] = lambda bound=bound: (dq.zero_(), bound())
        times = race({"FlashAttention-2": peer} | ours, clock)
        rows += report(f"attention backward f16 D64 T{length}", times, flops=10 * BATCH * HEADS * length**2 * 64)
    return rows


SETS = 6                                 # of weights, which together are larger than the L2 cache


def int4(clock) -> list[dict]:
    """4-bit weights against cuBLAS on the same weights in float16: alone, each call after the cache was overwritten;
    and as layers of a network follow each other, in a graph that multiplies by one set of weights after the other."""
    rows, warm = [], gpu_clock(flush=False)
    for n, k in ((8192, 8192), (4096, 14336), (14336, 4096)):
        packed, scales, full = int4_weights(n, k)
        for m in (1, 2, 4, 8, 16):
            kernel = example("24_int4_dequant_gemm.py")
            a = torch.randn(m, k, device="cuda", dtype=torch.half)
            c, want = torch.zeros(m, n, device="cuda"), torch.empty(m, n, device="cuda", dtype=torch.half)
            kernel(a, packed[0], scales, c)
            checked("int4_gemm", c, a.float() @ full[0].float().t(), 2e-3)
            bound = [kernel.bind(a, words, scales, c) for words in packed]
            peers = {"cuBLAS f16": [lambda w=w: torch.mm(a, w.t(), out=want) for w in full], "tilegen 24": bound,
                     "tilegen 24, C cleared": [lambda one=one: (c.zero_(), one()) for one in bound]}
            times = race({name: calls[0] for name, calls in peers.items()}, clock)
            rows += report(f"int4 {m} x {k} x {n}", times, flops=2 * m * n * k)
            times = race({name: in_graph(calls) for name, calls in peers.items()}, lambda f: warm(f) / SETS)
            rows += report(f"int4 {m} x {k} x {n}, layers", times, flops=2 * m * n * k)
    return rows


def gemm_small(clock) -> list[dict]:
    """Few rows against many weights: alone, and in a graph as in `int4`. The copy moves the bytes of the weights, half
    of them from memory and half to it. The kernel takes the knobs that its own rule gives for a size."""
    rows, warm = [], gpu_clock(flush=False)
    kernel = example("31_gemm_small.py")
    for n, k in ((8192, 8192), (4096, 14336), (4096, 4096), (1024, 8192)):
        weights = [torch.randn(n, k, device="cuda", dtype=torch.half) for _ in range(SETS)]
        half = torch.empty(n // 2, k, device="cuda", dtype=torch.half)
        for m in (1, 16, 64):
            a, c = (torch.randn(m, size, device="cuda", dtype=torch.half) for size in (k, n))
            want = a @ weights[0].t()
            c.fill_(float("nan"))
            kernel(a, weights[0], c)
            checked("gemm_small", c, want, 2e-3)
            peers = {"cuBLAS": [lambda w=w: torch.mm(a, w.t(), out=want) for w in weights],
                     "copy": [lambda w=w: half.copy_(w[:n // 2]) for w in weights],
                     "tilegen 31": [kernel.bind(a, w, c) for w in weights]}
            moved = 2 * (n * k + m * (n + k))
            times = race({name: calls[0] for name, calls in peers.items()}, clock)
            rows += report(f"gemm {m} x {k} x {n}", times, moved=moved)
            times = race({name: in_graph(calls) for name, calls in peers.items()}, lambda f: warm(f) / SETS)
            rows += report(f"gemm {m} x {k} x {n}, layers", times, moved=moved)
    return rows


def int4_weights(n: int, k: int) -> tuple[list, torch.Tensor, list]:
    """Sets of packed weights, their scales, and the same weights in float16."""
    weights = torch.randint(0, 16, (n, k), device="cuda", dtype=torch.uint8)
    scales = (0.05 * torch.rand(k // 128, n, device="cuda")).half()
    words = torch.from_numpy(module("24_int4_dequant_gemm.py").pack(weights.cpu().numpy()).view("int32")).cuda()
    full = ((weights.half() - 8).view(n, k // 128, 128) * scales.t()[:, :, None]).view(n, k)
    return ([words.clone().view(torch.uint32) for _ in range(SETS)], scales, [full.clone() for _ in range(SETS)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="write the table there, as a list of objects")
    parser.add_argument("suites", nargs="*", help="the ones to run, all without any; rows: those of gpu_rows.py")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(0)
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "cuda", torch.version.cuda)
    clock = gpu_clock()
    suites = (gemm_f32, *gpu_rows.SUITES, elementwise, gemm_f16, gemm_small, attention, attention_backward, int4)
    by_rows = [suite.__name__ for suite in gpu_rows.SUITES]
    asked = {name for given in arguments.suites for name in (by_rows if given == "rows" else [given])}
    chosen = [suite for suite in suites if not asked or suite.__name__ in asked]
    rows = [row for suite in chosen for row in suite(clock)]
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

"""Statements and expressions of kernels: what each Python construct builds."""

import numpy as np
import pytest
import tilegen.language as T
from tilegen import ir
from tilegen.frontend import parse
from tilegen.interpret import run
from tilegen.printer import show


def body(function, **values):
    return "\n".join(show(statement) for statement in parse(function, values=values).body).splitlines()


def test_loops():
    def kernel(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(1) as bx:
            for i in range(2, N, 3):
                A[i] = 0
            for i in T.unroll(4):
                A[i] = 1
            for v in T.vectorized(4):
                A[v] = 2
            for i, j in T.grid(2, N):
                A[i + j] = 3
            for m, n in T.Persistent([4, 8], 16, bx, group_size=2):
                A[m] = n
            for _ in range(2):
                A[0] += 1

    assert body(kernel) == """\
for i in T.serial(2, N, 3):
    A[i] = 0.0
for i in T.unroll(4):
    A[i] = 1.0
for v in T.vectorized(4):
    A[v] = 2.0
for i in T.serial(2):
    for j in T.serial(N):
        A[i + j] = 3.0
for tile in T.Persistent(bx, 32, 16, group_size=2):
    m: int32 = tile // 16 * 2 + tile % 16 % min(4 - tile // 16 * 2, 2)
    n: int32 = tile % 16 // min(4 - tile // 16 * 2, 2)
    A[m] = n
for turn in T.serial(2):
    A[0] = A[0] + 1.0""".splitlines()


@pytest.mark.parametrize("domain", [(4, 8), (3, 5), (7, 2), (1, 1), (2, 3, 4)])
@pytest.mark.parametrize("group_size", [1, 2, 8])
def test_persistent_loops_meet_every_tile_once(domain, group_size):
    def kernel(A: T.Tensor[domain, "int32"]):
        with T.Kernel(3) as bx:
            if len(domain) == 2:
                for m, n in T.Persistent(domain, 3, bx, group_size=group_size):
                    A[m, n] += 1
            else:
                for b, m, n in T.Persistent(domain, 3, bx, group_size=group_size):
                    A[b, m, n] += 1

    array = np.zeros(domain, "int32")
    run(parse(kernel), {"A": array})
    assert (array == 1).all()


def test_while_break_continue():
    def kernel(A: T.Tensor[(4,), "int32"]):
        with T.Kernel(1):
            i = 0
            while i < 100:
                i += 1
                if i % 2 == 0:
                    continue
                elif i > 10:
                    break
                A[0] += i
            A[1] = i

    array = np.zeros(4, "int32")
    run(parse(kernel), {"A": array})
    assert array.tolist() == [25, 11, 0, 0]


def test_conditions():
    def kernel(A: T.Tensor[("N",), "float32"], flag=False):
        with T.Kernel(N) as bx:
            if 0 < bx <= 4 and not bx == 2:
                A[bx] = 1 if bx > 1 else 2
            elif flag or bx == 7:
                A[bx] = 3

    assert body(kernel) == ["if 0 < bx and bx <= 4 and not bx == 2:", "    A[bx] = 1 if bx > 1 else 2",
                            "elif bx == 7:", "    A[bx] = 3.0"]


def test_slices_and_indices():
    def kernel(A: T.Tensor[("M", 64), "float32"], BM=16):
        with T.Kernel(1) as bx:
            x = T.alloc_shared((BM, 64), "float32")
            T.copy(A[bx * BM:(bx + 1) * BM, :], x)
            T.copy(A[-BM:, :], x)
            T.copy(x[2, :], A[bx])
            T.copy(x[..., 8:16], A[0:BM, -8:])
            x[-1, -2] = A[-1, 0]
            x[0:4, :] = 0
            x[:, 0] = A[0:BM, 1]
            y = x[3][4]
            A[0, 0] = y

    copies = [s for s in parse(kernel).body if isinstance(s, ir.Copy)]
    extents = [([show(e) for e in c.src.extents], [show(e) for e in c.dst.extents]) for c in copies]
    assert extents == [(e, e) for e in (["BM", "64"], ["BM", "64"], ["1", "64"], ["BM", "8"], ["BM", "1"])]
    assert [[show(o) for o in c.src.offsets] for c in copies] == [
        ["bx * BM", "0"], ["M - BM", "0"], ["2", "0"], ["0", "8"], ["0", "1"]]
    others = [show(s) for s in parse(kernel).body if not isinstance(s, ir.Copy)]
    assert others[1:] == ["x[BM - 1, 62] = A[M - 1, 0]", "T.clear(x[:4, :])", "y: float32 = x[3, 4]",
                          "A[0, 0] = y"]


def test_a_region_is_indexed_again():
    def kernel(A: T.Tensor[("B", "M", 64), "float32"], BM=16):
        with T.Kernel(4) as bx:
            x = T.alloc_shared((2, BM, 64), "float32")
            part = x[1, 4:12, :]
            part[2, 3] = A[bx, :, 0:32][5, -1]
            part[0, 2, 3] = 1
            T.copy(part[0:4, 8:], A[bx, 0, 0])

    lines = body(kernel)[1:3]
    assert lines == ["x[1, 6, 3] = A[bx, 5, 31]", "x[1, 6, 3] = 1.0"]
    copy = parse(kernel).body[-1]
    assert [show(o) for o in copy.src.offsets] == ["1", "4", "8"]
    assert [show(e) for e in copy.src.extents] == ["1", "4", "56"]


def test_messages():
    def kernel(A: T.Tensor[("N",), "float32"], BM=4):
        with T.Kernel(N) as bx:
            T.print(bx)
            T.print(A[bx], msg="A")
            T.print(f"block {bx} of {BM}: {A[bx]}", "!")
            T.device_assert(bx < BM, f"bad block {bx}")
            T.device_assert(bx < BM)

    assert body(kernel) == ["T.print('bx = {}', bx)", "T.print('A: {}', A[bx])",
                            "T.print('block {} of {}: {} !', bx, BM, A[bx])",
                            "if not bx < BM:", "    T.print('bad block {}', bx)",
                            "T.device_assert(bx < BM, 'bad block ...')", "T.device_assert(bx < BM)"]


def test_python_values_inside_a_kernel():
    config = {"rows": 4}
    offsets = (1, 2)

    def kernel(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(1):
            for i in range(config["rows"]):
                A[i + offsets[1]] = max(3, 4) + len(offsets)

    assert body(kernel) == ["for i in T.serial(4):", "    A[i + 2] = 6.0"]


def test_a_block_without_a_name():
    def kernel(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(2, 3):
            A[0] = T.get_block_binding(1) + T.get_thread_binding(0)

    parsed = parse(kernel)
    assert [v.name for v in parsed.block_vars] == ["bx", "by"]
    assert show(parsed.body[0]) == "A[0] = by + thread_x"

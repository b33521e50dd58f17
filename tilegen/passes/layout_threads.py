"""How many threads go along the rows and the columns of a component, and how wide their vectors are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tilegen import arith, ir
from tilegen.errors import Note, TilegenError
from tilegen.instructions import matrix_instruction
from tilegen.passes.layout_classes import Classes, Key, Members
from tilegen.passes.layout_relations import contributes, reduced_fragments
from tilegen.plan import MmaChoice, WgmmaChoice

WARP = 32


@dataclass
class Choice:
    """`split` is False where the whole block is one row of threads."""

    threads_m: int
    threads_n: int
    split: bool
    digits: dict[Key, str] = field(default_factory=dict)
    vectors: dict[Key, int] = field(default_factory=dict)
    reason: str = ""
    arrangement: str = ""        # of a warp's threads, see layout.FragmentLayout


def choose_threads(kernel: ir.Kernel, classes: Classes, members: Members, threads: int, env) -> Choice:
    """Thread numbers and vectors of one component."""
    digits = digits_of(classes, members)
    if "m" not in digits.values():
        digits = {root: "all" for root, digit in digits.items() if digit == "n"}
        choice = Choice(1, threads, False, digits)
        fill_vectors(choice, classes, members, env)
        choice.reason = "one dimension: the whole block in a row"
        return choice
    if members.gemms and isinstance(members.gemms[0].plan, MmaChoice):
        return for_mma(kernel, classes, members, digits, threads, env)
    if members.gemms:
        return _for_gemm(kernel, classes, members, digits, threads, env)
    return _for_rows(classes, members, digits, threads, env)


def digits_of(classes: Classes, members: Members) -> dict[Key, str]:
    """'n' for last dimensions, 'm' for those before, gemm accumulators deciding first; then what has most dimensions,
    of fragments and of loops that contribute to reducers; other loops follow."""
    strict = [g.c.buffer for g in members.gemms]
    boxes = {b.name: range(len(b.shape)) for b in members.buffers if b not in strict}
    boxes |= {n: members.nests[n] for n in _contributing(classes, members)}
    order = [*((b.name, range(len(b.shape))) for b in strict), *sorted(boxes.items(), key=lambda box: -len(box[1])),
             *((n, v) for n, v in members.nests.items() if n not in boxes)]
    items = [[classes.of(owner, d) for d in dimensions] for owner, dimensions in order]
    digits: dict[Key, str] = {}
    partners = {a: b for s in _splits(classes) for a, b in ((s[0], s[1]), (s[1], s[0]))}
    for keys in items:
        keys = [k for k in keys if classes.extents[k] != ir.Const(1) and k not in classes.whole]
        wanted = {"n": None, "m": None}
        for key in keys:
            if digits.get(key):
                _refuse_double(classes, wanted[digits[key]], key)
                wanted[digits[key]] = key
        for key in (k for k in keys if keys.count(k) > 1):
            _refuse_double(classes, key, key)
        for key in reversed(keys):
            if key not in digits:
                free = [digit for digit, owner in wanted.items() if owner is None]
                free.sort(key=lambda digit: digit != digits.get(partners.get(key)))
                digits[key] = free[0] if free else ""
                if free:
                    wanted[free[0]] = key
    for coarse, inner, _ in _splits(classes):
        if digits.get(coarse, "") != digits.get(inner, ""):
            _refuse_double(classes, coarse, inner)
    return digits


def _contributing(classes: Classes, members: Members) -> list[int]:
    """The nests of a component that contribute to reducers: more iterations meet in an element than threads hold it."""
    return [n for n in members.nests if contributes(classes.nests[n])]


def _splits(classes: Classes) -> list[tuple[Key, Key, int]]:
    return [(classes.of(*s.coarse), classes.of(*s.inner), s.size) for s in classes.splits]


def whole_groups(classes: Classes, digits: dict[Key, str], m: int, n: int) -> bool:
    """Whether m x n threads can hold whole groups, where a dimension is seen as groups under another name."""
    counts = {"m": m, "n": n, "all": m * n, "": 1}
    return all(size % counts[digits.get(coarse, "")] == 0 for coarse, _, size in _splits(classes))


def extents_of(classes: Classes, buffer: ir.Buffer) -> list[int]:
    """The extents of a buffer as numbers."""
    return [arith.evaluate(e, classes.env) for e in buffer.shape]


def registers(classes: Classes, members: Members, digits: dict[Key, str], m: int, n: int) -> int:
    """What one of m x n threads holds of all fragments of a component."""
    counts = {"m": m, "n": n, "": 1}
    return sum(math.prod(-(-extent // counts[digits.get(classes.of(b.name, d), "")])
                         for d, extent in enumerate(extents_of(classes, b))) for b in members.buffers)


def _together(classes: Classes, root: Key) -> int:
    """The elements that runs and threads have to divide: those of the dimension, or of a group."""
    sizes = [size for coarse, inner, size in _splits(classes) if root in (coarse, inner)]
    return math.gcd(arith.evaluate(classes.extents[root], classes.env), *sizes)


def _refuse_double(classes: Classes, first: Key | None, second: Key) -> None:
    if first is None:
        return
    loc = classes.forced.get(second) or classes.forced.get(first)
    raise TilegenError(
        "TG0203", f"{classes.describe(first)} and {classes.describe(second)} would both go along the same threads",
        loc, hint="a fragment cannot be read transposed: copy it to shared memory and read it from there",
        notes=(Note("the first use is", classes.forced.get(first)),))


def _for_gemm(kernel, classes, members, digits, threads, env) -> Choice:
    gemm = members.gemms[0]
    refuse_turned(classes, members, digits)
    rows, cols = (arith.evaluate(classes.extents[k], env) for k in _matrix_keys(classes, gemm))
    by_rows = not gemm.transpose_a and not gemm.transpose_b
    grids = [(m, threads // m) for m in divisors(threads)]
    asked = next((g.policy for g in members.gemms if isinstance(g.policy, tuple)), None)
    if asked:                                              # of each warp 4 x 8 threads
        grids = [(asked[0] * 4, asked[1] * 8)]
    best = min(grids, key=lambda mn: _gemm_cost(rows, cols, *mn, by_rows))
    choice = Choice(*best, True, digits)
    for other in members.gemms:
        r, c = _matrix_keys(classes, other)
        size = 16 // max(other.a.buffer.dtype.bytes, 4)
        for key, wide, count in ((r, other.transpose_a, best[0]), (c, not other.transpose_b, best[1])):
            width = _widest(arith.evaluate(classes.extents[key], env), count, size) if wide else 1
            choice.vectors[key] = min(width, choice.vectors.get(key, width))
    reduced = reduced_fragments(kernel)
    if best[0] % 4 == 0 and best[1] % 8 == 0 and not reduced & {b.name for b in members.buffers}:
        choice.arrangement = "fma"
    choice.reason = (f"gemm accumulator: {best[0]} x {best[1]} threads, so that each holds the squarest part "
                     f"({-(-rows // best[0])} x {-(-cols // best[1])}) and loads the fewest operands")
    if choice.arrangement:
        choice.reason += "; a warp covers 4 x 8 of them, so that its lanes share the rows and columns they load"
    fill_vectors(choice, classes, members, env)
    return choice


def _matrix_keys(classes: Classes, gemm: ir.Gemm) -> tuple[Key, Key]:
    """The classes of the accumulator's rows and columns."""
    rank = len(gemm.c.extents)
    return classes.of(gemm.c.buffer.name, rank - 2), classes.of(gemm.c.buffer.name, rank - 1)


def refuse_turned(classes: Classes, members: Members, digits) -> None:
    """TG0203 where a product would have its rows along the fast threads."""
    for gemm in members.gemms:
        rows, cols = _matrix_keys(classes, gemm)
        if digits.get(rows, "m") != "m" or digits.get(cols, "n") != "n":
            raise TilegenError("TG0203", "this accumulator would need its rows along the fast threads", gemm.loc,
                               hint="swap the operands of one gemm, or copy between fragments through shared memory")


def for_mma(kernel: ir.Kernel, classes: Classes, members: Members, digits, threads: int, env) -> Choice:
    """Warps of 8 x 4 threads, as the mma instructions hold their accumulator: each thread has pairs of
    neighbouring columns. The warps' grid was chosen with the instruction."""
    refuse_turned(classes, members, digits)
    chosen: MmaChoice = members.gemms[0].plan
    choice = Choice(chosen.warps_m * 8, chosen.warps_n * 4, True, digits,
                    arrangement="wgmma" if isinstance(chosen, WgmmaChoice) else matrix_instruction(chosen.helper).call)
    for root in members.roots:
        if digits.get(root) == "n":
            choice.vectors[root] = 2
    choice.reason = (f"{chosen.warps_m} x {chosen.warps_n} warps of 8 x 4 threads, each with pairs of "
                     f"neighbouring columns: the accumulator of {chosen.helper}")
    return choice


def _gemm_cost(rows: int, cols: int, threads_m: int, threads_n: int, few_rows: bool) -> tuple:
    """Unused slots first, then operand elements that a thread loads per step. Of equals the one with
    few rows per thread where rows are loaded one by one and columns as vectors, else few columns."""
    held = -(-rows // threads_m), -(-cols // threads_n)
    waste = held[0] * threads_m * held[1] * threads_n / (rows * cols)
    return (waste, held[0] + held[1], held[0] if few_rows else held[1])


def _for_rows(classes, members, digits, threads, env) -> Choice:
    """Rows of the largest fragment: whole warps along a row, as many rows at a time as there are."""
    def extents(keys: list[Key]) -> tuple[int, int]:
        sizes = {digits.get(k, ""): arith.evaluate(classes.extents[k], env) for k in keys}
        return sizes.get("m", 1), sizes.get("n", 1)
    boxes = {b.name: [classes.of(b.name, d) for d in range(len(b.shape))] for b in members.buffers}
    boxes |= {"the loop": [classes.of(n, v) for v in members.nests[n]] for n in _contributing(classes, members)}
    lead = max(boxes, key=lambda name: math.prod(extents(boxes[name])))
    rows, cols = extents(boxes[lead])
    size = classes.widest([b for b in members.buffers if extents(boxes[b.name])[1] == cols] or members.buffers)
    along = [n for n in divisors(threads) if n & (n - 1) == 0 and whole_groups(classes, digits, threads // n, n)]
    column = next((k for k in boxes[lead] if digits.get(k) == "n"), None)
    together = _together(classes, column) if column else cols
    def cost(n: int) -> tuple:
        m = threads // n
        width = _widest(together, n, size)
        held = -(-rows // m) * -(-cols // (n * width)) * width
        if classes.whole & set(members.roots):           # what one thread holds of the others may be more
            held = registers(classes, members, digits, m, n)
        return (held, n < min(WARP, cols), -width, abs(n - WARP))
    best = min(along, key=cost)
    choice = Choice(threads // best, best, True, digits)
    fill_vectors(choice, classes, members, env)
    choice.reason = (f"{best} threads along each row of {lead}, {threads // best} rows at a time: "
                     "the fewest registers, whole warps along a row, 16-byte accesses")
    return choice


def fill_vectors(choice: Choice, classes: Classes, members: Members, env) -> None:
    """16-byte runs along the columns, where the extent divides."""
    for root in members.roots:
        if root in choice.vectors or choice.digits.get(root) not in ("n", "all"):
            continue
        along = [b for b in members.buffers if len(b.shape) and classes.of(b.name, len(b.shape) - 1) == root]
        count = choice.threads_n
        size = classes.widest(along or members.buffers)
        choice.vectors[root] = _widest(_together(classes, root), count, size)
    for coarse, inner, _ in _splits(classes):
        if coarse in choice.vectors:
            same = min(choice.vectors[coarse], choice.vectors.get(inner, 1))
            choice.vectors[coarse] = choice.vectors[inner] = same


def _widest(extent: int, threads: int, most: int) -> int:
    """The widest vector, up to `most`, that leaves no slot unused; 1 where none does."""
    width = most
    while width > 1 and extent % (threads * width):
        width //= 2
    return width


def divisors(n: int) -> list[int]:
    """All that divide n, the smallest first."""
    return [d for d in range(1, n + 1) if n % d == 0]

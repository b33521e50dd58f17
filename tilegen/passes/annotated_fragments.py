"""Fragments that T.annotate_layout spreads: the grid of threads that does what the kernel asks, found by comparing
tables, or an error that shows both maps."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

from tilegen import arith, ir
from tilegen.errors import Note, TilegenError
from tilegen.layout import Axis, FragmentLayout, drawn
from tilegen.passes.layout_classes import Classes, Members
from tilegen.passes.layout_threads import Choice, divisors, fill_vectors, whole_groups
from tilegen.wishes import Placement

_VECTORS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Asked:
    """A fragment, what the kernel asks, and the threads of each element: an array [elements..., copies]."""

    buffer: ir.Buffer
    wish: Placement
    threads: Any


def honoured(kernel: ir.Kernel, classes: Classes, members: Members, choice: Choice, threads: int, env: dict) -> Choice:
    """`choice`, or another one that spreads the component's fragments as T.annotate_layout says. TG0203 where the
    instruction of a product, or the annotation of a related fragment, wants them otherwise."""
    wishes = {w.buffer: w for w in kernel.wishes if isinstance(w, Placement) and w.slot is not None}
    asked = [_asked(b, wishes[b.name], threads, env) for b in members.buffers if b.name in wishes]
    if not asked:
        return choice
    reason = f"{', '.join(a.buffer.name for a in asked)} as the kernel asks"
    candidates = [choice] if members.gemms else [choice, *_candidates(classes, members, asked[0], threads, env)]
    for candidate in candidates:
        grid = candidate.threads_m, candidate.threads_n
        if all(_serves(classes, candidate, a, threads) for a in asked) and \
                whole_groups(classes, candidate.digits, *grid):
            return replace(candidate, reason=f"{candidate.reason}; {reason}" if candidate is choice else reason)
    raise _refused(classes, members, choice, asked, threads, env)


def _asked(buffer: ir.Buffer, wish: Placement, threads: int, env: dict) -> Asked:
    """The table of an annotation, checked: threads of the block, copies in different ones, registers of their own."""
    import numpy

    extents = [arith.evaluate(e, env) for e in buffer.shape]
    sizes = [*extents, wish.copies] if wish.copies > 1 else extents
    table = numpy.zeros((*extents, wish.copies), dtype=int)
    held: dict[tuple[int, int], tuple] = {}
    for point in itertools.product(*(range(e) for e in sizes)):
        values = env | dict(zip((v.name for v in wish.vars), point))
        thread, slot = int(arith.evaluate(wish.value, values)), int(arith.evaluate(wish.slot, values))
        element = point[:len(extents)]
        if not 0 <= thread < threads:
            raise TilegenError("TG0206", f"T.annotate_layout: {buffer.name}{list(element)} gets thread {thread} of "
                               f"{threads}", wish.loc, "the block's threads are counted from 0")
        if slot >= 0 and held.setdefault((thread, slot), element) != element:
            raise TilegenError("TG0206", f"T.annotate_layout: {buffer.name}{list(held[thread, slot])} and "
                               f"{buffer.name}{list(element)} both get register {slot} of thread {thread}", wish.loc,
                               "the function has to give each element a register of its own")
        table[(*element, point[-1] if wish.copies > 1 else 0)] = thread
    return Asked(buffer, wish, table)


def _numbers(choice: Choice, threads: int) -> dict[str, Any]:
    """The thread numbers of every thread, by digit."""
    import numpy

    layout = FragmentLayout((), choice.threads_m, choice.threads_n, choice.arrangement)
    return {digit: numpy.array([layout.digit(Axis("", "", 1, digit, 1), t) for t in range(threads)])
            for digit in ("m", "n", "all")}


def _count(choice: Choice, digit: str, threads: int) -> int:
    return {"m": choice.threads_m, "n": choice.threads_n, "all": threads, "": 1}[digit]


def _along(asked: Asked, dimension: int, numbers, count: int, vector: int) -> bool:
    """Whether the threads of each element have the numbers that runs of `vector` give along a dimension."""
    import numpy

    extent = asked.threads.shape[dimension]
    shape = [1] * asked.threads.ndim
    shape[dimension] = extent
    expected = (numpy.arange(extent) // vector % count).reshape(shape)
    return bool((numbers[asked.threads] == expected).all())


def _serves(classes: Classes, choice: Choice, asked: Asked, threads: int) -> bool:
    """Whether a choice holds each element in exactly the threads that were asked for."""
    import numpy

    numbers = _numbers(choice, threads)
    spread = 1
    for d in range(len(asked.buffer.shape)):
        root = classes.of(asked.buffer.name, d)
        digit = choice.digits.get(root, "")
        if digit:
            count = _count(choice, digit, threads)
            spread *= count
            if not _along(asked, d, numbers[digit], count, choice.vectors.get(root, 1)):
                return False
    ordered = numpy.sort(asked.threads, axis=-1)
    distinct = bool((ordered[..., 1:] != ordered[..., :-1]).all())
    return distinct and threads == spread * asked.threads.shape[-1]


def _candidates(classes: Classes, members: Members, asked: Asked, threads: int, env: dict):
    """Choices that spread one fragment as asked, with the rest of its component in the same grid."""
    for n in divisors(threads):
        for arrangement in ("", "fma", "mma"):
            m = threads // n
            if arrangement and (threads % 32 or (m % 4 or n % 8 if arrangement == "fma" else m % 8 or n % 4)):
                continue
            base = Choice(m, n, m > 1, arrangement=arrangement)
            numbers = _numbers(base, threads)
            found = []
            for d in range(len(asked.buffer.shape)):
                digits = ("m", "n") if m > 1 else ("all",)
                found.append([("", 1)] + [
                    (digit, v) for digit in digits for v in _VECTORS
                    if _count(base, digit, threads) > 1 and v <= asked.threads.shape[d]
                    and _along(asked, d, numbers[digit], _count(base, digit, threads), v)])
            for combination in itertools.product(*found):
                used = [digit for digit, _ in combination if digit]
                if len(set(used)) == len(used):
                    yield _completed(classes, members, asked, base, combination, env)


def _completed(classes: Classes, members: Members, asked: Asked, base: Choice, combination, env: dict) -> Choice:
    """The choice with digits for the dimensions that the annotation does not speak of."""
    digits = {classes.of(asked.buffer.name, d): digit for d, (digit, _) in enumerate(combination)}
    vectors = {classes.of(asked.buffer.name, d): vector for d, (_, vector) in enumerate(combination)}
    links = [[classes.of(b.name, d) for d in range(len(b.shape))] for b in members.buffers]
    links += [[classes.of(number, v) for v in names] for number, names in members.nests.items()]
    for keys in links:
        for key in reversed(keys):
            if key not in digits:
                taken = {digits.get(k) for k in keys}
                free = [x for x in (("n", "m") if base.split else ("all",)) if x not in taken]
                digits[key] = free[0] if free and key not in classes.whole else ""
    choice = replace(base, digits=digits, vectors=vectors)
    fill_vectors(choice, classes, members, env)
    return choice


def _refused(classes: Classes, members: Members, choice: Choice, asked: list[Asked], threads: int, env) -> TilegenError:
    """Both maps, and the statements that want them."""
    first = next((a for a in asked if not _serves(classes, choice, a, threads)), asked[0])
    name, shape = first.buffer.name, [arith.evaluate(e, env) for e in first.buffer.shape]
    axes = tuple(Axis("", "", e, choice.digits.get(classes.of(name, d), ""),
                      _count(choice, choice.digits.get(classes.of(name, d), ""), threads),
                      choice.vectors.get(classes.of(name, d), 1)) for d, e in enumerate(shape))
    ours = FragmentLayout(axes, choice.threads_m, choice.threads_n, choice.arrangement).map(8, 8)
    theirs = drawn({e: int(first.threads[(*e, 0)]) for e in itertools.product(*(range(n) for n in shape))}, shape, 8, 8)
    gemm = members.gemms[0] if members.gemms else None
    what = "the product wants" if gemm else "the nearest layout of the planner has"
    why = "the product has it in other threads" if gemm else "it is no product of runs along the dimensions"
    return TilegenError(
        "TG0203", f"T.annotate_layout: {name} cannot be spread so: {why}", first.wish.loc,
        "leave the annotation out, or T.copy between two fragments: one as the kernel asks, one as the planner does",
        (Note(_map(f"the kernel asks for {name} in these threads", theirs), first.wish.loc),
         Note(_map(f"{what} {name} in these", ours), gemm.loc if gemm else first.buffer.loc)))


def _map(title: str, lines: list[str]) -> str:
    return "\n".join([f"{title}:", *(f"           {line}" for line in lines), "          "])

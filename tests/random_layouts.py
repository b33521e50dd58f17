"""Random kernels that use a few fragments in every way there is: the property behind test_random_layouts.py."""

from __future__ import annotations

import linecache
import random

from operation_cases import Case

EXTENTS = (8, 12, 16, 24, 32, 48)


class Draft:
    """A kernel under construction: fragments by name, with their shapes, and lines of its body."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.lines: list[str] = []
        self.threads = self.pick.choice((32, 64, 96, 128))
        self.m, self.n = self.pick.choice(EXTENTS), self.pick.choice(EXTENTS)

    def fragment(self, shape: tuple[int, ...], scope: str = "fragment") -> str:
        name = f"{'f' if scope == 'fragment' else 's'}{len(self.shapes)}"
        self.shapes[name] = shape
        self.lines.append(f"{name} = T.alloc_{scope}({shape}, 'float32')")
        return name

    def of_rank(self, rank: int) -> str:
        return self.pick.choice([n for n, s in self.shapes.items() if len(s) == rank and n[0] == "f"])

    def index(self, name: str, variables: list[tuple[str, int]]) -> str | None:
        """Indices into a fragment from loop variables and their extents: plain, swapped, shifted, strided, turned."""
        parts = []
        for extent in self.shapes[name]:
            var, count = self.pick.choice(variables)
            forms = [f"{var} % {extent}", f"({var} * 3 + 1) % {extent}", str(self.pick.randrange(extent))]
            if count <= extent:
                forms += [var] * 6 + [f"{extent - 1} - {var}", f"{var} + {extent - count}"]
            if 2 * count <= extent:
                forms += [f"2 * {var}", f"2 * {var} + 1"]
            parts.append(self.pick.choice(forms))
        return f"{name}[{', '.join(parts)}]"


def _nest(d: Draft) -> None:
    """One fragment from others, at indices of every kind."""
    target = d.pick.choice([n for n in d.shapes if n[0] == "f"])
    shape = d.shapes[target]
    names = list("ij"[:len(shape)])
    loop = list(zip(names, shape))
    order = d.pick.sample(loop, len(loop))
    head = f"for {', '.join(v for v, _ in order)} in T.Parallel({', '.join(str(e) for _, e in order)}):"
    others = [n for n in d.shapes if n != target]
    reads = [d.index(d.pick.choice(others), loop) for _ in range(d.pick.randint(1, 2))] if others else ["1.0"]
    place = f"{target}[{', '.join(names)}]"
    value = f"{place} * 0.5 + " + " - ".join(reads)
    if d.pick.random() < 0.2:
        value = f"T.if_then_else({names[0]} < 5, {reads[0]}, {place})"
    line = f"{place} = {value}"
    guard = f"if {names[-1]} % 3 == 1: " if d.pick.random() < 0.2 else ""
    d.lines += [head, f"    {guard}{line}"]


def _part(d: Draft) -> None:
    """A nest over a part of a fragment, written at a place that is no loop variable."""
    target = d.of_rank(2)
    m, n = d.shapes[target]
    form = d.pick.choice((("i", f"{n - 1} - j", m, n // 2), (f"i + {m // 2}", "j", m // 2, n), ("i", "2 * j", m, n // 2),
                          ("2 * i + 1", f"j + {n // 4}", m // 2, n // 2)))
    d.lines += [f"for i, j in T.Parallel({form[2]}, {form[3]}):", f"    {target}[{form[0]}, {form[1]}] += i - j * 0.25"]


def _slice(d: Draft) -> None:
    a, b = d.of_rank(2), d.of_rank(2)
    rows = d.pick.randint(1, min(d.shapes[a][0], d.shapes[b][0]))
    cols = d.pick.randint(1, min(d.shapes[a][1], d.shapes[b][1]))
    if a == b:
        return
    at = [(d.pick.randint(0, d.shapes[x][0] - rows), d.pick.randint(0, d.shapes[x][1] - cols)) for x in (a, b)]
    source, target = (f"{x}[{r}:{r + rows}, {c}:{c + cols}]" for x, (r, c) in zip((a, b), at))
    d.lines.append(f"T.copy({source}, {target})")


def _reduce(d: Draft) -> None:
    source = d.of_rank(2)
    dim = d.pick.randint(0, 1)
    length = d.shapes[source][1 - dim]
    fitting = [n for n, s in d.shapes.items() if s == (length,) and n[0] == "f"]
    target = d.pick.choice(fitting) if fitting and d.pick.random() < 0.6 else d.fragment((length,))
    d.lines.append(f"T.reduce_{d.pick.choice(('sum', 'max', 'absmax'))}({source}, {target}, dim={dim})")
    d.lines += [f"for i in T.Parallel({length}):", f"    {target}[i] = {target}[i] * 0.125"]


def _scan(d: Draft) -> None:
    source = d.of_rank(2)
    d.lines += [f"T.cummax({source}, dim={d.pick.randint(0, 1)})"]


def _scalar(d: Draft) -> None:
    name = d.of_rank(2)
    m, n = d.shapes[name]
    at = f"{name}[{d.pick.randrange(m)}, {d.pick.randrange(n)}]"
    other = d.of_rank(2)
    d.lines += [f"{at} = {other}[{d.pick.randrange(d.shapes[other][0])}, 0] * 0.5"]
    if d.pick.random() < 0.4:
        d.lines += [f"for k in T.serial({n - 1}):", f"    {name}[2, k] = {name}[2, k + 1] - {name}[k % {m}, 0] * 0.5"]


def _reshape(d: Draft) -> None:
    name = d.of_rank(2)
    m, n = d.shapes[name]
    view = f"v{len(d.lines)}"
    shape = d.pick.choice([(m, 2, n // 2), (m * n,), (m * 2, n // 2), (n, m), (2, m // 2, n)])
    names = list("ijk"[:len(shape)])
    d.lines += [f"{view} = T.reshape({name}, {shape})",
                f"for {', '.join(names)} in T.Parallel({', '.join(map(str, shape))}):",
                f"    {view}[{', '.join(names)}] = {view}[{', '.join(names)}] * 0.5 + {names[-1]}"]
    if len(shape) == 3 and d.pick.random() < 0.6:
        sums = d.fragment(shape[:2])
        d.lines.append(f"T.reduce_sum({view}, {sums}, dim=2)")


def _product(d: Draft) -> None:
    a = d.of_rank(2)
    m, k = d.shapes[a]
    turned = d.pick.random() < 0.3
    rows, depth = (k, m) if turned else (m, k)
    b = d.fragment((depth, d.pick.choice((8, 16, 32))), d.pick.choice(("fragment", "shared")))
    c = d.fragment((rows, d.shapes[b][1]))
    d.lines += [f"for i, j in T.Parallel({depth}, {d.shapes[b][1]}):", f"    {b}[i, j] = (i * 7 + j * 3) % 5 - 2.0",
                f"T.clear({c})", f"T.gemm({a}, {b}, {c}{', transpose_A=True' if turned else ''})",
                f"for i, j in T.Parallel({rows}, {d.shapes[b][1]}):", f"    {c}[i, j] = {c}[i, j] * 0.03125"]


STEPS = (_nest, _nest, _nest, _part, _slice, _reduce, _scan, _scalar, _reshape, _product)


def program(seed: int) -> Case:
    """The kernel of a seed: fragments filled from A, a few steps, everything written to B."""
    d = Draft(seed)
    for _ in range(2):
        shape = (d.m, d.n) if d.pick.random() < 0.7 else (d.n, d.m)
        name = d.fragment(shape)
        d.lines += [f"for i, j in T.Parallel({shape[0]}, {shape[1]}):", f"    {name}[i, j] = A[(i * {shape[1]} + j) % 999]"]
    for _ in range(d.pick.randint(2, 5)):
        d.pick.choice(STEPS)(d)
    offset = 0
    for name, shape in d.shapes.items():
        names = "ij"[:len(shape)]
        flat = names if len(shape) == 1 else f"i * {shape[1]} + j"
        d.lines += [f"for {', '.join(names)} in T.Parallel({', '.join(map(str, shape))}):",
                    f"    B[{offset} + {flat}] = {name}[{', '.join(names)}]"]
        offset += shape[0] * (shape[1] if len(shape) > 1 else 1)
    body = "\n".join(f"        {line}" for line in d.lines)
    text = ("import tilegen.language as T\n\n\n"
            f"def program_{seed}(A: T.Tensor[(999,), 'float32'], B: T.Tensor[({offset},), 'float32']):\n"
            f"    with T.Kernel(1, threads={d.threads}) as _:\n{body}\n")
    name = f"<random layouts {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict = {}
    exec(compile(text, name, "exec"), space)
    return Case(f"program_{seed}", space[f"program_{seed}"], {}, ({},), 1e-4)

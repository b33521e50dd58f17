"""What the statements of a kernel ask of the layouts of fragments, as relations between dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilegen import arith, ir
from tilegen.errors import Loc
from tilegen.passes.layout_classes import Classes, Key, Relation, Split, dimensions
from tilegen.passes.ranges import knob_values


def number_nests(kernel: ir.Kernel) -> ir.Kernel:
    """Every Parallel gets its number as plan, so that later passes can name it."""
    count = iter(range(10**6))
    return replace(
        kernel,
        body=ir.rewrite(
            kernel.body, lambda n: replace(n, plan=next(count)) if isinstance(n, ir.Parallel) else None
        ),
    )


def collect_classes(kernel: ir.Kernel) -> Classes:
    """The classes that the statements of `kernel` ask for."""
    classes = unrelated(kernel)
    for relation in relations(kernel):
        classes.apply(relation)
    return classes


def unrelated(kernel: ir.Kernel) -> Classes:
    """Every dimension of a fragment, and every loop of a nest that touches one, in a class of its own;
    accumulators are pinned."""
    classes = Classes(knob_values(kernel))
    for node in ir.walk(kernel.body):
        if isinstance(node, ir.Alloc) and node.buffer.scope == "fragment":
            classes.add_buffer(node.buffer)
    for node in ir.walk(kernel.body):
        if isinstance(node, ir.Gemm):
            classes.gemms.append(node)
            for d in range(len(node.c.buffer.shape)):
                classes.forced.setdefault((node.c.buffer.name, d), node.loc)
        elif isinstance(node, ir.Parallel) and any(fragment_accesses(node)):
            classes.add_nest(node.plan, node)
        elif isinstance(node, ir.Copy):
            _add_move(classes, node)
    return classes


def _add_move(classes: Classes, copy: ir.Copy) -> None:
    for tile, other in ((copy.src, copy.dst), (copy.dst, copy.src)):
        if tile.buffer.scope == "fragment" and other.buffer.scope in ("global", "shared"):
            classes.add_move(tile.buffer, other)


def relations(kernel: ir.Kernel) -> Iterator[Relation]:
    """What the statements ask for, in their order."""
    for node in ir.walk(kernel.body):
        match node:
            case ir.Alloc(buffer=ir.Alias(scope="fragment") as alias):
                yield _of_alias(node, alias, knob_values(kernel))
            case ir.Gemm() if node.a.buffer.scope == "fragment" and not node.transpose_a:
                yield Relation(node, (_rows_of(node),))
            case ir.Copy() if node.src.buffer.scope == node.dst.buffer.scope == "fragment":
                yield _of_copy(node)
            case ir.Reduce() if node.src.buffer.scope == node.dst.buffer.scope == "fragment":
                yield _of_reduce(node)
            case ir.Scan() | ir.Finalize() if node.src.buffer.scope == node.dst.buffer.scope == "fragment":
                names = node.src.buffer.name, node.dst.buffer.name
                rank = len(node.src.buffer.shape)
                yield Relation(node, tuple(((names[0], d), (names[1], d), node.loc) for d in range(rank)))
            case ir.Parallel():
                yield from _of_nest(node)


def _rows_of(gemm: ir.Gemm) -> tuple[Key, Key, Loc | None]:
    """The rows of a fragment that is the left operand are those of the product."""
    a, c = ((r.buffer.name, len(r.buffer.shape) - 2) for r in (gemm.a, gemm.c))
    return a, c, gemm.loc


def _of_alias(node: ir.Alloc, alias: ir.Alias, env: dict) -> Relation:
    """Its dimensions are those of the other fragment, or groups of them: each thread has whole groups."""
    pairs, whole, splits = [], [], []
    for own, other in grouped(alias, env) or ():
        keys = [[(b.name, d) for d in dims] for b, dims in ((alias, own), (alias.base, other))]
        if len(own) == len(other) == 1:
            pairs.append((*keys[0], *keys[1], alias.loc))
            continue
        (coarse,), fine = sorted(keys, key=len)
        shape = alias.shape if len(own) > 1 else alias.base.shape
        splits.append(Split(coarse, fine[-1], arith.evaluate(shape[fine[-1][1]], env)))
        whole += fine[:-1]
    return Relation(node, tuple(pairs), tuple(whole), splits=tuple(splits))


def grouped(alias: ir.Alias, env: dict) -> list[tuple[list[int], list[int]]] | None:
    """The dimensions of an alias and those of its base that hold the same elements, where one of them always stands
    for one or several of the other; None where it is not so. Extents of 1 are left out."""
    shapes = [[(d, arith.evaluate(e, env)) for d, e in enumerate(b.shape) if e != ir.Const(1)]
              for b in (alias, alias.base)]
    if alias.reinterprets or any(e is None for shape in shapes for _, e in shape):
        return None
    groups = []
    while all(shapes):
        taken, sizes = [[shapes[0].pop(0)], [shapes[1].pop(0)]], [0, 0]
        sizes = [taken[0][0][1], taken[1][0][1]]
        while sizes[0] != sizes[1]:
            short = 0 if sizes[0] < sizes[1] else 1
            if not shapes[short]:
                return None
            taken[short].append(shapes[short].pop(0))
            sizes[short] *= taken[short][-1][1]
        if len(taken[0]) > 1 and len(taken[1]) > 1:
            return None
        groups.append(([d for d, _ in taken[0]], [d for d, _ in taken[1]]))
    return None if any(shapes) else groups


def _of_copy(copy: ir.Copy) -> Relation:
    pairs = zip(dimensions(copy.src), dimensions(copy.dst))
    return Relation(copy, tuple(((copy.src.buffer.name, s), (copy.dst.buffer.name, d), copy.loc) for s, d in pairs))


def _of_reduce(reduce: ir.Reduce) -> Relation:
    kept = [d for d in range(len(reduce.src.buffer.shape)) if d != reduce.dim]
    into = list(range(len(reduce.dst.buffer.shape)))
    if len(into) == len(reduce.src.buffer.shape):  # keepdims: (BM, 1)
        into.remove(reduce.dim)
    names = reduce.src.buffer.name, reduce.dst.buffer.name
    return Relation(reduce, tuple(((names[0], s), (names[1], d), reduce.loc) for s, d in zip(kept, into)))


def fragment_accesses(nest: ir.Parallel) -> Iterator[ir.Load | ir.Store | ir.Atomic]:
    """The elements of fragments that a nest touches."""
    for node in ir.walk(nest.body):
        if isinstance(node, (ir.Load, ir.Store, ir.Atomic)) and node.buffer.scope == "fragment":
            yield node


def _of_nest(nest: ir.Parallel) -> Iterator[Relation]:
    """One relation for each fragment of a nest: loop variables go with the dimensions that they index."""
    own = {var.name for var in nest.vars}
    found: dict[str, list] = {}
    whole: dict[str, list[Key]] = {}
    for access in fragment_accesses(nest):
        name = access.buffer.name
        for d, index in enumerate(access.indices):
            if isinstance(index, ir.Var) and index.name in own:
                pair = (name, d), (nest.plan, index.name), access.loc or nest.loc
                found.setdefault(name, []).append(pair)
            elif not (isinstance(index, ir.Const) and access.buffer.shape[d] == ir.Const(1)):
                whole.setdefault(name, []).append((name, d))
    for name in dict.fromkeys([*found, *whole]):
        yield Relation(nest, tuple(found.get(name, ())), tuple(whole.get(name, ())), name)


def reduced_fragments(kernel: ir.Kernel) -> set[str]:
    """Fragments whose elements meet across threads: those of a reduction, and of nests that contribute to reducers."""
    found = {n.src.buffer.name for n in ir.walk(kernel.body) if isinstance(n, ir.Reduce)}
    for nest in (n for n in ir.walk(kernel.body) if isinstance(n, ir.Parallel) and contributes(n)):
        found |= {access.buffer.name for access in fragment_accesses(nest)}
    return found


def contributes(nest: ir.Parallel) -> bool:
    """Whether a nest updates a reducer that is in registers."""
    return any(isinstance(access, ir.Atomic) for access in fragment_accesses(nest))

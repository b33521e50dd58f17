"""Classes of dimensions that have to be spread alike, and the components that they form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tilegen import arith, ir
from tilegen.errors import Loc, Note, TilegenError
from tilegen.passes.ranges import knob_values

Key = tuple[str | int, int | str]  # (buffer name, dimension) or (nest number, variable)


@dataclass
class Members:
    """One component: its fragments, its nests, its classes; `gemms` are strict."""

    buffers: list[ir.Buffer] = field(default_factory=list)
    nests: dict[int, tuple[str, ...]] = field(default_factory=dict)
    roots: list[Key] = field(default_factory=list)
    gemms: list[ir.Gemm] = field(default_factory=list)

    @property
    def label(self) -> str:
        """The short name of the fragment that the component is named after."""
        return short(self.buffers[0].name)


class Classes:
    """Union-find over dimensions of fragments and variables of nests."""

    def __init__(self, env: dict) -> None:
        self.env = env
        self.parent: dict[Key, Key] = {}
        self.buffers: dict[str, ir.Buffer] = {}
        self.nests: dict[int, ir.Parallel] = {}
        self.links: list[list[Key]] = []  # keys of one buffer or nest
        self.gemms: list[ir.Gemm] = []
        self.extents: dict[Key, ir.Expr] = {}
        self.whole: set[Key] = set()  # keys that no thread number may split
        self.named: dict[Key, tuple[str, str]] = {}
        self.forced: dict[Key, Loc | None] = {}  # where a dimension was first used

    def add_buffer(self, buffer: ir.Buffer) -> None:
        self.buffers[buffer.name] = buffer
        keys = [(buffer.name, d) for d in range(len(buffer.shape))]
        for key, extent in zip(keys, buffer.shape):
            self.parent[key] = key
            self.extents[key] = extent
        self.links.append(keys)

    def add_nest(self, number: int, nest: ir.Parallel) -> None:
        self.nests[number] = nest
        keys = [(number, var.name) for var in nest.vars]
        for key, extent in zip(keys, nest.extents):
            self.parent[key] = key
            self.extents[key] = extent
        self.links.append(keys)

    def of(self, owner: str | int, dimension: int | str) -> Key:
        key = (owner, dimension)
        while self.parent[key] != key:
            key = self.parent[key]
        return key

    def unite(self, a: Key, b: Key, loc: Loc | None) -> None:
        """a and b are spread alike. Two fragments must have equal extents; a nest may run over a part."""
        first, second = self.of(*a), self.of(*b)
        self.forced.setdefault(first, loc)
        if first == second:
            return
        x, y = (arith.evaluate(self.extents[k], self.env) for k in (first, second))
        if x != y and isinstance(first[0], str) and isinstance(second[0], str):
            raise TilegenError(
                "TG0203",
                f"{_side(a)} has {x} elements and {_side(b)} has {y}, but one loop variable indexes both",
                loc,
                hint="give both the same extent, or go through shared memory",
                notes=(Note("the other use is", self.forced.get(second) or self.forced.get(first)),),
            )
        keep, drop = (first, second) if self._rank(first, x) >= self._rank(second, y) else (second, first)
        self.parent[drop] = keep
        if drop in self.whole:
            self.whole.add(keep)

    def apply(self, relation: Relation) -> None:
        """Makes a relation hold. TG0203 for extents that differ."""
        for pair in relation.pairs:
            self.unite(*pair)
        self.whole |= {self.of(*key) for key in relation.whole}

    @staticmethod
    def _rank(key: Key, extent: int | None) -> tuple[bool, int]:
        return (isinstance(key[0], str), extent or 0)

    def components(self) -> list[Members]:
        """Components in order of their first fragment; those with a gemm first."""
        group: dict[Key, Key] = {}

        def top(key: Key) -> Key:
            root = self.of(*key)
            while group.get(root, root) != root:
                root = group[root]
            return root

        for keys in self.links:
            for key in keys[1:]:
                group[top(key)] = top(keys[0])
        found: dict[Key, Members] = {}
        for name, buffer in self.buffers.items():
            if buffer.shape:
                found.setdefault(top((name, 0)), Members()).buffers.append(buffer)
        for number, nest in self.nests.items():
            members = found.get(top((number, nest.vars[0].name)))
            if members is not None:                    # related to a fragment
                members.nests[number] = tuple(v.name for v in nest.vars)
        for gemm in self.gemms:
            found[top((gemm.c.buffer.name, 0))].gemms.append(gemm)
        for members in found.values():
            keys = [(b.name, d) for b in members.buffers for d in range(len(b.shape))]
            keys += [(n, v) for n, variables in members.nests.items() for v in variables]
            members.roots = list(dict.fromkeys(self.of(*key) for key in keys))
        return sorted(found.values(), key=lambda m: not m.gemms)

    def speaker(self, root: Key) -> Key:
        """The dimension that a class is named after: of an accumulator, else of the fragment with the
        most dimensions, the first of equals."""
        accumulators = {gemm.c.buffer.name for gemm in self.gemms}
        order = {name: position for position, name in enumerate(self.buffers)}
        found = [key for key in self.parent if isinstance(key[0], str) and self.of(*key) == root]
        return min(
            found,
            key=lambda k: (k[0] not in accumulators, -len(self.buffers[k[0]].shape), order[k[0]]),
            default=root,
        )

    def names(self, root: Key) -> tuple[str, str]:
        """(layout function, slot count) of a class: ('C_row', 'C_ROWS'). No two classes share them."""
        if root not in self.named:
            function, slots = self._names(root)
            taken, tail = set(self.named.values()), ""
            while (function + tail, slots + tail) in taken:
                tail += "_b"
            self.named[root] = function + tail, slots + tail
        return self.named[root]

    def _names(self, root: Key) -> tuple[str, str]:
        owner, dimension = self.speaker(root)
        if isinstance(owner, int):
            return f"{dimension}_at", f"{str(dimension).upper()}_COUNT"
        rank, base = len(self.buffers[owner].shape), short(owner)
        word, plural = {1: ("element", "ELEMENTS")}.get(rank, _WORDS.get(rank - 1 - int(dimension), None)) or (
            f"axis{dimension}",
            f"AXIS{dimension}",
        )
        return f"{base}_{word}", f"{base.upper()}_{plural}"

    def describe(self, root: Key) -> str:
        """'rows of C_local'"""
        owner, dimension = self.speaker(root)
        if isinstance(owner, int):
            return f"values of {dimension}"
        rank = len(self.buffers[owner].shape)
        word = (
            "elements"
            if rank == 1
            else {0: "columns", 1: "rows"}.get(rank - 1 - int(dimension), f"dimension {dimension}")
        )
        return f"{word} of {owner}"


_WORDS = {0: ("col", "COLS"), 1: ("row", "ROWS")}


def short(name: str) -> str:
    """C for C_local."""
    for suffix in ("_local", "_fragment", "_frag", "_reg"):
        name = name.removesuffix(suffix)
    return name


def _side(key: Key) -> str:
    return f"dimension {key[1]} of {key[0]}" if isinstance(key[0], str) else f"loop {key[1]}"


def number_nests(kernel: ir.Kernel) -> ir.Kernel:
    """Every Parallel gets its number as plan, so that later passes can name it."""
    count = iter(range(10**6))
    return replace(
        kernel,
        body=ir.rewrite(
            kernel.body, lambda n: replace(n, plan=next(count)) if isinstance(n, ir.Parallel) else None
        ),
    )


@dataclass(frozen=True)
class Relation:
    """What one statement asks of the layout of a fragment: keys that are spread alike, in pairs, and keys that no
    thread number may split. `buffer` names the fragment of a nest that it is about."""

    node: ir.Node
    pairs: tuple[tuple[Key, Key, Loc | None], ...]
    whole: tuple[Key, ...] = ()
    buffer: str = ""

    @property
    def strictness(self) -> int:
        """What is kept first where not all can be had."""
        return {ir.Gemm: 0, ir.Reduce: 1, ir.Scan: 1, ir.Copy: 2, ir.Alloc: 3}.get(type(self.node), 4)


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
    return classes


def relations(kernel: ir.Kernel) -> Iterator[Relation]:
    """What the statements ask for, in their order."""
    for node in ir.walk(kernel.body):
        match node:
            case ir.Alloc(buffer=ir.Alias(scope="fragment") as alias):
                yield _of_alias(node, alias)
            case ir.Gemm() if node.a.buffer.scope == "fragment" and not node.transpose_a:
                yield Relation(node, (_rows_of(node),))
            case ir.Copy() if node.src.buffer.scope == node.dst.buffer.scope == "fragment":
                yield _of_copy(node)
            case ir.Reduce() if node.src.buffer.scope == node.dst.buffer.scope == "fragment":
                yield _of_reduce(node)
            case ir.Scan() if node.src.buffer.scope == node.dst.buffer.scope == "fragment":
                names = node.src.buffer.name, node.dst.buffer.name
                rank = len(node.src.buffer.shape)
                yield Relation(node, tuple(((names[0], d), (names[1], d), node.loc) for d in range(rank)))
            case ir.Parallel():
                yield from _of_nest(node)


def _rows_of(gemm: ir.Gemm) -> tuple[Key, Key, Loc | None]:
    """The rows of a fragment that is the left operand are those of the product."""
    a, c = ((r.buffer.name, len(r.buffer.shape) - 2) for r in (gemm.a, gemm.c))
    return a, c, gemm.loc


def dimensions(region: ir.Region) -> list[int]:
    """The dimensions of a region that are not of extent 1."""
    return [d for d, e in enumerate(region.extents) if e != ir.Const(1)]


def _of_alias(node: ir.Alloc, alias: ir.Alias) -> Relation:
    """Its dimensions are those of the other fragment, but for extents of 1."""
    own, other = ([d for d, e in enumerate(b.shape) if e != ir.Const(1)] for b in (alias, alias.base))
    return Relation(node, tuple(((alias.name, a), (alias.base.name, b), alias.loc) for a, b in zip(own, other)))


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

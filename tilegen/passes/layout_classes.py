"""Classes of dimensions that have to be spread alike, and the components that they form."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilegen import arith, ir
from tilegen.errors import Loc, Note, TilegenError

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
        self.splits: list[Split] = []
        self.named: dict[Key, tuple[str, str]] = {}
        self.forced: dict[Key, Loc | None] = {}  # where a dimension was first used
        self.moved: dict[str, tuple[int, int]] = {}  # fragment: (elements, -bytes of one) of its largest box in memory

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

    def add_move(self, fragment: ir.Buffer, memory: ir.Region) -> None:
        """A copy between a fragment and memory, whose element type says how many make 16 bytes."""
        count = arith.evaluate(arith.product(memory.extents), self.env) or 0
        own = count, -memory.buffer.dtype.bytes
        self.moved[fragment.name] = max(own, self.moved.get(fragment.name, own))

    def widest(self, buffers: list[ir.Buffer]) -> int:
        """Elements of a 16-byte access: of those that these fragments come from in memory or go to, the largest box
        deciding, of equals that of the smallest elements; of the fragments themselves where no copy moves them."""
        moves = [self.moved[b.name] for b in buffers if b.name in self.moved]
        return max(1, 16 // (-max(moves)[1] if moves else max(b.dtype.bytes for b in buffers)))

    def apply(self, relation: Relation) -> None:
        """Makes a relation hold. TG0203 for extents that differ."""
        for pair in relation.pairs:
            self.unite(*pair)
        self.whole |= {self.of(*key) for key in relation.whole}
        self.splits += relation.splits
        self.links += [[split.coarse, split.inner] for split in relation.splits]

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
            key=lambda k: (k[0] not in accumulators, isinstance(self.buffers[k[0]], ir.Alias),
                           -len(self.buffers[k[0]].shape), order[k[0]]),
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


def dimensions(region: ir.Region) -> list[int]:
    """The dimensions of a region that are not of extent 1."""
    return [d for d, e in enumerate(region.extents) if e != ir.Const(1)]


@dataclass(frozen=True)
class Split:
    """A dimension that is seen as groups under another name: the elements of a group, of which there are `size`, are
    spread over the threads as those of the whole dimension are."""

    coarse: Key
    inner: Key
    size: int


@dataclass(frozen=True)
class Relation:
    """What one statement asks of the layout of a fragment: keys that are spread alike, in pairs, and keys that no
    thread number may split. `buffer` names the fragment of a nest that it is about."""

    node: ir.Node
    pairs: tuple[tuple[Key, Key, Loc | None], ...]
    whole: tuple[Key, ...] = ()
    buffer: str = ""
    splits: tuple[Split, ...] = ()

    @property
    def strictness(self) -> int:
        """What is kept first where not all can be had."""
        return {ir.Gemm: 0, ir.Reduce: 1, ir.Scan: 1, ir.Finalize: 1, ir.Copy: 2, ir.Alloc: 3}.get(type(self.node), 4)

"""How much of every tile somebody reads: rows that lie outside of all outputs need not be computed.

Each dimension of a tile, and each variable of a T.Parallel, needs what those that read it need: all
(no entry), or what lies below a limit such as `M - by * BM`, which a copy into a tensor sets.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from tilegen import arith, ir
from tilegen.passes.accesses import conditions
from tilegen.passes.cpu_bounds import inline_indices, limit_of, region_limit
from tilegen.passes.ranges import Ranges

Place = tuple[object, object]            # (buffer name, dimension from the end) or (id of a nest, variable)


@dataclass(frozen=True)
class All:
    """Everything is needed."""


Need = ir.Expr | All


@dataclass
class Needs:
    """Collects who needs what; `limit` answers."""

    known: Ranges
    block_names: set[str]                # names whose values hold for the whole block
    fixed: dict[Place, set[Need]] = field(default_factory=lambda: defaultdict(set))
    same: dict[Place, set[Place]] = field(default_factory=lambda: defaultdict(set))
    solved: dict[Place, Need] = field(default_factory=dict)

    def limit(self, place: Place) -> ir.Expr | None:
        """What stays below this is needed; None where all is."""
        need = self.solved.get(place)
        return need if isinstance(need, ir.Expr) else None

    # ---- Collecting ------------------------------------------------------------------------------
    def statements(self, statements: tuple[ir.Stmt, ...]) -> None:
        for s in statements:
            match s:
                case ir.Copy():
                    self.copy(s)
                case ir.Fill():
                    self.plain_reads((s.value, *s.dst.offsets))
                case ir.Gemm():
                    self.gemm(s)
                case ir.Reduce():
                    self.reduce(s)
                case ir.Parallel():
                    self.nest(s)
                case ir.For() | ir.While() | ir.If():
                    self.plain_reads(tuple(c for c in ir.children(s) if isinstance(c, ir.Expr)))
                    for body in (getattr(s, name, ()) for name in ("body", "then", "otherwise")):
                        self.statements(body)
                case _:
                    self.plain_reads((s,))

    def plain_reads(self, nodes: tuple[ir.Node, ...]) -> None:
        """Reads of which nothing is known need all of a tile."""
        for n in ir.walk(nodes):
            if isinstance(n, (ir.Load, ir.Region)):
                self.all_of(n.buffer)

    def all_of(self, buffer: ir.Buffer) -> None:
        for d in range(-len(buffer.shape), 0):
            self.fixed[buffer.name, d].add(All())

    def whole(self, region: ir.Region, d: int) -> bool:
        return region.offsets[d] == ir.Const(0) and region.extents[d] == region.buffer.shape[d]

    def copy(self, s: ir.Copy) -> None:
        self.plain_reads((*s.src.offsets, *s.dst.offsets))
        if s.src.buffer.scope == "global":
            return
        pairs = zip(_long(s.src), _long(s.dst))
        paired = {d: e for d, e in pairs}
        for d in range(-len(s.src.extents), 0):
            e = paired.get(d)
            if e is None or not self.whole(s.src, d):
                self.fixed[s.src.buffer.name, d].add(All())
            elif s.dst.buffer.scope == "global":
                self.fixed[s.src.buffer.name, d].add(self.tensor_limit(s.dst, e))
            elif self.whole(s.dst, e):
                self.same[s.src.buffer.name, d].add((s.dst.buffer.name, e))
            else:
                self.fixed[s.src.buffer.name, d].add(All())

    def tensor_limit(self, region: ir.Region, d: int) -> Need:
        """How far a region reaches into a tensor."""
        limit = region_limit(self.known, region, d)
        return All() if limit is None else self.usable([limit])

    def usable(self, limits: list[ir.Expr]) -> Need:
        for limit in limits:
            if arith.names(limit) <= self.block_names and not any(isinstance(n, ir.Load) for n in ir.walk(limit)):
                return limit
        return All()

    def gemm(self, s: ir.Gemm) -> None:
        if not all(self.whole(r, d) for r in (s.a, s.b, s.c) for d in (-2, -1)):
            return self.plain_reads((s.a, s.b, s.c))
        a, b = (-1 if s.transpose_a else -2), (-2 if s.transpose_b else -1)
        self.plain_reads((*s.a.offsets, *s.b.offsets, *s.c.offsets))
        for region, cut, of in ((s.a, a, -2), (s.b, b, -1)):
            self.all_but(region, {cut})
            self.same[region.buffer.name, cut].add((s.c.buffer.name, of))
        self.all_but(s.c, {-2, -1})

    def all_but(self, region: ir.Region, dims: set[int]) -> None:
        for d in set(range(-len(region.extents), 0)) - dims:
            self.fixed[region.buffer.name, d].add(All())

    def reduce(self, s: ir.Reduce) -> None:
        self.plain_reads((*s.src.offsets, *s.dst.offsets))
        if s.src.buffer.scope == "global":
            return
        reduced = s.dim % len(s.src.extents) - len(s.src.extents)
        kept = [d for d in _long(s.src) if d != reduced]
        paired = dict(zip(kept, _long(s.dst)))
        for d in range(-len(s.src.extents), 0):
            e = paired.get(d)
            if e is not None and self.whole(s.src, d) and self.whole(s.dst, e) and s.dst.buffer.scope != "global":
                self.same[s.src.buffer.name, d].add((s.dst.buffer.name, e))
            else:
                self.fixed[s.src.buffer.name, d].add(All())

    # ---- T.Parallel ------------------------------------------------------------------------------
    def nest(self, s: ir.Parallel) -> None:
        names = {v.name for v in s.vars}
        for var, extent in zip(s.vars, s.extents):
            self.known.ranges[var.name] = (0, arith.bounds(extent, self.known.ranges)[1] - 1)
            self.known.limits[var.name] = extent
        for n in ir.walk(inline_indices(s.body)):
            match n:
                case ir.Store() | ir.Atomic():
                    self.write(s, n, names)
                case ir.Load() if n.buffer.scope != "global":
                    self.read(s, n, names)
                case ir.Let() | ir.If() | ir.Expr() | ir.Buffer() | ir.For() | ir.Alloc():
                    pass
                case _:
                    for name in names:
                        self.fixed[id(s), name].add(All())

    def write(self, s: ir.Parallel, n: ir.Store | ir.Atomic, names: set[str]) -> None:
        """An iteration is needed if what it writes is."""
        for name in names:
            place = (id(s), name)
            along = [d for d, i in enumerate(n.indices, -len(n.indices)) if isinstance(i, ir.Var) and i.name == name]
            if n.buffer.scope == "global":
                limits = [limit_of(c, names) for c in conditions(n.buffer, n.indices, self.known)]
                self.fixed[place].add(self.usable([x.limit for x in limits if x is not None and x.variable == name]))
            elif n.buffer.scope in ("shared", "fragment") and len(along) == 1 and isinstance(n, ir.Store):
                self.same[place].add((n.buffer.name, along[0]))
            else:
                self.fixed[place].add(All())

    def read(self, s: ir.Parallel, n: ir.Load, names: set[str]) -> None:
        for d, index in enumerate(n.indices, -len(n.indices)):
            if isinstance(index, ir.Var) and index.name in names:
                self.same[n.buffer.name, d].add((id(s), index.name))
            else:
                self.fixed[n.buffer.name, d].add(All())

    # ---- Solving ---------------------------------------------------------------------------------
    def solve(self) -> None:
        """Needs flow from readers to what they read, until nothing changes."""
        for place, needs in self.fixed.items():
            self.solved[place] = needs.copy().pop() if len(needs) == 1 else All()
        changed = True
        while changed:
            changed = False
            for place, others in self.same.items():
                for need in [self.solved[o] for o in others if o in self.solved]:
                    new = need if self.solved.get(place, need) == need else All()
                    if self.solved.get(place) != new:
                        self.solved[place] = new
                        changed = True


def _long(region: ir.Region) -> list[int]:
    """The dimensions of a region that are longer than 1, from the end."""
    rank = len(region.extents)
    return [d - rank for d, extent in enumerate(region.extents) if extent != ir.Const(1)]


def find_needs(kernel: ir.Kernel, known: Ranges, block_names: set[str]) -> Needs:
    """What every tile and nest of the kernel is needed for."""
    needs = Needs(known, block_names)
    needs.statements(kernel.body)
    for n in ir.walk(kernel.body):
        if isinstance(n, ir.Alias):
            needs.all_of(n)
            needs.all_of(n.base)
    needs.solve()
    return needs

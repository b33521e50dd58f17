"""What the planners of the CPU share: names, ranges, where elements lie, and counts that have a name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tilegen import arith, ir
from tilegen.dtypes import DType, int32, int64
from tilegen.passes.accesses import guard_loads, guard_statements
from tilegen.passes.cpu_layouts import LANES, lanes_constant
from tilegen.passes.cpu_needed import Needs, find_needs
from tilegen.passes.cpu_print import checked, printed
from tilegen.passes.cpu_tiles import TileLayout
from tilegen.passes.ranges import Ranges, collect, knob_values
from tilegen.plan import Check, Constant, NestPlan
from tilegen.targets.base import Target


@dataclass
class Scope:
    """What is known at one place of the program: named counts, and which part of a tile was filled from
    a tensor (`inside[buffer]`: rows and columns that exist; the rest is zero)."""

    counts: dict[ir.Expr, ir.Var] = field(default_factory=dict)
    inside: dict[str, tuple[ir.Expr, ir.Expr]] = field(default_factory=dict)
    pending: list[ir.Let] = field(default_factory=list)

    def child(self) -> Scope:
        return Scope(dict(self.counts), dict(self.inside))

    def forget(self, names: set[str]) -> None:
        """The tiles `names` were written by something else."""
        for name in names:
            self.inside.pop(name, None)


@dataclass
class CpuPlanner:
    kernel: ir.Kernel
    target: Target
    known: Ranges = field(init=False)
    env: dict = field(init=False)
    taken: set[str] = field(init=False)
    block_names: set[str] = field(init=False)
    layouts: dict[str, TileLayout] = field(init=False)
    needs: Needs = field(init=False)
    constants: dict[str, Constant] = field(init=False)
    checks: dict[Check, None] = field(init=False)
    notes: list[tuple[str, str]] = field(init=False)
    top: dict[ir.Expr, ir.Var] = field(default_factory=dict)       # counts that hold for the whole block
    names: dict[ir.Expr, str] = field(default_factory=dict)        # counts by the name that they got
    scratch: list[TileLayout] = field(default_factory=list)        # panels that gemms pack for themselves

    def __post_init__(self) -> None:
        plan = self.kernel.plan
        self.known = collect(self.kernel)
        self.layouts = dict(plan.layouts)
        self.constants = {c.name: c for c in plan.constants}
        self.checks = dict.fromkeys(plan.checks)
        self.notes = list(plan.notes)
        self.env = knob_values(self.kernel) | {c.name: c.value for c in plan.constants}
        self.known.ranges |= {c.name: (c.value, c.value) for c in plan.constants}
        nodes = list(ir.walk(self.kernel))
        self.taken = {n.name for n in nodes if isinstance(n, (ir.Var, ir.Buffer))} | set(self.env)
        self.block_names = {v.name for v in (*self.kernel.sizes, *self.kernel.block_vars)} | set(self.env)
        self.block_names |= {p.name for p in self.kernel.params if p.var is not None}
        self.needs = find_needs(self.kernel, self.known, self.block_names)
        self.taken |= {v.name for v in self.kernel.sizes} | {p.name for p in self.kernel.params} | {self.kernel.name}

    # ---- Names and numbers -----------------------------------------------------------------------
    def value(self, expr: ir.Expr) -> int | None:
        return arith.evaluate(expr, self.env)

    def fresh(self, *wanted: str) -> str:
        """The first of the wanted names that the kernel does not use; it stays free for other nests."""
        return ir.fresh_name(self.taken, *wanted)

    def lanes(self, element: DType) -> ir.Var:
        """The constant that says how many elements a vector has."""
        constant = self.constants.setdefault(LANES[element].name, lanes_constant(element))
        self.env[constant.name] = constant.value
        self.known.ranges[constant.name] = (constant.value, constant.value)
        return constant.var

    def constant(self, name: str, value: int, comment: str) -> ir.Var:
        """A constexpr of that name and value."""
        self.env[name] = self.constants.setdefault(name, Constant(name, value, comment)).value
        self.known.ranges[name] = (value, value)
        return ir.Var(name, kind="knob")

    def spare(self, region: ir.Region, dims: list[int], vars) -> dict[str, ir.Expr | None]:
        """{variable: limit} for loops over a region that is written: what nobody reads from there on."""
        rank = len(region.extents)
        whole = all(o == ir.Const(0) for o in region.offsets)
        return {v.name: self.needs.limit((region.buffer.name, d - rank)) for v, d in zip(vars, dims)} if whole else {}

    def is_multiple(self, extent: ir.Expr, step: ir.Expr) -> bool:
        """Whether `extent` is a number of whole steps; a check in the file keeps it so."""
        value, by = self.value(extent), self.value(step)
        if value is None or not by or value % by:
            return False
        condition = arith.binary("==", arith.modulo(extent, step), ir.Const(0))
        if not isinstance(extent, ir.Const):
            self.checks.setdefault(Check(condition, "rows of tiles are made of whole vectors"))
        return True

    def count(self, scope: Scope, value: ir.Expr, *wanted: str) -> ir.Expr:
        """A name for `value` at this place: one that it has already, or a new one before the statement.
        What holds for the whole block is named once, at the top of the body."""
        if isinstance(value, (ir.Const, ir.Var)):
            return value
        whole_block = arith.names(value) <= self.block_names and not any(isinstance(n, ir.Load) for n in ir.walk(value))
        counts = self.top if whole_block else scope.counts
        changes = any(isinstance(n, ir.Load) for n in ir.walk(value))
        if value not in counts or changes:
            name = self.fresh(*wanted) if changes else self.names.get(value) or self.fresh(*wanted)
            self.names[value] = name
            self.taken.add(name)
            counts[value] = ir.Var(name, kind="let")
            self.known.ranges[name] = (float("-inf"), arith.bounds(value, self.known.ranges)[1])
            if not whole_block:
                scope.pending.append(ir.Let(counts[value], value))
        return counts[value]

    @contextmanager
    def attempt(self, scope: Scope) -> Iterator[None]:
        """Takes back the counts that were named inside where that ends with an exception."""
        before = dict(self.top), dict(self.names), set(self.taken), dict(scope.counts), list(scope.pending)
        try:
            yield
        except Exception:
            self.top, self.names, self.taken, scope.counts, scope.pending[:] = before
            raise

    # ---- Elements --------------------------------------------------------------------------------
    def element(self, buffer: ir.Buffer, indices: tuple[ir.Expr, ...]) -> ir.Load:
        """Where an element is stored."""
        layout = self.layouts.get(buffer.name)
        return layout.locate(indices) if layout else ir.Load(buffer, indices)

    def stored(self, buffer: ir.Buffer) -> DType:
        """The element type of a buffer's storage."""
        layout = self.layouts.get(buffer.name)
        return layout.storage.dtype if layout else buffer.dtype

    def scalar(self, expr: ir.Expr, held: tuple[ir.Expr, ...] = ()) -> ir.Expr:
        """`expr` with safe reads from tensors, and tiles addressed where they lie."""
        return self.placed(guard_loads(expr, self.known, held))

    def placed(self, node):
        """`node` with every element of a tile addressed where it lies, for one thread that runs the
        whole block: loops are plain loops, and atomics on tiles plain assignments."""
        return ir.rewrite(node, self._placed)

    def _placed(self, n):
        match n:
            case ir.Load() if n.buffer.name in self.layouts:
                return self.element(n.buffer, n.indices)
            case ir.Store() if n.buffer.name in self.layouts:
                n = replace(n, value=arith.assignable(n.value, self.stored(n.buffer)))
                place = self.element(n.buffer, n.indices)
                return replace(n, buffer=place.buffer, indices=place.indices, value=self.rounded(n.value, n.buffer))
            case ir.Store():
                return replace(n, value=arith.assignable(n.value, n.buffer.dtype))
            case ir.Atomic() if n.buffer.scope != "global":
                place = self.element(n.buffer, n.indices)
                value = arith.binary(n.operator, place, n.value)
                changed = ir.Store(place.buffer, place.indices, self.rounded(value, n.buffer), loc=n.loc)
                return (ir.Store(n.previous, (), place, loc=n.loc), changed) if n.previous else changed
            case ir.Raw():
                places = (self.element(r.buffer, r.offsets) if r.buffer.name in self.layouts else r for r in n.writes)
                return replace(n, writes=tuple(p if isinstance(p, ir.Region) else ir.Region(
                    p.buffer, p.indices, (ir.Const(1),) * len(p.indices)) for p in places))
            case ir.BinOp(op="min" | "max") if n.dtype == int32:       # std::min wants both of one type
                a, b = (x if x.dtype == int32 else ir.Cast(x, int32) for x in (n.a, n.b))
                return replace(n, a=a, b=b)
            case ir.For() if n.kind != "serial":
                return replace(n, kind="serial")
            case ir.Parallel():
                body = n.body
                for var, extent in reversed(tuple(zip(n.vars, n.extents))):
                    body = (ir.For("serial", var, ir.Const(0), extent, ir.Const(1), body, loc=n.loc),)
                return body
            case ir.Sync():
                return ()
            case ir.Assert():
                return checked(n)
            case ir.Print():
                return tuple(self._printed(p) for p in printed(n))
            case ir.Const() if n.dtype in (int32, int64) and n.value == -2**(n.dtype.bits - 1):
                return ir.Call(f"lowest_{n.dtype}", (), n.dtype)       # C++ has no literal for it
        return None

    def _printed(self, s: ir.Stmt) -> ir.Stmt:
        """A print of a tile reads it where it lies."""
        if not isinstance(s.plan, NestPlan):
            return s
        return replace(s, plan=replace(s.plan, body=self.placed(guard_statements(s.plan.body, self.known))))

    def rounded(self, value: ir.Expr, buffer: ir.Buffer) -> ir.Expr:
        """`value` as the buffer's own type would keep it, where its storage is wider."""
        if self.stored(buffer) == buffer.dtype or value.dtype == buffer.dtype or isinstance(value, ir.Const):
            return value
        return ir.Cast(value, buffer.dtype)

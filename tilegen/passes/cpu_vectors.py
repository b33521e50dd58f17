"""The body of an elementwise loop on whole vectors: the same statements, with vector types.

A value that depends on the loop's variable becomes a vector; all others stay scalars, which C++
spreads where they meet a vector. What has no vector form raises CannotVectorise with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tilegen import arith, ir
from tilegen.dtypes import DType, float32, float64, int32
from tilegen.passes.accesses import conditions, conjunction
from tilegen.passes.cpu_bounds import Bounds, limit_of, split
from tilegen.passes.cpu_planner import CpuPlanner, Scope
from tilegen.strided import has_rows
from tilegen.vectors import ADDRESS, VECTOR_ELEMENTS, VECTOR_FUNCTIONS, VECTOR_STORES, VECTORS

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
MASK = DType("mask", "bool", 8)


class CannotVectorise(Exception):
    """Why a loop stays a plain loop."""


@dataclass(frozen=True)
class VectorStore(ir.Stmt):
    """Stores a vector at `target`: all of it, or the first `count` elements, `stride` apart."""

    helper: str
    target: ir.Load
    value: ir.Expr
    count: ir.Expr | None = None
    stride: ir.Expr | None = None


def is_vector(e: ir.Expr) -> bool:
    return e.dtype in VECTORS.values() or e.dtype == MASK


@dataclass
class Vectors:
    """Rewrites a body for the loop over `var`, which goes up to `stop` in steps of `lanes`. `whole`:
    the loop runs over whole vectors only; `free`: tiles may be written beyond `stop`."""

    planner: CpuPlanner
    scope: Scope
    var: ir.Var
    names: set[str]                      # all variables of the nest
    element: DType                       # what a lane holds
    bounds: Bounds
    stop: ir.Expr
    whole: bool
    free: bool = False
    renamed: dict[str, ir.Var] = field(default_factory=dict)

    @property
    def vector(self) -> DType:
        return VECTORS[self.element]

    @property
    def lanes(self) -> ir.Var:
        return self.planner.lanes(self.element)

    # ---- Statements ------------------------------------------------------------------------------
    def body(self, statements: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return tuple(self.statement(s) for s in statements)

    def statement(self, s: ir.Stmt) -> ir.Stmt:
        match s:
            case ir.Let():
                value = self.value(s.value)
                if not is_vector(value):
                    return replace(s, value=value)
                if value.dtype == MASK or s.var.dtype.compute != self.element:
                    raise CannotVectorise(f"{s.var.name} is not {self.element}")
                self.renamed[s.var.name] = replace(s.var, dtype=self.vector)
                return replace(s, var=self.renamed[s.var.name], value=value)
            case ir.Store():
                return self.store(s)
        raise CannotVectorise(f"it has a {type(s).__name__.lower()} inside")

    def store(self, s: ir.Store) -> ir.Stmt:
        if not arith.names(s.indices) & {self.var.name}:
            raise CannotVectorise(f"all iterations write one element of {s.buffer.name}")
        value = s.value
        if isinstance(value, ir.Cast) and value.dtype == s.buffer.dtype:
            value = value.a                                    # the store converts
        value = self.as_vector(value)
        stored = self.planner.stored(s.buffer)
        if s.buffer.dtype.compute != self.element or stored.name not in VECTOR_STORES[self.vector.name]:
            raise CannotVectorise(f"{s.buffer.name} holds {s.buffer.dtype}")
        if stored != s.buffer.dtype:
            if s.buffer.dtype.name not in ("float16", "bfloat16"):
                raise CannotVectorise(f"{s.buffer.name} holds {s.buffer.dtype}")
            value = ir.Call(f"round_to_{s.buffer.dtype}", (value,), self.vector)
        return self.vector_store(s.buffer, s.indices, value)

    def vector_store(self, buffer: ir.Buffer, indices: tuple[ir.Expr, ...], value: ir.Expr) -> VectorStore:
        """`value` stored at neighbours, or at equal distances."""
        stored = self.planner.stored(buffer)
        layout = self.planner.layouts.get(buffer.name)
        stride = layout.stride_along(self.along(buffer, indices)[0]) if layout and stored == float32 else None
        target = self.place(buffer, indices, stride is not None)
        count = self.count(buffer, indices, writes=True)
        tail = "_strided" if stride is not None else "_first" if count is not None else ""
        return VectorStore(f"store_{stored}{tail}", target, value, count, stride)

    # ---- Values ----------------------------------------------------------------------------------
    def as_vector(self, e: ir.Expr) -> ir.Expr:
        """`e` as a vector of the loop's element type."""
        value = self.value(e)
        if value.dtype == self.vector:
            return value
        if is_vector(value):
            raise CannotVectorise("a truth value is stored as a number")
        return ir.Call("broadcast", (self.uniform(value),), self.vector)

    def uniform(self, e: ir.Expr) -> ir.Expr:
        """A scalar in the element type of the loop."""
        if isinstance(e, ir.Const):
            number = float(e.value) if self.element.is_float else e.value
            return ir.Const(number, self.element, loc=e.loc)
        return e if e.dtype == self.element else ir.Cast(e, self.element)

    def value(self, e: ir.Expr) -> ir.Expr:
        """`e` as a vector where it depends on the loop's variable, else as a safe scalar."""
        if not self.varies(e):
            return self.planner.scalar(e)
        match e:
            case ir.Load():
                return self.load(e)
            case ir.Var(name=name) if name in self.renamed:
                return self.renamed[name]
            case ir.Var():
                return self.numbers()
            case ir.BinOp():
                return self.binary(e)
            case ir.UnOp(op="-"):
                return ir.UnOp("-", self.as_vector(e.a), self.vector)
            case ir.UnOp(op="not"):
                return ir.UnOp("~", self.mask(e.a), MASK)
            case ir.Select():
                return self.select(e)
            case ir.Cast():
                return self.cast(e)
            case ir.Call(name=name, args=args):
                if name not in VECTOR_FUNCTIONS[self.vector.name] or len(args) != 1:
                    raise CannotVectorise(f"{name} of {self.element} has no vector form")
                return ir.Call(name, (self.as_vector(args[0]),), self.vector)
        raise CannotVectorise(f"{type(e).__name__} has no vector form")

    def varies(self, e: ir.Expr) -> bool:
        return bool(arith.names(e) & ({self.var.name} | set(self.renamed)))

    def numbers(self) -> ir.Expr:
        """The values of the loop's variable in the lanes."""
        if self.element != int32:
            raise CannotVectorise(f"the loop variable {self.var.name} is used as a number beside {self.element}")
        return ir.BinOp("+", self.var, ir.Call("lane_numbers", (), self.vector), self.vector)

    def binary(self, e: ir.BinOp) -> ir.Expr:
        if e.op in ("and", "or"):
            return ir.BinOp({"and": "&", "or": "|"}[e.op], self.mask(e.a), self.mask(e.b), MASK)
        if e.op in _COMPARISONS:
            return self.comparison(e)
        if e.dtype.compute != self.element:
            raise CannotVectorise(f"it computes in {e.dtype} beside {self.element}")
        if e.op in ("min", "max"):
            return ir.BinOp(e.op, self.as_vector(e.a), self.as_vector(e.b), self.vector)
        allowed = ("+", "-", "*", "/") if self.element.is_float else ("+", "-", "*", "&", "|", "^")
        if e.op not in allowed:
            raise CannotVectorise(f"'{e.op}' of {self.element} has no vector form")
        return ir.BinOp(e.op, self.operand(e.a), self.operand(e.b), self.vector)

    def operand(self, e: ir.Expr) -> ir.Expr:
        value = self.value(e)
        if value.dtype == MASK:
            raise CannotVectorise("it computes with truth values")
        return value if is_vector(value) else self.uniform(value)

    def comparison(self, e: ir.BinOp) -> ir.Expr:
        """Lanes of floats and of 32-bit integers have masks of one form."""
        kinds = {x.dtype.compute for x in (e.a, e.b) if self.varies(x)}
        if kinds == {self.element}:
            return ir.BinOp(e.op, self.operand(e.a), self.operand(e.b), MASK)
        if kinds == {int32} and self.element == float32:
            inner = replace(self, element=int32)
            return ir.BinOp(e.op, inner.operand(e.a), inner.operand(e.b), MASK)
        raise CannotVectorise(f"it compares {e.a.dtype} beside {self.element}")

    def mask(self, e: ir.Expr) -> ir.Expr:
        value = self.value(e)
        if value.dtype != MASK:
            raise CannotVectorise("a condition mixes what varies in the loop with what does not")
        return value

    def select(self, e: ir.Select) -> ir.Expr:
        condition = self.value(e.condition)
        if is_vector(condition) and condition.dtype != MASK:
            raise CannotVectorise("a number is used as a condition")
        return ir.Select(condition, self.as_vector(e.a), self.as_vector(e.b), self.vector)

    def cast(self, e: ir.Cast) -> ir.Expr:
        source = e.a.dtype.compute
        if e.dtype == self.element and source == self.element:
            return self.value(e.a)                             # a load has converted already
        if e.dtype == float32 == self.element and source == int32:
            return ir.Call("to_float32", (replace(self, element=int32).as_vector(e.a),), self.vector)
        if e.dtype == int32 == self.element and source == float32:
            return ir.Call("to_int32", (replace(self, element=float32).as_vector(e.a),), self.vector)
        if e.dtype.name in ("float16", "bfloat16") and source == float32 == self.element:
            return ir.Call(f"round_to_{e.dtype}", (self.as_vector(e.a),), self.vector)
        raise CannotVectorise(f"a cast from {e.a.dtype} to {e.dtype} has no vector form")

    # ---- Memory ----------------------------------------------------------------------------------
    def load(self, e: ir.Load) -> ir.Expr:
        stored = self.planner.stored(e.buffer)
        if e.buffer.scope in ("local", "var"):
            raise CannotVectorise(f"{e.buffer.name} is a local array")
        if e.dtype.compute != self.element or stored.name not in VECTOR_ELEMENTS[self.vector.name]:
            raise CannotVectorise(f"{e.buffer.name} holds {e.dtype} beside {self.element}")
        place = self.place(e.buffer, e.indices)
        count = self.count(e.buffer, e.indices, writes=False)
        address = ir.UnOp("&", place, ADDRESS)
        name = f"load_{stored}" + ("_first" if count is not None else "")
        return ir.Call(name, (address,) if count is None else (address, count), self.vector)

    def place(self, buffer: ir.Buffer, indices: tuple[ir.Expr, ...], strided: bool = False) -> ir.Load:
        """The element that lane 0 touches, once it is clear that the others are its neighbours (or follow
        at equal distances)."""
        if isinstance(buffer, ir.Alias) and buffer.reinterprets:
            raise CannotVectorise(f"{buffer.name} is memory of another type")
        if not has_rows(buffer):
            raise CannotVectorise(f"neighbours in {buffer.name} are as far apart as the caller says")
        dimension, base = self.along(buffer, indices)
        layout = self.planner.layouts.get(buffer.name)
        if not strided and not (layout.contiguous_along(dimension) if layout else dimension == -1):
            raise CannotVectorise(f"neighbours in {self.var.name} are not neighbours in {buffer.name}")
        if layout and layout.kind != "rows" and not strided and not self.planner.is_multiple(base, self.lanes):
            raise CannotVectorise(f"{buffer.name} is cut into vectors at other places")
        if buffer.scope != "global":
            self.check_inside(buffer, dimension, base)
        return self.planner.element(buffer, tuple(self.planner.scalar(i) for i in indices))

    def along(self, buffer: ir.Buffer, indices: tuple[ir.Expr, ...]) -> tuple[int, ir.Expr]:
        """(dimension counted from the end, first index) that the lanes run along."""
        along = [d for d, i in enumerate(indices, -len(indices)) if self.varies(i)]
        parts = split(indices[along[0]], {self.var.name}) if len(along) == 1 else None
        if parts is None or parts[0] is None or arith.names(indices[along[0]]) & set(self.renamed):
            raise CannotVectorise(f"{buffer.name} is read or written at scattered places")
        return along[0], parts[1]

    def check_inside(self, buffer: ir.Buffer, dimension: int, base: ir.Expr) -> None:
        low, high = arith.bounds(base, self.planner.known.ranges)
        extent = self.planner.value(buffer.shape[dimension])
        last = arith.bounds(self.stop, self.planner.known.ranges)[1]
        if low < 0 or extent is None or high + last > extent:
            raise CannotVectorise(f"{buffer.name} is accessed beyond its rows")

    def count(self, buffer: ir.Buffer, indices: tuple[ir.Expr, ...], writes: bool) -> ir.Expr | None:
        """How many lanes exist from here on; None where all do."""
        if buffer.scope != "global":
            dimension, base = self.along(buffer, indices)
            planner = self.planner
            padded = planner.is_multiple(buffer.shape[dimension], self.lanes) and planner.is_multiple(base, self.lanes)
            if self.whole or (padded and (self.free or not writes)):
                return None
            return arith.subtract(self.stop, self.var)
        own, outer = None, []
        for condition in conditions(buffer, indices, self.planner.known):
            limit = limit_of(condition, {self.var.name})
            if self.bounds.holds(condition, self.names):
                continue
            if limit is not None and limit.variable == self.var.name and own is None:
                own = limit.limit
            elif self.varies(condition):
                raise CannotVectorise(f"{buffer.name} is guarded in its middle")
            else:
                outer.append(condition)
        return self.lanes_left(own, outer)

    def lanes_left(self, own: ir.Expr | None, outer: list[ir.Expr]) -> ir.Expr | None:
        count = None if self.whole else arith.subtract(self.stop, self.var)
        if own is not None:
            named = own
            if not arith.names(own) & self.names:
                reach = arith.binary("min", self.stop, own)
                words = ("count",) if len(self.names) == 1 else ("columns",)
                named = self.planner.count(self.scope, reach, *words, f"{self.var.name}_left")
            count = arith.subtract(named, self.var)
        if not outer:
            return count
        full = count if count is not None else self.lanes
        return ir.Select(conjunction([self.planner.scalar(c) for c in outer]), full, ir.Const(0), int32)


def element_of(body: tuple[ir.Stmt, ...]) -> DType:
    """The type that the lanes of a loop hold: that of its stores."""
    types = {n.buffer.dtype.compute for n in ir.walk(body) if isinstance(n, ir.Store)}
    if len(types) != 1 or not types <= {float32, float64, int32}:
        names = ", ".join(sorted(str(t) for t in types)) or "nothing"
        raise CannotVectorise(f"it writes {names}")
    return types.pop()



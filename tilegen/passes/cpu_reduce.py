"""Reductions: along rows with one vector of partial results, across rows with a vector of columns."""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.dtypes import DType
from tilegen.passes.cpu_copies import dimensions
from tilegen.passes.cpu_bounds import Bounds
from tilegen.passes.cpu_planner import CpuPlanner, Scope
from tilegen.passes.cpu_vectors import CannotVectorise, Vectors, VectorStore
from tilegen.plan import Loop, NestPlan
from tilegen.targets.cpu import VECTOR_STORES, VECTORS

_COMBINE = {"sum": "+", "abssum": "+", "max": "max", "absmax": "max", "min": "min"}
_LANES = {"+": "sum_lanes", "max": "max_lanes", "min": "min_lanes"}


def plan_reduce(planner: CpuPlanner, scope: Scope, reduce: ir.Reduce) -> ir.Stmt:
    """T.reduce_*: a nest over what is kept, with a loop over what is reduced inside."""
    scope.forget({reduce.dst.buffer.name})
    nest = _Nest(planner, scope, reduce)
    try:
        with planner.attempt(scope):
            plan = nest.along_rows() if nest.reduces_last else nest.across_rows()
    except CannotVectorise as refusal:
        plan = nest.single(f"single elements: {refusal}")
    return replace(reduce, plan=plan)


class _Nest:
    """The loops of one reduction."""

    def __init__(self, planner: CpuPlanner, scope: Scope, reduce: ir.Reduce) -> None:
        self.planner, self.scope, self.reduce = planner, scope, reduce
        self.dtype: DType = reduce.dst.buffer.dtype.compute
        self.op = _COMBINE[reduce.op]
        src = reduce.src
        self.dim = reduce.dim % len(src.extents)
        kept = [d for d in dimensions(src) if d != self.dim]
        words = ("slice", "depth", "row") if self.dim == len(src.extents) - 1 else ("slice", "row", "col")
        names = words[-len(kept):] if kept else ()
        self.kept = [ir.Var(planner.fresh(n, f"tile_{n}"), kind="loop") for n in names]
        inner = "col" if self.dim == len(src.extents) - 1 else "row" if "row" not in names else "step"
        self.along = ir.Var(planner.fresh(inner, f"tile_{inner}"), kind="loop")
        self.reduces_last = self.dim == len(src.extents) - 1
        index = list(src.offsets)
        for d, var in [*zip(kept, self.kept), (self.dim, self.along)]:
            index[d] = arith.add(src.offsets[d], var)
            planner.known.ranges[var.name] = (0, arith.bounds(src.extents[d], planner.known.ranges)[1] - 1)
        self.element: ir.Expr = ir.Load(src.buffer, tuple(index), loc=src.loc)
        self.extents = [src.extents[d] for d in kept]
        self.extent = src.extents[self.dim]
        self.result = ir.Load(reduce.dst.buffer, self._result_index(), loc=reduce.dst.loc)

    def _result_index(self) -> tuple[ir.Expr, ...]:
        dst = self.reduce.dst
        index = list(dst.offsets)
        for var, d in zip(self.kept, dimensions(dst)):
            index[d] = arith.add(dst.offsets[d], var)
        return tuple(index)

    def identity(self) -> ir.Const:
        """What does not change the result."""
        if self.op == "+" or self.reduce.op == "absmax":
            return ir.Const(0.0 if self.dtype.is_float else 0, self.dtype)
        if self.dtype.is_float:
            return ir.Const(float("-inf" if self.op == "max" else "inf"), self.dtype)
        bits = self.dtype.bits - (self.dtype.kind == "int")
        lowest = -2**bits if self.dtype.kind == "int" else 0
        return ir.Const(lowest if self.op == "max" else 2**bits - 1, self.dtype)

    def term(self, value: ir.Expr, dtype: DType) -> ir.Expr:
        return ir.Call("abs", (value,), dtype) if self.reduce.op.startswith("abs") else value

    def combined(self, a: ir.Expr, b: ir.Expr, dtype: DType) -> ir.Expr:
        return ir.BinOp(self.op, a, b, dtype)

    def final(self, value: ir.Expr) -> ir.Expr:
        return value if self.reduce.clear else self.combined(self.planner.scalar(self.result), value, self.dtype)

    def partial(self, dtype: DType) -> ir.Buffer:
        name = {"+": "sum", "max": "largest", "min": "least"}[self.op]
        return ir.Buffer(self.planner.fresh(name, f"{name}_of_row"), (), dtype, "var")

    def loops(self, last: ir.Expr = ir.Const(1)) -> tuple[Loop, ...]:
        loops = [Loop(v, ir.Const(0), e, ir.Const(1)) for v, e in zip(self.kept, self.extents)]
        return tuple(loops[:-1] + [replace(loops[-1], step=last)]) if loops else ()

    # ---- The three ways --------------------------------------------------------------------------
    def vectors(self, var: ir.Var, stop: ir.Expr) -> Vectors:
        if self.dtype not in VECTORS or self.element.dtype.compute != self.dtype:
            raise CannotVectorise(f"{self.element.dtype} is reduced in {self.dtype}")
        whole = self.planner.is_multiple(stop, self.planner.lanes(self.dtype))
        names = {v.name for v in (*self.kept, self.along)}
        return Vectors(self.planner, self.scope, var, names, self.dtype, Bounds(), stop, whole)

    def along_rows(self) -> NestPlan:
        """A vector of partial results per row, combined at its end."""
        vectors = self.vectors(self.along, self.extent)
        vector, lanes = vectors.vector, vectors.lanes
        partial = self.partial(vector)
        total = ir.Load(partial, ())
        value = vectors.load(self.element)
        if len(value.args) > 1 and self.identity().value != 0:     # lanes past the end must not count
            value = replace(value, args=(*value.args, self.identity()))
        step = ir.Store(partial, (), self.combined(total, self.term(value, vector), vector))
        done = ir.Call(_LANES[self.op], (total,), self.dtype)
        body = (ir.Alloc(partial, ir.Call("broadcast", (self.identity(),), vector)),
                ir.For("serial", self.along, ir.Const(0), self.extent, lanes, (step,)),
                self.stored(self.final(done)))
        return self.nest(self.loops(), body, f"vectors along each row, combined at its end ({self.reduce.op})")

    def across_rows(self) -> NestPlan:
        """Neighbouring columns in the lanes."""
        if not self.kept:
            raise CannotVectorise("one column only")
        var, stop = self.kept[-1], self.extents[-1]
        vectors = self.vectors(var, stop)
        vector = vectors.vector
        dst = self.reduce.dst.buffer
        stored = self.planner.stored(dst)
        if stored.name not in VECTOR_STORES[vector.name] or stored != dst.dtype:
            raise CannotVectorise(f"{dst.name} holds {dst.dtype}")
        target = vectors.place(dst, self.result.indices)
        partial = self.partial(vector)
        total = ir.Load(partial, ())
        step = ir.Store(partial, (), self.combined(total, self.term(vectors.load(self.element), vector), vector))
        done = total if self.reduce.clear else self.combined(vectors.load(self.result), total, vector)
        count = vectors.count(dst, self.result.indices, writes=True)
        body = (ir.Alloc(partial, ir.Call("broadcast", (self.identity(),), vector)),
                ir.For("serial", self.along, ir.Const(0), self.extent, ir.Const(1), (step,)),
                VectorStore(f"store_{stored}" + ("_first" if count is not None else ""), target, done, count))
        return self.nest(self.loops(vectors.lanes), body, f"neighbouring columns in the lanes ({self.reduce.op})")

    def single(self, reason: str) -> NestPlan:
        partial = self.partial(self.dtype)
        total = ir.Load(partial, ())
        value = self.planner.scalar(self.element)
        value = value if value.dtype == self.dtype else ir.Cast(value, self.dtype)
        step = ir.Store(partial, (), self.combined(total, self.term(value, self.dtype), self.dtype))
        body = (ir.Alloc(partial, self.identity()),
                ir.For("serial", self.along, ir.Const(0), self.extent, ir.Const(1), (step,)),
                self.stored(self.final(total)))
        return self.nest(self.loops(), body, reason)

    def stored(self, value: ir.Expr) -> ir.Stmt:
        return self.planner.placed(ir.Store(self.result.buffer, self.result.indices, value))

    def nest(self, loops: tuple[Loop, ...], body: tuple[ir.Stmt, ...], reason: str) -> NestPlan:
        if not loops:                    # names of a single result need a block of their own
            once = ir.Var(self.planner.fresh("row"), kind="loop")
            loops = (Loop(once, ir.Const(0), ir.Const(1), ir.Const(1)),)
        return NestPlan(loops, body, reason=reason)

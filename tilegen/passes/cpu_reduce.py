"""Reductions: along rows with one vector of partial results, across rows with a vector of columns."""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.dtypes import DType
from tilegen.passes.cpu_copies import dimensions
from tilegen.passes.cpu_bounds import Bounds
from tilegen.passes.cpu_planner import CpuPlanner, Scope
from tilegen.passes.cpu_vectors import CannotVectorise, Vectors
from tilegen.plan import Loop, Nest, NestPlan
from tilegen.vectors import VECTOR_STORES, VECTORS

PARTIALS = 4
_COMBINE = {"sum": "+", "abssum": "+", "max": "max", "absmax": "max", "min": "min", "bitand": "&", "bitor": "|",
            "bitxor": "^"}
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
        spare = planner.spare(reduce.dst, dimensions(reduce.dst), self.kept)
        self.extents = [src.extents[d] for d in kept]
        self.stops = [self._stop(v, e, spare.get(v.name)) for v, e in zip(self.kept, self.extents)]
        self.extent = src.extents[self.dim]
        self.result = ir.Load(reduce.dst.buffer, self._result_index(), loc=reduce.dst.loc)

    def _stop(self, var: ir.Var, extent: ir.Expr, limit: ir.Expr | None) -> ir.Expr:
        if limit is None:
            return extent
        word = "rows" if self.dim == len(self.reduce.src.extents) - 1 else "columns"
        return self.planner.count(self.scope, arith.binary("min", extent, limit), word, f"{var.name}_count")

    def _result_index(self) -> tuple[ir.Expr, ...]:
        dst = self.reduce.dst
        index = list(dst.offsets)
        for var, d in zip(self.kept, dimensions(dst)):
            index[d] = arith.add(dst.offsets[d], var)
        return tuple(index)

    @property
    def starts_at_zero(self) -> bool:
        return self.op in "+|^" or self.reduce.op == "absmax"

    def identity(self) -> ir.Expr:
        """What does not change the result."""
        if self.op == "&":
            return ir.Const(2**self.dtype.bits - 1 if self.dtype.kind == "uint" else -1, self.dtype)
        if self.starts_at_zero:
            return ir.Const(0.0 if self.dtype.is_float else 0, self.dtype)
        if self.dtype.is_float:
            return ir.Const(float("-inf" if self.op == "max" else "inf"), self.dtype)
        bits = self.dtype.bits - (self.dtype.kind == "int")
        lowest = -2**bits if self.dtype.kind == "int" else 0
        return self.planner.placed(ir.Const(lowest if self.op == "max" else 2**bits - 1, self.dtype))

    def term(self, value: ir.Expr, dtype: DType) -> ir.Expr:
        return ir.Call("abs", (value,), dtype) if self.reduce.op.startswith("abs") else value

    def combined(self, a: ir.Expr, b: ir.Expr, dtype: DType) -> ir.Expr:
        return ir.BinOp(self.op, a, b, dtype)

    def final(self, value: ir.Expr) -> ir.Expr:
        return value if self.reduce.clear else self.combined(self.planner.scalar(self.result), value, self.dtype)

    def partial(self, dtype: DType) -> ir.Buffer:
        name = {"+": "sum", "max": "largest", "min": "least"}.get(self.op, "bits")
        return ir.Buffer(self.planner.fresh(name, f"{name}_of_row"), (), dtype, "var")

    def loops(self, last: ir.Expr = ir.Const(1)) -> tuple[Loop, ...]:
        loops = [Loop(v, ir.Const(0), e, ir.Const(1)) for v, e in zip(self.kept, self.stops)]
        return tuple(loops[:-1] + [replace(loops[-1], step=last)]) if loops else ()

    # ---- The three ways --------------------------------------------------------------------------
    def vectors(self, var: ir.Var, stop: ir.Expr, extent: ir.Expr) -> Vectors:
        if self.op in "&|^":
            raise CannotVectorise("bits are combined one element at a time")
        if self.dtype not in VECTORS or self.element.dtype.compute != self.dtype:
            raise CannotVectorise(f"{self.element.dtype} is reduced in {self.dtype}")
        whole = stop == extent and self.planner.is_multiple(extent, self.planner.lanes(self.dtype))
        names = {v.name for v in (*self.kept, self.along)}
        return Vectors(self.planner, self.scope, var, names, self.dtype, Bounds(), stop, whole, free=stop != extent)

    def along_rows(self) -> NestPlan:
        """Vectors of partial results per row, combined at its end."""
        vectors = self.vectors(self.along, self.extent, self.extent)
        vector, lanes = vectors.vector, vectors.lanes
        partial = self.partial(vector)
        value = vectors.load(self.element)
        if len(value.args) > 1 and not self.starts_at_zero:        # lanes past the end must not count
            value = replace(value, args=(*value.args, self.identity()))
        start = ir.Call("broadcast", (self.identity(),), vector)
        if self.planner.value(self.extent) % (PARTIALS * self.planner.env[lanes.name]) == 0:
            body, total = self.in_flight(partial, start, value, vector, lanes)
        else:
            total = ir.Load(partial, ())
            step = ir.Store(partial, (), self.combined(total, self.term(value, vector), vector))
            body = (ir.Alloc(partial, start), ir.For("serial", self.along, ir.Const(0), self.extent, lanes, (step,)))
        done = ir.Call(_LANES[self.op], (total,), self.dtype)
        return self.nest(self.loops(), (*body, self.stored(self.final(done))),
                         f"vectors along each row, combined at its end ({self.reduce.op})")

    def in_flight(self, partial: ir.Buffer, start: ir.Expr, value: ir.Expr, vector: DType, lanes: ir.Var):
        """Several vectors of partial results, since one operation has to wait for the one before it."""
        count = self.planner.constant("PARTIALS", PARTIALS, "vectors of partial results of a reduction")
        self.planner.is_multiple(self.extent, arith.multiply(count, lanes))        # a check keeps it so
        part = ir.Var(self.planner.fresh("part", "part_of_row"), kind="loop")
        partial = replace(partial, shape=(count,), scope="local")
        own, first = ir.Load(partial, (part,)), ir.Load(partial, (ir.Const(0),))
        value = ir.substitute(value, {self.along.name: arith.add(self.along, arith.multiply(part, lanes))})

        def each(statement: ir.Stmt, begin: int = 0) -> ir.Stmt:
            loop = Loop(part, ir.Const(begin), count, ir.Const(1), pragma="#pragma GCC unroll 8")
            return Nest(plan=NestPlan((loop,), (statement,)))
        body = (ir.Alloc(partial), *(() if self.starts_at_zero else (each(ir.Store(partial, (part,), start)),)),
                ir.For("serial", self.along, ir.Const(0), self.extent, arith.multiply(count, lanes), (
                    each(ir.Store(partial, (part,), self.combined(own, self.term(value, vector), vector))),)),
                each(ir.Store(partial, (ir.Const(0),), self.combined(first, own, vector)), 1))
        return body, first

    def across_rows(self) -> NestPlan:
        """Neighbouring columns in the lanes."""
        if not self.kept:
            raise CannotVectorise("one column only")
        vectors = self.vectors(self.kept[-1], self.stops[-1], self.extents[-1])
        vector = vectors.vector
        dst = self.reduce.dst.buffer
        stored = self.planner.stored(dst)
        if stored.name not in VECTOR_STORES[vector.name] or stored != dst.dtype:
            raise CannotVectorise(f"{dst.name} holds {dst.dtype}")
        partial = self.partial(vector)
        total = ir.Load(partial, ())
        step = ir.Store(partial, (), self.combined(total, self.term(vectors.load(self.element), vector), vector))
        done = total if self.reduce.clear else self.combined(vectors.load(self.result), total, vector)
        body = (ir.Alloc(partial, ir.Call("broadcast", (self.identity(),), vector)),
                ir.For("serial", self.along, ir.Const(0), self.extent, ir.Const(1), (step,)),
                vectors.vector_store(dst, self.result.indices, done))
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
        return NestPlan(loops, body, reason=reason)

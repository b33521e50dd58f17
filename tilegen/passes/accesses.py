"""Accesses to global tensors: what has to be guarded, and what is certainly inside."""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.passes.ranges import Ranges


def conditions(
    buffer: ir.Buffer, indices: tuple[ir.Expr, ...], known: Ranges, last: bool = True
) -> list[ir.Expr]:
    """What must hold for an element to exist, without what certainly holds. Without `last`, the
    upper end of the last dimension is left to the caller."""
    result: list[ir.Expr] = []
    for d, (index, extent) in enumerate(zip(indices, buffer.shape)):
        if not known.natural(index):
            result.append(arith.binary(">=", index, ir.Const(0)))
        if (last or d < len(indices) - 1) and not known.below(index, extent):
            result.append(arith.less(index, extent))
    return result


def conjunction(terms: list[ir.Expr]) -> ir.Expr | None:
    condition: ir.Expr | None = None
    for term in terms:
        condition = arith.both(condition, term)
    return condition


def zero(dtype) -> ir.Const:
    """The value of an element that does not exist."""
    compute = dtype.compute
    return ir.Const(0.0 if compute.is_float else (False if compute.kind == "bool" else 0), compute)


def guard_statements(
    statements: tuple[ir.Stmt, ...], known: Ranges, held: tuple[ir.Expr, ...] = ()
) -> tuple[ir.Stmt, ...]:
    """`statements` with every access to a global tensor made safe: a read outside gives zero, a write
    outside does not happen. `held` are conditions that hold already."""
    return tuple(_guard(s, known, held) for s in statements)


def _guard(s: ir.Stmt, known: Ranges, held: tuple[ir.Expr, ...]) -> ir.Stmt:
    def safe(value: ir.Expr, inner: tuple[ir.Expr, ...] = held) -> ir.Expr:
        return guard_loads(value, known, inner)

    def inside(body: tuple[ir.Stmt, ...], inner: tuple[ir.Expr, ...] = held) -> tuple[ir.Stmt, ...]:
        return guard_statements(body, known, inner)
    match s:
        case ir.Store() | ir.Atomic():
            return _guard_write(s, known, held)
        case ir.Let():
            return replace(s, value=safe(s.value))
        case ir.If():
            return replace(s, condition=safe(s.condition), then=inside(s.then, held + _lasting(s.condition)),
                           otherwise=inside(s.otherwise))
        case ir.While():
            return replace(s, condition=safe(s.condition), body=inside(s.body))
        case ir.For():
            return replace(s, start=safe(s.start), stop=safe(s.stop), body=inside(s.body))
        case ir.Assert():
            return replace(s, condition=safe(s.condition))
        case ir.Print():
            return replace(s, values=tuple(v if isinstance(v, ir.Region) else safe(v) for v in s.values))
        case ir.Raw():
            return _guard_raw(s, known, held)
        case ir.Alloc() if s.init is not None:
            return replace(s, init=safe(s.init))
    return s


def _guard_write(s: ir.Store | ir.Atomic, known: Ranges, held: tuple[ir.Expr, ...]) -> ir.Stmt:
    """The write under the condition that its element exists, which then holds for its operands too."""
    indices = tuple(guard_loads(i, known, held) for i in s.indices)
    own: list[ir.Expr] = []
    if s.buffer.scope == "global":
        own = [c for c in conditions(s.buffer, indices, known) if c not in held]
    safe = replace(s, value=guard_loads(s.value, known, held + tuple(own)), indices=indices)
    return ir.If(conjunction(own), (safe,), loc=s.loc) if own else safe


def _guard_raw(s: ir.Raw, known: Ranges, held: tuple[ir.Expr, ...]) -> ir.Stmt:
    """Lines that change elements of global tensors, where these exist."""
    writes = tuple(replace(r, offsets=tuple(guard_loads(i, known, held) for i in r.offsets)) for r in s.writes)
    changed = [region for region in writes if region.buffer.scope == "global"]
    own = [c for region in changed for c in conditions(region.buffer, region.offsets, known) if c not in held]
    safe = replace(s, reads=tuple(guard_loads(x, known, held + tuple(own)) for x in s.reads), writes=writes)
    return ir.If(conjunction(own), (safe,), loc=s.loc) if own else safe


def _lasting(condition: ir.Expr) -> tuple[ir.Expr, ...]:
    """The terms of a condition that hold as long as its branch runs: those that read no memory."""
    if isinstance(condition, ir.BinOp) and condition.op == "and":
        return _lasting(condition.a) + _lasting(condition.b)
    return () if any(isinstance(n, ir.Load) for n in ir.walk(condition)) else (condition,)


def guard_loads(expr: ir.Expr, known: Ranges, held: tuple[ir.Expr, ...]) -> ir.Expr:
    """`expr` with each global read that may miss turned into `inside ? A[i] : 0`."""

    def rule(node):
        if isinstance(node, ir.Load) and node.buffer.scope == "global":
            own = [c for c in conditions(node.buffer, node.indices, known) if c not in held]
            if own:
                return ir.Select(conjunction(own), node, zero(node.dtype), node.dtype.compute, loc=node.loc)
        return None

    return ir.rewrite(expr, rule)


def common_guard(statements: tuple[ir.Stmt, ...]) -> tuple[ir.Expr | None, tuple[ir.Stmt, ...]]:
    """(condition, bare statements) where every statement is an If without else under one condition."""
    heads = {s.condition for s in statements if isinstance(s, ir.If) and not s.otherwise}
    if len(heads) == 1 and all(isinstance(s, ir.If) and not s.otherwise for s in statements):
        return heads.pop(), tuple(inner for s in statements for inner in s.then)
    return None, statements

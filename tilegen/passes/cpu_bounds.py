"""Where a nest of loops has to stop so that its accesses to tensors exist."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tilegen import arith, ir
from tilegen.passes.accesses import conditions
from tilegen.passes.ranges import Ranges


@dataclass(frozen=True)
class Limit:
    """A condition `variable < limit`; `limit` does not depend on the nest's variables."""

    variable: str
    limit: ir.Expr


@dataclass
class Bounds:
    """The limits that hold in the whole nest, and what is left of its body."""

    limits: dict[str, set[ir.Expr]] = field(default_factory=dict)
    body: tuple[ir.Stmt, ...] = ()

    def add(self, limit: Limit) -> None:
        self.limits.setdefault(limit.variable, set()).add(limit.limit)

    def holds(self, condition: ir.Expr, names: set[str]) -> bool:
        limit = limit_of(condition, names)
        return limit is not None and limit.limit in self.limits.get(limit.variable, ())


def find_bounds(body: tuple[ir.Stmt, ...], names: set[str], known: Ranges) -> Bounds:
    """Limits of the variables `names`: those of an `if` around the whole body, and those that every
    write of the body needs (a write outside of a tensor does not happen)."""
    bounds = Bounds(body=body)
    while len(bounds.body) == 1 and isinstance(bounds.body[0], ir.If) and not bounds.body[0].otherwise:
        terms = conjuncts(bounds.body[0].condition)
        limits = [limit_of(term, names) for term in terms]
        if any(limit is None for limit in limits):
            break
        for limit in limits:
            bounds.add(limit)
        bounds.body = bounds.body[0].then
    writes = [n for n in ir.walk(bounds.body) if isinstance(n, (ir.Store, ir.Atomic))]
    effects = [n for n in ir.walk(bounds.body) if isinstance(n, (ir.Print, ir.Assert, ir.While, ir.Break, ir.Raw))]
    if writes and not effects and all(w.buffer.scope == "global" for w in writes):
        needed = [{limit_of(c, names) for c in conditions(w.buffer, w.indices, known)} for w in writes]
        for limit in sorted(set.intersection(*needed) - {None}, key=repr):
            bounds.add(limit)
    return bounds


def conjuncts(condition: ir.Expr) -> list[ir.Expr]:
    """The terms of `a and b and c`."""
    if isinstance(condition, ir.BinOp) and condition.op == "and":
        return conjuncts(condition.a) + conjuncts(condition.b)
    return [condition]


def limit_of(condition: ir.Expr, names: set[str]) -> Limit | None:
    """`base + v < extent` as v < extent - base; None for any other form."""
    if not isinstance(condition, ir.BinOp) or condition.op not in ("<", ">") or not condition.a.dtype.is_integer:
        return None
    low, high = (condition.a, condition.b) if condition.op == "<" else (condition.b, condition.a)
    parts = split(low, names)
    if parts is None or parts[0] is None or arith.names(high) & names or _reads(high) or _reads(parts[1]):
        return None
    return Limit(parts[0], arith.subtract(high, parts[1]))


def _reads(expr: ir.Expr) -> bool:
    return any(isinstance(n, ir.Load) for n in ir.walk(expr))


def split(index: ir.Expr, names: set[str]) -> tuple[str | None, ir.Expr] | None:
    """(variable, base) of `base + variable`; the variable is None where the index has none of `names`.
    None for any other form."""
    if not arith.names(index) & names:
        return None, index
    match index:
        case ir.Var(name=name):
            return name, ir.Const(0)
        case ir.BinOp(op="+", a=a, b=b):
            left, right = split(a, names), split(b, names)
            if left is None or right is None or (left[0] and right[0]):
                return None
            return left[0] or right[0], arith.add(left[1], right[1])
        case ir.BinOp(op="-", a=a, b=b):
            left = split(a, names)
            if left is None or arith.names(b) & names:
                return None
            return left[0], arith.subtract(left[1], b)
    return None


def region_limit(known: Ranges, region: ir.Region, d: int) -> ir.Expr | None:
    """How many elements of a region of a tensor exist along dimension d; None where all do, or where
    `has_limit` says that nobody knows."""
    return next((x.limit for x in _region_limits(known, region, d) if x is not None), None)


def has_limit(known: Ranges, region: ir.Region, d: int) -> bool:
    """Whether `region_limit` is all that can be wrong with a region along dimension d."""
    return None not in _region_limits(known, region, d)


def _region_limits(known: Ranges, region: ir.Region, d: int) -> list[Limit | None]:
    position = ir.Var("(position)", kind="loop")
    known.ranges[position.name] = (0, arith.bounds(region.extents[d], known.ranges)[1] - 1)
    known.limits[position.name] = region.extents[d]
    index = list(region.offsets)
    index[d] = arith.add(region.offsets[d], position)
    needed = conditions(region.buffer, tuple(index), known)
    return [limit_of(c, {position.name}) for c in needed if position.name in arith.names(c)]


def inline_indices(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Without names of integers that are computed from other names: their values take their place, so
    that accesses show which loop they follow."""
    values: dict[str, ir.Expr] = {}
    result: list[ir.Stmt] = []
    for s in body:
        s = ir.substitute(s, values) if values else s
        if isinstance(s, ir.Let) and s.var.dtype.is_integer and not any(isinstance(n, (ir.Load, ir.Call))
                                                                        for n in ir.walk(s.value)):
            values[s.var.name] = s.value
        elif isinstance(s, ir.If):
            result.append(replace(s, then=inline_indices(s.then), otherwise=inline_indices(s.otherwise)))
        else:
            result.append(s)
    return tuple(result)

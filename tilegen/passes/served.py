"""Which accesses to fragments a layout can serve: those in which each thread finds its elements in its own
registers."""

from __future__ import annotations

import itertools

from tilegen import arith, ir
from tilegen.passes.layout_classes import dimensions
from tilegen.printer import expression

MOST_ENUMERATED = 65536                  # iterations of a nest that are looked at one by one


def unserved(access: ir.Load | ir.Store | ir.Atomic, nest: ir.Parallel, env: dict) -> str:
    """Why an element of a fragment inside of a nest may lie in another thread than the one that runs the
    iteration; '' where it does not."""
    own = {var.name: extent for var, extent in zip(nest.vars, nest.extents)}
    varying = set(own) | _bound_inside(nest)
    used: set[str] = set()
    for index, extent in zip(access.indices, access.buffer.shape):
        if isinstance(index, ir.Var) and index.name in own:
            name = index.name
            if name in used:
                return f"{_text(access)} takes two indices from {name}"
            used.add(name)
            if _greater(own[name], extent, env):
                return f"{name} counts further than {access.buffer.name} goes"
        elif arith.names(index) & varying:
            return f"{_text(access)} may lie in another thread"
    missing = {name for name, extent in own.items() if name not in used and arith.evaluate(extent, env) != 1}
    if missing and isinstance(access, ir.Store) and len(used) + len(missing) == len(own):
        return f"one of the threads along {', '.join(sorted(missing))} writes {_text(access)} for all"
    return ""


def _text(access) -> str:
    return expression(ir.Load(access.buffer, access.indices))


def _greater(a: ir.Expr, b: ir.Expr, env: dict) -> bool:
    x, y = arith.evaluate(a, env), arith.evaluate(b, env)
    return x is not None and y is not None and x > y


def _bound_inside(nest: ir.Parallel) -> set[str]:
    """Names inside of a nest whose values differ between its iterations."""
    varying = {var.name for var in nest.vars}
    for node in ir.walk(nest.body):
        if isinstance(node, ir.Let) and (arith.names(node.value) & varying or _loads(node.value)):
            varying.add(node.var.name)
        elif isinstance(node, ir.For) and arith.names((node.start, node.stop, node.step)) & varying:
            varying.add(node.var.name)
        elif isinstance(node, ir.Alloc) and node.buffer.scope in ("var", "local"):
            varying.add(node.buffer.name)
    return varying


def _loads(value: ir.Expr) -> bool:
    return any(isinstance(n, ir.Load) for n in ir.walk(value))


def whole(region: ir.Region) -> bool:
    """Whether a region is all of its buffer."""
    return region.extents == region.buffer.shape


def alike(copy: ir.Copy) -> bool:
    """Whether a copy between fragments pairs dimensions as a whole."""
    return whole(copy.src) and whole(copy.dst) and len(dimensions(copy.src)) == len(dimensions(copy.dst))


def covers(statement: ir.Stmt, name: str, env: dict) -> bool:
    """Whether a statement writes all of a fragment and reads none of it, so that it needs no old value."""
    match statement:
        case ir.Copy() | ir.Fill():
            return statement.dst.buffer.name == name and whole(statement.dst)
        case ir.Parallel():
            return _nest_covers(statement, name, env)
    return False


def _nest_covers(nest: ir.Parallel, name: str, env: dict) -> bool:
    loads = [n for n in ir.walk(nest.body) if isinstance(n, (ir.Load, ir.Atomic)) and n.buffer.name == name]
    stores = [s for s in nest.body if isinstance(s, ir.Store) and s.buffer.name == name]
    extents = [arith.evaluate(e, env) for e in nest.extents]
    if loads or not stores or None in extents:
        return False
    shape = [arith.evaluate(e, env) for e in stores[0].buffer.shape]
    if None in shape or arith.evaluate(arith.product(nest.extents), env) > MOST_ENUMERATED:
        return False
    found = set()
    for values in itertools.product(*(range(e) for e in extents)):
        point = env | dict(zip((v.name for v in nest.vars), values))
        found |= {tuple(arith.evaluate(i, point) for i in s.indices) for s in stores}
    size = arith.evaluate(arith.product(stores[0].buffer.shape), env)
    return None not in itertools.chain.from_iterable(found) and len(found) == size

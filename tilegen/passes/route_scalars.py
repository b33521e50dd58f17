"""Elements of fragments outside of T.Parallel: while such statements run, the fragment lives in shared memory."""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.passes.route_nests import around
from tilegen.passes.routes import Routes, whole_of

_COMPOUND = (ir.For, ir.While, ir.If)


def route_scalars(routes: Routes, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """`body` with such statements between copies: as many of them together as there are in a row, and whole loops
    where all that they do to a fragment is of that kind."""
    return _sequence(routes, body, body)


def _sequence(routes: Routes, statements: tuple[ir.Stmt, ...], body) -> tuple[ir.Stmt, ...]:
    result: list[ir.Stmt] = []
    position = 0
    while position < len(statements):
        group = _group(statements[position:])
        if group:
            result += _moved(routes, statements[position:position + group], body)
            position += group
            continue
        result += _inside(routes, statements[position], body)
        position += 1
    return tuple(result)


def _group(statements: tuple[ir.Stmt, ...]) -> int:
    """How many statements from the first on touch one and the same fragments only by elements, outside of nests."""
    names = set(strays(statements[0]))
    if not names or any(_as_tile(statements[0], name) for name in names):
        return 0
    count = 1
    while count < len(statements) and set(strays(statements[count])) and \
            not any(_as_tile(statements[count], name) for name in names | set(strays(statements[count]))):
        names |= set(strays(statements[count]))
        count += 1
    return count


def strays(statement: ir.Node) -> dict[str, ir.Node]:
    """{owner's name: access} of the elements of fragments that a statement touches outside of nests."""
    if isinstance(statement, ir.Parallel):
        return {}
    own = {ir.owner(statement.buffer).name: statement} \
        if isinstance(statement, (ir.Load, ir.Store, ir.Atomic)) and statement.buffer.scope == "fragment" else {}
    for part in ir.children(statement):
        own = strays(part) | own
    return own


def _as_tile(statement: ir.Stmt, name: str) -> bool:
    """Whether a tile operation inside of a statement takes the fragment."""
    return any(isinstance(n, ir.Region) and ir.owner(n.buffer).name == name for n in ir.walk(statement))


def _moved(routes: Routes, group: tuple[ir.Stmt, ...], body) -> tuple[ir.Stmt, ...]:
    found = {name: (ir.owner(access.buffer), f"{access.buffer.name} is used by elements outside of T.Parallel")
             for s in group for name, access in strays(s).items()}
    inner = tuple(_to_tiles(routes, s, set(found)) for s in group)
    last = len(group) - 1
    result: list[ir.Stmt] = []
    one = replace_group(group)
    copies = around(routes, one, ir.Assert(ir.Const(True)), found, {}, body)
    split = next(i for i, s in enumerate(copies) if isinstance(s, ir.Assert))
    result += [replace(s, loc=group[0].loc) for s in copies[:split]]
    result += inner
    result += [replace(s, loc=group[last].loc) for s in copies[split + 1:]]
    return tuple(result)


def replace_group(group: tuple[ir.Stmt, ...]) -> ir.Stmt:
    """The statements as one node to look through."""
    return group[0] if len(group) == 1 else ir.If(ir.Const(True), group)


def _to_tiles(routes: Routes, statement: ir.Node, names: set[str]) -> ir.Node:
    def rule(node):
        if isinstance(node, (ir.Load, ir.Store, ir.Atomic)) and node.buffer.scope == "fragment" and \
                ir.owner(node.buffer).name in names:
            return replace(node, buffer=routes.tile(node.buffer))
        return None
    return ir.rewrite(statement, rule)


def _inside(routes: Routes, s: ir.Stmt, body) -> tuple[ir.Stmt, ...]:
    """A statement with bodies, where the fragment is used as a tile too; its head reads a copy."""
    if not isinstance(s, _COMPOUND):
        return (s,)
    head = {name: access for part in ir.children(s) if not isinstance(part, ir.Stmt)
            for name, access in strays(part).items()}
    if head and isinstance(s, ir.While):
        access = next(iter(head.values()))
        raise TilegenError("TG0208", f"the condition of a while loop reads an element of the fragment "
                           f"{access.buffer.name}, which tile operations in the loop change", access.loc or s.loc,
                           hint="keep the value in shared memory, or in a variable of T.alloc_var")
    before = tuple(routes.out(whole_of(ir.owner(a.buffer)), s.loc, f"{a.buffer.name} is used outside of T.Parallel")
                   for a in head.values())
    changes = {}
    for name in ("condition", "start", "stop", "step"):
        if head and hasattr(s, name):
            changes[name] = _to_tiles(routes, getattr(s, name), set(head))
    for name in ("body", "then", "otherwise"):
        if hasattr(s, name):
            changes[name] = _sequence(routes, getattr(s, name), body)
    return (*before, replace(s, **changes))

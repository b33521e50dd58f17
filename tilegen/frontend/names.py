"""Which names of a function are bound once, and which are variables that change.

A name that is bound once becomes a constant of its block (`ir.Let`). A name that is bound again while
it is visible, or in several branches whose result is used afterwards, becomes a variable of the thread.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

Path = tuple[tuple[int, str], ...]       # the blocks around a place: (id of a statement, which of its blocks)


@dataclass(frozen=True)
class Access:
    kind: str                            # write, update (x += 1), or read
    node: ast.AST
    path: Path
    statements: tuple[ast.stmt, ...]     # the statement of each block of the path, outermost first


@dataclass
class Names:
    """mutable: names that change; changing: the ids of the nodes that bind such a name; hoisted: names to
    declare before a statement (by its id), because they are first bound in a block inside of it;
    written: all names that the function binds."""

    mutable: set[str] = field(default_factory=set)
    changing: set[int] = field(default_factory=set)
    hoisted: dict[str, set[int]] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)


def analyse(function: ast.FunctionDef, decide: Callable[[ast.expr], bool | None]) -> Names:
    """The names of `function`. `decide` gives the value of a condition that is known already, else None:
    the branch that is not taken does not count."""
    collector = _Collector(decide)
    for argument in _arguments(function):
        collector.accesses.setdefault(argument.arg, []).append(Access("write", argument, (), ()))
    collector.block(function.body, (), ())
    names = Names(written=written_names(function))
    for name, accesses in collector.accesses.items():
        _classify(name, accesses, names)
    return names


def _arguments(function: ast.FunctionDef) -> list[ast.arg]:
    a = function.args
    return [*a.posonlyargs, *a.args, *a.kwonlyargs]


def written_names(node: ast.AST) -> set[str]:
    """Every name that is bound somewhere inside of `node`."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _classify(name: str, accesses: list[Access], names: Names) -> None:
    writes = [a for a in accesses if a.kind != "read"]
    roots = _roots(writes)
    if len(roots) > 1 and _independent(roots, accesses):
        for root in roots:
            _classify(name, [a for a in accesses if _inside(a.path, root)], names)
        return
    changed = len(writes) > 1 or any(a.kind == "update" for a in writes)
    if not changed:
        return
    names.mutable.add(name)
    names.changing |= {id(access.node) for access in writes}
    common = accesses[0].path
    for access in accesses[1:]:
        common = _common(common, access.path)
    first = writes[0]
    if len(first.path) > len(common):
        names.hoisted.setdefault(name, set()).add(id(first.statements[len(common)]))


def _roots(writes: list[Access]) -> list[Path]:
    """The outermost blocks that bind the name."""
    roots: list[Path] = []
    for path in sorted({a.path for a in writes}, key=len):
        if not any(_inside(path, root) for root in roots):
            roots.append(path)
    return roots


def _independent(roots: list[Path], accesses: list[Access]) -> bool:
    """Each block binds the name before it uses it, and nothing outside of these blocks uses it."""
    for root in roots:
        first = next(a for a in accesses if _inside(a.path, root))
        if first.kind != "write" or first.path != root:
            return False
    return all(any(_inside(a.path, root) for root in roots) for a in accesses)


def _inside(path: Path, root: Path) -> bool:
    return path[:len(root)] == root


def _common(a: Path, b: Path) -> Path:
    length = 0
    while length < min(len(a), len(b)) and a[length] == b[length]:
        length += 1
    return a[:length]


class _Collector:
    """Walks statements in order and notes each access to a name, with the blocks around it."""

    def __init__(self, decide: Callable[[ast.expr], bool | None]):
        self.decide = decide
        self.accesses: dict[str, list[Access]] = {}

    def block(self, body: list[ast.stmt], path: Path, statements: tuple[ast.stmt, ...]) -> None:
        for statement in body:
            self.statement(statement, path, (*statements, statement))

    def statement(self, node: ast.stmt, path: Path, statements: tuple[ast.stmt, ...]) -> None:
        if isinstance(node, ast.If):
            return self.branches(node, path, statements)
        for part in ast.iter_child_nodes(node):
            if not isinstance(part, ast.stmt):
                self.expression(part, path, statements, node)
        for block in ("body", "orelse"):
            if isinstance(node, (ast.For, ast.While, ast.With)) and getattr(node, block, None):
                self.block(getattr(node, block), (*path, (id(node), block)), statements)
        return None

    def branches(self, node: ast.If, path: Path, statements: tuple[ast.stmt, ...]) -> None:
        self.expression(node.test, path, statements, node)
        known = self.decide(node.test)
        if known is not None:
            taken = node.body if known else node.orelse
            self.block(taken, path, statements[:-1])
            return
        self.block(node.body, (*path, (id(node), "body")), statements)
        self.block(node.orelse, (*path, (id(node), "orelse")), statements)

    def expression(self, part: ast.AST, path: Path, statements, node: ast.stmt) -> None:
        found = [n for n in ast.walk(part) if isinstance(n, ast.Name)]
        for name in sorted(found, key=lambda n: isinstance(n.ctx, ast.Store)):
            if isinstance(name.ctx, ast.Load):
                kind = "read"
            elif isinstance(node, ast.AugAssign):
                kind = "update"
            elif isinstance(node, ast.Assign) or (isinstance(node, ast.AnnAssign) and node.value):
                kind = "write"
            else:                        # the variable of a loop, or of a with: bound by that statement
                continue
            self.accesses.setdefault(name.id, []).append(Access(kind, name, path, statements))

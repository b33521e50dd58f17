"""What every node of the Tile IR is, and how to walk through a program and rewrite it.

Nodes are frozen dataclasses; `walk` and `rewrite` work from their fields, so that a new node costs one class.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

from tilegen.errors import Loc

# Functions of one thread among those of its warp: the CPU and the interpreter have none.
WARP_FUNCTIONS = frozenset(("shfl_sync shfl_xor shfl_up shfl_down warp_reduce_sum warp_reduce_max warp_reduce_min "
                            "any_sync all_sync ballot_sync").split())


def aside() -> Any:
    """A field that is no part of what a node means: never compared, given by keyword."""
    return field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Node:
    """Base of all IR nodes."""

    loc: Loc | None = aside()


@dataclass(frozen=True)
class Expr(Node):
    """A scalar value with a `dtype`."""


@dataclass(frozen=True)
class Stmt(Node):
    """A statement; `plan` says how it runs, once a pass has decided."""

    plan: Any = aside()


# ---- Generic traversal ---------------------------------------------------------------------------
@lru_cache
def _inner(kind: type) -> tuple[str, ...]:
    """The fields of a node that may hold nodes."""
    return tuple(f.name for f in fields(kind) if f.name not in ("loc", "launch_loc", "plan"))


def children(node: Node) -> Iterator[Node]:
    """The nodes directly inside `node`, in field order (plans are not entered)."""
    for name in _inner(type(node)):
        value = getattr(node, name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Node):
                yield item


def fresh_name(taken: Collection[str], *wanted: str) -> str:
    """The first of the wanted names that is not taken, else the last with a tail."""
    name = next((w for w in wanted if w not in taken), wanted[-1])
    while name in taken:
        name += "_"
    return name


def take_name(taken: set[str], *wanted: str) -> str:
    """The name that `fresh_name` gives, which is taken from now on."""
    name = fresh_name(taken, *wanted)
    taken.add(name)
    return name


def walk(node: Node | tuple) -> Iterator[Node]:
    """`node` and every node inside it, parents first."""
    for root in node if isinstance(node, tuple) else (node,):
        yield root
        for child in children(root):
            yield from walk(child)


def rewrite(node: Any, rule: Callable[[Node], Any]) -> Any:
    """`node` rebuilt bottom-up: `rule(n)` gives the replacement of n, None to keep it, or, for a
    statement, a tuple of statements to put in its place. Unchanged parts are shared."""
    if isinstance(node, tuple):
        parts: list[Any] = []
        for item in node:
            new = rewrite(item, rule) if isinstance(item, (Node, tuple)) else item
            parts.extend(new) if isinstance(item, Stmt) and isinstance(new, tuple) else parts.append(new)
        same = len(parts) == len(node) and all(a is b for a, b in zip(parts, node))
        return node if same else tuple(parts)
    changes = {}
    for name in _inner(type(node)):
        value = getattr(node, name)
        if isinstance(value, (Node, tuple)) and (new := rewrite(value, rule)) is not value:
            changes[name] = new
    node = replace(node, **changes) if changes else node
    new = rule(node)
    return node if new is None else new

"""Tells apart what a call of a kernel holds: arguments of the launch, and values of knobs."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.frontend.source import source_of
from tilegen.placement import is_array


@dataclass(frozen=True)
class Call:
    """Positional arguments, arguments by name (arrays, scalars, sizes), and values of knobs."""

    args: tuple
    named: Mapping[str, Any]
    values: Mapping[str, Any]


class Parameters:
    """The parameters of a kernel function. `kernel` gives its IR, for the names that only the IR knows."""

    def __init__(self, function: Any, is_factory: bool, kernel: Callable[[], ir.Kernel]) -> None:
        self._kernel = kernel
        if is_factory:
            self.order = self.arguments = tuple(p.name for p in kernel().params if not p.workspace)
            return
        plain = inspect.unwrap(getattr(function, "function", function))
        parameters = inspect.signature(plain).parameters
        body = {node.target.id for node in ast.walk(source_of(plain).node)
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
        self.order = tuple(parameters)
        self.arguments = tuple(name for name, p in parameters.items() if p.default is p.empty
                               and (p.annotation is not p.empty or name in body))

    def split(self, args: tuple, named: Mapping[str, Any]) -> Call:
        """The parts of `kernel(*args, **named)`. Knobs may be given in their place or by name."""
        values: dict[str, Any] = {}
        if len(self.arguments) < len(args) <= len(self.order):
            values = {name: value for name, value in zip(self.order, args) if name not in self.arguments}
            args = tuple(value for name, value in zip(self.order, args) if name in self.arguments)
        rest = {}
        for name, value in named.items():
            (rest if self._is_argument(name, value) else values)[name] = value
        return Call(args, rest, values)

    def _is_argument(self, name: str, value: Any) -> bool:
        if name in self.arguments or name in self.order:
            return name in self.arguments
        return is_array(value) or name in self._sizes()

    def _sizes(self) -> set[str]:
        try:
            return {size.name for size in self._kernel().sizes}
        except TilegenError:        # it needs the values of this very call; their parse will tell
            return set()


def sizes_of(kernel: ir.Kernel, names: tuple[str, ...], call: Call) -> dict[str, int]:
    """The sizes that the shapes of a call's arrays show, where a whole extent is a size; `names` are those of the
    arguments in order."""
    given = {**dict(zip(names, call.args)), **call.named}
    found = {name: value for name, value in call.named.items() if isinstance(value, int)}
    for param in kernel.params:
        shape = getattr(given.get(param.name), "shape", ())
        for extent, size in zip(param.buffer.shape if param.buffer else (), shape):
            if isinstance(extent, ir.Var):
                found[extent.name] = int(size)
    return found


def by_rule(rule: Callable[..., Mapping[str, Any]], arch: str, sizes: Mapping[str, Any],
            kernel: ir.Kernel) -> dict[str, Any]:
    """What `rule` gives for these sizes: it is asked with those that its parameters name, and with `arch`; a parameter
    with a default need not be known. Raises TG0005 where it names something else, or gives no mapping."""
    known = {**sizes, "arch": arch}
    wanted = inspect.signature(rule).parameters
    if missing := [name for name, p in wanted.items() if name not in known and p.default is p.empty]:
        raise TilegenError("TG0005", f"knobs= of {kernel.name} asks for {missing[0]}, which the arguments do not show",
                           kernel.loc, f"it can ask for {', '.join(sorted(known))}")
    knobs = rule(**{name: known[name] for name in wanted if name in known})
    if not isinstance(knobs, Mapping):
        raise TilegenError("TG0005", f"knobs= of {kernel.name} gives {knobs!r}, expected a dict of knobs", kernel.loc)
    return dict(knobs)

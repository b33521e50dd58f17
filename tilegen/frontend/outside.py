"""The names that a kernel function takes from outside: its closure, its factory's locals, its module."""

from __future__ import annotations

import builtins
import inspect
from dataclasses import dataclass
from typing import Any

MISSING = object()


@dataclass(frozen=True)
class Outside:
    """Looks names up as Python would at the moment of parsing."""

    function: Any
    names: dict[str, Any]                # the locals of the defining function, when it defined the kernel

    def lookup(self, name: str) -> Any:
        """The value of `name`, or MISSING."""
        function = inspect.unwrap(self.function)
        if name in function.__code__.co_freevars:
            cell = function.__closure__[function.__code__.co_freevars.index(name)]
            try:
                return cell.cell_contents
            except ValueError:               # bound by the factory only after the kernel was parsed
                return self.names.get(name, MISSING)
        if name in self.names:
            return self.names[name]
        if name in function.__globals__:
            return function.__globals__[name]
        return getattr(builtins, name, MISSING)

    def is_global(self, name: str) -> bool:
        """Whether `name` is one of the user's module, rather than of a function around the kernel."""
        function = inspect.unwrap(self.function)
        return name in function.__globals__ and name not in {*function.__code__.co_freevars, *self.names}

    def visible(self) -> set[str]:
        """All names that can be looked up, for suggestions."""
        function = inspect.unwrap(self.function)
        return {*function.__code__.co_freevars, *self.names, *function.__globals__}

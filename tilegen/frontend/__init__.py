"""From Python to Tile IR: `parse(function)` gives the kernel that a function or a factory describes."""

from tilegen.frontend.parse import form, instantiate, parse

__all__ = ["form", "instantiate", "parse"]

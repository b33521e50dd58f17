"""From a Python function to its syntax tree, with locations in its file, notebook cell or prompt.

The whole file is parsed and the function found in it by line, so that lines and columns are those of
the file; cutting the function out and removing its indent would lose both.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from dataclasses import dataclass
from typing import Any

from tilegen.errors import Loc, TilegenError


@dataclass(frozen=True)
class Source:
    """One function: its tree, its file, and what is around it (functions inside out, then the module)."""

    file: str
    lines: tuple[str, ...]
    node: ast.FunctionDef
    around: tuple[ast.FunctionDef | ast.Module, ...]

    def loc(self, node: ast.AST, call_site: Loc | None = None) -> Loc:
        """The span of `node`; `ast` counts columns in bytes, a Loc in characters."""
        line, end = node.lineno, node.end_lineno or node.lineno
        return Loc(self.file, line, self._column(line, node.col_offset), end,
                   self._column(end, node.end_col_offset or 0), call_site)

    def _column(self, line: int, offset: int) -> int:
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))

    def name_loc(self) -> Loc:
        """The function's own name on its def line."""
        line, node = self.lines[self.node.lineno - 1], self.node
        column = line.find(node.name, self._column(node.lineno, node.col_offset))
        return Loc(self.file, node.lineno, column, node.lineno, column + len(node.name))

    @property
    def factories(self) -> tuple[ast.FunctionDef, ...]:
        return tuple(node for node in self.around if isinstance(node, ast.FunctionDef))


def source_of(function: Any) -> Source:
    """The source of a plain Python function. Raises TG0003 where there is none."""
    function = inspect.unwrap(function)
    if not inspect.isfunction(function):
        raise TilegenError("TG0003", f"an object of type {type(function).__name__} is not a Python function",
                           hint="a kernel is a function written with def")
    code = function.__code__
    if code.co_name == "<lambda>":
        place = Loc(code.co_filename, code.co_firstlineno)
        raise TilegenError("TG0003", "a lambda cannot be a kernel", place,
                           "a kernel is a function written with def")
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise TilegenError("TG0003", f"the source text of {code.co_name} cannot be found "
                           f"({code.co_filename})",
                           hint="put the kernel in a file or a notebook cell; before Python 3.13 the prompt "
                                "does not keep what is typed")
    return _find("".join(lines), code.co_filename, code.co_name, code.co_firstlineno)


@functools.lru_cache(maxsize=64)
def _tree(text: str) -> ast.Module:
    return ast.parse(text)


def _find(text: str, file: str, name: str, first_line: int) -> Source:
    try:
        tree = _tree(text)
    except SyntaxError as error:
        raise TilegenError("TG0003", f"the text of {file} does not parse any more: {error.msg}",
                           Loc(file, error.lineno or 1), "import the changed file anew") from error
    found = _search(tree, name, first_line, (tree,))
    if found is None:
        raise TilegenError("TG0003", f"line {first_line} of {file} does not define {name} any more",
                           Loc(file, first_line), "the file was changed after its import; import it anew")
    node, around = found
    return Source(file, tuple(text.splitlines()), node, around)


def _search(parent: ast.AST, name: str, line: int, around: tuple) -> tuple | None:
    for child in ast.iter_child_nodes(parent):
        if isinstance(child, ast.FunctionDef):
            first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
            if child.name == name and first == line:
                return child, around
        inner = (child, *around) if isinstance(child, ast.FunctionDef) else around
        if getattr(child, "lineno", line) <= line and getattr(child, "end_lineno", line) >= line:
            found = _search(child, name, line, inner)
            if found:
                return found
    return None

"""The Python file of an emitted one, as far as its syntax tells: where the numbers of a kernel are written."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """A Python file as it is now: its lines, the line that defines the kernel (0: none does), and in which line each
    parameter of the kernel, and each name of the module, gets its value."""

    name: str
    lines: tuple[str, ...] = ()
    definition: int = 0
    parameters: Mapping[str, int] = field(default_factory=dict)
    module: Mapping[str, int] = field(default_factory=dict)

    def text(self, line: int) -> str:
        """A line (from 1) without its indentation; '' where there is none."""
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    def line_of(self, line: int, statement: str) -> int:
        """Where the statement is that stood in `line` and starts with the words of a comment; 0 where it is gone, or
        where several lines could be it."""
        fits = [n for n in range(1, len(self.lines) + 1) if _starts(self.text(n), statement)]
        return line if line in fits else fits[0] if len(fits) == 1 else 0


def _starts(text: str, statement: str) -> bool:
    """Whether a Python line is the start of a statement, whose lines a comment joins and cuts off by ` ...`."""
    words = statement.removesuffix(" ...")
    is_open = text.count("(") > text.count(")")
    return text == words or words != statement and text.startswith(words) or is_open and words.startswith(text)


def read(path: Path, entry: str) -> Source | None:
    """The file at `path` with the kernel `entry`; None where it cannot be read as Python. It is not run."""
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return None
    module = {target.id: node.lineno for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))
              for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
              if isinstance(target, ast.Name)}
    chain = _chain(tree, entry) or []
    return Source(path.name, tuple(text.splitlines()), chain[-1].lineno if chain else 0, _parameters(chain), module)


def beside(path: str, source: str, entry: str, given: str | None = None) -> Source | None:
    """The Python file `given`, else the one that the contract's `source` (gemm.py:8) names, in the folder of `path`
    or the current one."""
    name = source.rpartition(":")[0]
    if given:
        return read(Path(given), entry)
    if not name:
        return None
    return read(Path(path).parent / name, entry) or read(Path(name), entry)


def _parameters(chain: list[ast.FunctionDef]) -> dict[str, int]:
    """The parameters of the functions, each with its line."""
    arguments = [a for node in chain for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return {argument.arg: argument.lineno for argument in arguments}


def _chain(node: ast.AST, entry: str) -> list[ast.FunctionDef] | None:
    """The function `entry` behind those around it; None where `node` does not hold it."""
    for child in ast.iter_child_nodes(node):
        inner = _chain(child, entry)
        if isinstance(child, ast.FunctionDef) and (inner is not None or child.name == entry):
            return [child, *(inner or [])]
        if inner is not None:
            return inner
    return None

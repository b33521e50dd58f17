"""Every name of T: what it is, where it runs, and which kernel of the tests uses it. The table of docs/language.md."""

from __future__ import annotations

import ast
import inspect
import re
from functools import lru_cache
from pathlib import Path

import tilegen.language as T
from tilegen.language.scalar import ScalarType
from tilegen.language.tensors import TensorAnnotation

TESTS = Path(__file__).parent
_TYPES = [name for name in T.__all__ if isinstance(getattr(T, name), ScalarType)]      # also written as texts
START, END = "<!-- names: written by pytest tests/test_names.py --update-golden -->", "<!-- end of names -->"

# What the interpreter and the CPU, which run a block as a whole, do not have.
OF_THREADS = frozenset(("get_thread_binding get_thread_bindings get_lane_idx get_warp_idx shfl_sync shfl_xor shfl_up shfl_down any_sync "
                        "all_sync ballot_sync warp_reduce_sum warp_reduce_max warp_reduce_min").split())
# What has another text for each target: the interpreter reads none.
OF_TARGETS = frozenset(("Raw", "call_extern", "import_source"))


def targets(name: str) -> str:
    """The targets that have a name, in words."""
    if name in OF_THREADS:
        return "cuda, hip, maca"
    return "all, not the interpreter" if name in OF_TARGETS else "all"


@lru_cache
def uses() -> dict[str, str]:
    """{name: `file: function`} of the first kernel that uses a name: among the operations and layouts, which run on every target
    against the interpreter, then among the examples, which do so too, then among the kernels of other tests."""
    found: dict[str, str] = {}
    for folder, pattern in ((TESTS, "operations_*.py"), (TESTS.parent / "examples", "[0-9]*.py"), (TESTS, "*.py")):
        for path in sorted(folder.glob(pattern)):
            for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                for name in _names(function) if isinstance(function, ast.FunctionDef) else ():
                    found.setdefault(name, f"{path.stem}: {function.name}")
    return found


def _names(function: ast.FunctionDef) -> list[str]:
    """The names of T that a function uses, without those of its decorators but for T.prim_func and T.macro."""
    marks = {id(n) for mark in function.decorator_list for n in ast.walk(mark)
             if ast.unparse(mark) not in ("T.macro", "T.prim_func")}
    nodes = [n for n in ast.walk(function) if id(n) not in marks]
    return [n.attr for n in nodes if isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "T"] + \
        [n.value for n in nodes if isinstance(n, ast.Constant) and n.value in _TYPES]


def meaning(name: str) -> str:
    """The first sentence of a name's documentation; of a type, what it is."""
    value = getattr(T, name)
    if isinstance(value, ScalarType):
        return "a type of elements, and the conversion to it"
    text = " ".join((inspect.getdoc(type(value) if isinstance(value, TensorAnnotation) else value) or "").split())
    first = re.split(r"(?<=[^.])\.(?: |$)|: (?=[`\'\"])|:$", text)[0].rstrip(".:")
    return first.replace("|", "\\|")


def rows() -> list[str]:
    """The lines of the table."""
    head = ["| name | what it is | targets | used by |", "|---|---|---|---|"]
    return head + [f"| `T.{name}` | {meaning(name)} | {targets(name)} | {uses().get(name, '')} |" for name in T.__all__]

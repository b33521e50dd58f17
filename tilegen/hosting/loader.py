"""A Python file that compiles and launches an emitted CUDA file through CuPy alone."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tilegen.emit import templates
from tilegen.errors import TilegenError
from tilegen.hosting.spelling import in_c, in_python
from tilegen.runtime.constants import Constants
from tilegen.runtime.contract import Contract, Launch, Param
from tilegen.runtime.expressions import names

_NUMBER = re.compile(r"-?\d+")
# CuPy has no arrays of these; it holds their bits.
_BITS = {"bfloat16": "uint16", "float8_e4m3": "uint8", "float8_e5m2": "uint8"}


def text_of(contract: Contract, name: str) -> str:
    """The loader of the emitted file `name`, which lies beside it: it reads the knobs from the file, so that grid,
    block and shared memory follow an edit. Raises TG0506 for what CuPy cannot launch: other targets, tensor maps."""
    if contract.target != "cuda":
        raise TilegenError("TG0506", f"--loader is for CuPy, which does not launch {contract.target}",
                           hint="emit with -t cuda, or take --host c")
    if any(p.box for p in contract.params):
        raise TilegenError("TG0506", "CuPy makes no tensor maps, which the copy engine needs on " + contract.arch,
                           hint=f"take --host c, or emit with -a {contract.arch.rstrip('a')}")
    return templates.render(("python",), "loader", contract=contract, file=name, loader=_Loader(contract)) + "\n"


class _Loader:
    """What the template needs to know."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.derived, self.knobs = _needed(contract)
        self.inputs = [p for p in contract.caller_params if not p.is_output]
        self.made = [p for p in contract.params if p.is_output or p.is_workspace]

    @property
    def parameters(self) -> str:
        """`A, B, C=None`: outputs may be left out; sizes that no array shows are named."""
        outputs = [f"{p.name}=None" for p in self.contract.caller_params if p.is_output]
        hidden = [size for size in self.contract.sizes if size not in self.shown]
        return ", ".join([*(p.name for p in self.inputs), *hidden, *outputs])

    @property
    def shown(self) -> dict[str, str]:
        """{size: where a shape shows it}."""
        found: dict[str, str] = {}
        for p in self.inputs:
            for axis, extent in enumerate(p.shape or ()):
                if extent in self.contract.sizes:
                    found.setdefault(extent, f"{p.name}.shape[{axis}]")
        return found

    @property
    def results(self) -> str:
        return ", ".join(p.name for p in self.contract.caller_params if p.is_output) or "None"

    def shape(self, p: Param) -> str:
        """A shape as a tuple."""
        return _tuple(map(in_python, p.shape))

    def dtype(self, p: Param) -> str:
        return _BITS.get(p.dtype.name, p.dtype.name)

    def tuple_of(self, expressions: tuple[str, ...]) -> str:
        return _tuple(map(in_python, expressions))

    def value(self, expression: str) -> str:
        return in_python(expression)

    def arguments(self, launch: Launch) -> str:
        values = [p.name if p.is_array else f"cupy.{p.dtype.name}({p.name})" for p in self.contract.params]
        values += [f"cupy.int32({size})" for size in self.contract.sizes]
        return _tuple(values[position] for position in launch.arguments)

    @property
    def requires(self) -> list[tuple[str, str]]:
        return [(in_python(condition), in_c(condition)) for condition in self.contract.requires]


def _tuple(items: Iterable[str]) -> str:
    listed = list(items)
    return f"({', '.join(listed)}{',' if len(listed) == 1 else ''})"


def _needed(contract: Contract) -> tuple[list[tuple[str, str]], list[str]]:
    """The constants of the file that the launch needs: (name, Python) of those that follow from others, in order, and
    the names of those that are numbers."""
    constants: Constants = contract.constants
    used = [e for launch in contract.launches for e in (*launch.grid, *launch.block, launch.shared)]
    used += [e for p in contract.params for e in p.shape or ()] + list(contract.requires)
    wanted, done = [name for e in used for name in names(e)], set()
    while wanted:
        name = wanted.pop()
        if name in constants and name not in done:
            done.add(name)
            wanted += names(constants.declared[name].expression)
    ordered = [name for name in constants.declared if name in done]
    plain = [name for name in ordered if _NUMBER.fullmatch(constants.declared[name].expression)]
    return [(name, in_python(constants.declared[name].expression)) for name in ordered if name not in plain], plain

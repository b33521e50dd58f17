"""The way of a kernel, in a row: parse, check, plan, emit, load."""

from __future__ import annotations

import ast
import hashlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilegen import config, files, frontend, ir, passes, targets
from tilegen.dtypes import DType
from tilegen.emit.file import emit_file
from tilegen.emit.source_lines import path_of
from tilegen.errors import TilegenError
from tilegen.frontend.source import source_of
from tilegen.language.tensors import PrimFunc
from tilegen.later import Later
from tilegen.launches import launches_of
from tilegen.launches import each_launch
from tilegen.passes.check_async import check_async
from tilegen.passes.check_bounds import check_bounds
from tilegen.passes.check_defined import check_defined
from tilegen.passes.check_reducers import check_reducers
from tilegen.passes.check_shapes import check_shapes
from tilegen.passes.check_workspaces import check_workspaces
from tilegen.passes.unpack_nibbles import unpack_nibbles
from tilegen.plan import maps_of
from tilegen.targets import Target

if TYPE_CHECKING:
    from tilegen.build.lint import Resources
    from tilegen.runtime.load import Loaded

loading = Later("tilegen.runtime.load")

CHECKS = (check_shapes, unpack_nibbles, check_defined, check_reducers, check_async, check_bounds)


class Specialised:
    """A kernel for one target and one set of values. Each step is taken when it is first asked for, and
    raises TilegenError where the kernel is wrong; nothing before `loaded` needs a device."""

    def __init__(self, function: Any, target: Target, values: dict[str, Any],
                 outputs: tuple[str | int, ...] = ()) -> None:
        self.function = function
        self.target = target
        self.values = values
        self.outputs = outputs
        self.line_directives = False        # whether `source` has `#line`s; set before it is first asked for

    @cached_property
    def kernel(self) -> ir.Kernel:
        """Python -> Tile IR, which is checked."""
        kernel = frontend.parse(self.function, target=self.target.name, arch=self.target.arch, values=self.values)
        for check in CHECKS:
            kernel = each_launch(kernel, lambda launch, check=check: check(launch, self.target))
        check_workspaces(kernel)
        check_outputs(kernel, self.outputs)
        return kernel

    @cached_property
    def planned(self) -> ir.Kernel:
        """Tile IR -> Tile IR with a plan for each statement."""
        return passes.run(self.kernel, self.target)

    @cached_property
    def source(self) -> str:
        """Planned IR -> the text of the emitted file."""
        again = command(self.function, self.kernel, self)
        return emit_file(self.planned, self.target, self.kernel, again, self.line_directives)

    @cached_property
    def loaded(self) -> Loaded:
        """Text -> a callable, which is compiled at its first call."""
        if config.keep:
            self._keep(Path(config.keep))
        loaded = loading.load(self.source)
        if self.plainer:
            loaded.otherwise = lambda: self.plainer.loaded
        return loaded

    @cached_property
    def plainer(self) -> Specialised | None:
        """The kernel without the copy engine, for tensors that it cannot move; None where it is not used."""
        if not maps_of(launches_of(self.planned)):
            return None
        plain = targets.find(self.target.name, self.target.plainer)
        return Specialised(self.function, plain, self.values, self.outputs)

    @cached_property
    def emulated(self) -> Loaded:
        """Text -> a callable that runs on the CPU as a GPU would run it."""
        loaded = loading.load(self.source, target="emulator")
        if self.plainer:
            loaded.otherwise = lambda: self.plainer.emulated
        return loaded

    def known_resources(self) -> Resources | None:
        """What the compiler said of the text, where it has been compiled; compiles nothing."""
        loaded = self.__dict__.get("loaded")
        return loaded.artifact.resources if loaded and "artifact" in loaded.__dict__ else None

    def after(self, name: str) -> ir.Kernel:
        """The kernel after the pass `name`, or after "parse". Raises TG0506 for an unknown pass."""
        if name == "parse":
            return self.kernel
        known = [step.__name__ for step in passes.PIPELINES[self.target.family]]
        if name not in known:
            raise TilegenError("TG0506", f"{self.target.name} has no pass {name!r}",
                               hint=f"its passes are parse, {', '.join(known)}")
        return passes.run(self.kernel, self.target, name)

    def _keep(self, folder: Path) -> None:
        """A copy of the text under a name that follows from its content."""
        content = hashlib.sha256(self.source.encode()).hexdigest()[:8]
        name = f"{self.kernel.name}-{self.target.arch}-{content}{self.target.suffix}"
        files.write(folder / name, self.source, overwrite=True, parents=True)


def check_outputs(kernel: ir.Kernel, outputs: tuple[str | int, ...]) -> None:
    """That the parameters in `outputs`, by name or position, are written and never read. Raises TG0005."""
    names = [p.name for p in kernel.params if not p.workspace]
    for chosen in outputs:
        name = names[chosen] if isinstance(chosen, int) and -len(names) <= chosen < len(names) else chosen
        if name not in names:
            raise TilegenError("TG0005", f"out={chosen!r} is no parameter of {kernel.name}", kernel.loc,
                               f"its parameters are {', '.join(names)}")
        param = kernel.params[names.index(name)]
        if param.access != "write":
            what = "is also read" if param.access == "readwrite" else "is not written"
            raise TilegenError("TG0005", f"out={chosen!r}: {name} {what} by {kernel.name}, so that it has to be passed",
                               param.loc or kernel.loc)


def command(function: Any, kernel: ir.Kernel, how: Specialised) -> str:
    """The command line that emits the same file again: `tilegen emit gemm.py -t cuda -a sm_80 -o matmul.cu`."""
    if kernel.loc is None:
        return ""
    file, target = path_of(kernel.loc), how.target
    name = "" if _is_alone(function) else f":{function.__name__}"
    values = [f"-D {key}={text}" for key, value in how.values.items() if (text := _spelled(value)) is not None]
    values += ["--line-directives"] if how.line_directives else []
    options = [f"-t {target.name}", f"-a {target.arch}", *values, f"-o {kernel.name}{target.suffix}"]
    return f"tilegen emit {file}{name} {' '.join(options)}"


def _spelled(value: Any) -> str | None:
    """A value as -D takes it; None for one that a command line cannot hold."""
    if isinstance(value, DType):
        return value.name
    return str(value) if isinstance(value, (bool, int, float, str)) else None


def _is_alone(function: Any) -> bool:
    """Whether the file of `function` defines one kernel only, which then needs no name."""
    plain = function.function if isinstance(function, PrimFunc) else function
    module = source_of(plain).around[-1]
    marks = [ast.unparse(mark) for node in module.body if isinstance(node, ast.FunctionDef)
             for mark in node.decorator_list]
    return sum(mark.split("(")[0].split(".")[-1] in ("jit", "prim_func") for mark in marks) <= 1

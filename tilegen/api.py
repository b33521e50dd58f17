"""The functions that users call: `tilegen.jit` and `tilegen.compile`, and the factories that `jit` makes."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tilegen import frontend, targets
from tilegen.edited import beside
from tilegen.errors import TilegenError
from tilegen.frontend.source import source_of
from tilegen.frontend.suggest import did_you_mean
from tilegen.kernel import Kernel, Options
from tilegen.placement import is_array

if TYPE_CHECKING:
    from tilegen.runtime.load import Loaded

__all__ = ["Factory", "Kernel", "compile", "jit"]


def jit(function: Any = None, *, target: str | None = None, arch: str | None = None,
        source: str | os.PathLike | None = None, out: str | int | Iterable[str | int] | None = None,
        knobs: Callable[..., Mapping[str, Any]] | None = None, **unknown: Any) -> Any:
    """Makes a kernel of a function, or a factory of kernels of a function that returns a `@T.prim_func`.

    target, arch: where it runs (cuda, hip, maca, cpu; sm_90a, gfx942, avx2). Without: `tilegen.config`, else the
        memory of the arguments, else CUDA where there is a GPU, else the CPU.
    source: an emitted file, perhaps edited by hand, that runs in place of what would be emitted.
    knobs: a function that gives the values of knobs for a call: its parameters are sizes of the kernel, and `arch`.
        A call that gives knobs itself has the last word.
    out: the outputs, by name or position among the parameters. Outputs are found without it; with it, that
        they are outputs is checked.
    Nothing is parsed or compiled before the kernel is called or looked at.
    """
    if unknown:
        name = next(iter(unknown))
        raise TilegenError("TG0005", f"tilegen.jit has no option {name}", hint=_ELSEWHERE.get(name) or
                           did_you_mean(name, {"target", "arch", "source", "out", "knobs"}) or
                           "its options are target, arch, source, out, knobs")
    if function is None:
        return functools.partial(jit, target=target, arch=arch, source=source, out=out, knobs=knobs)
    if isinstance(function, (Kernel, Factory)):
        raise TilegenError("TG0005", f"{function.__name__} is under @tilegen.jit twice")
    if target is not None:
        targets.find(target, arch)
    outputs = () if out is None else (out,) if isinstance(out, (str, int)) else tuple(out)
    is_factory = frontend.form(function) == "factory"
    if knobs is not None and (is_factory or source):
        raise TilegenError("TG0005", f"{function.__name__}: knobs= is for kernels that are emitted for a call",
                           hint="a factory can compute its knobs itself; those of a file are in the file")
    options = Options(target, arch, beside(source, function) if source else None, outputs, is_factory, knobs)
    return Factory(function, options) if is_factory else Kernel(function, options, {})


_ELSEWHERE = {"out_idx": "outputs are found without it; write out=[-1] to have that checked",
              "pass_configs": "passes have no switches; see the knobs of the kernel",
              "compile_flags": "save the source and compile it with your own flags"}


def compile(kernel: Any, *, target: str | None = None, arch: str | None = None, **values: Any) -> Loaded:
    """The kernel, compiled now, for `target` and with `values` for its knobs, sizes and factory parameters.

    Raises TilegenError wherever emitting or compiling fails, such as TG0301 without a compiler.
    """
    kernel = kernel if isinstance(kernel, (Kernel, Factory)) else jit(kernel)
    loaded = kernel.specialize(**values).here(target, arch).loaded
    loaded.artifact             # the compiler runs here, not at the first call
    return loaded


class Factory:
    """A Python function that makes kernels: `factory(1024, 1024, block_M=64)` is a kernel. See `jit`."""

    def __init__(self, function: Any, options: Options) -> None:
        functools.update_wrapper(self, function)
        self._function, self.options = function, options

    def __call__(self, *args: Any, **values: Any) -> Kernel:
        """The kernel for these arguments of the function. Raises TG0501 for those that are missing, TG0503 for
        those that it does not have."""
        parameters = inspect.signature(self._function).parameters
        if any(is_array(value) for value in args):
            raise TilegenError("TG0401", f"{self.__name__} makes kernels, and takes no arrays", self._loc(),
                               f"call what it returns: {self.__name__}({', '.join(parameters)})(...)")
        if len(args) > len(parameters):
            raise TilegenError("TG0401", f"{self.__name__} takes {len(parameters)} arguments, not {len(args)}",
                               self._loc())
        given = {**dict(zip(parameters, args)), **values}
        missing = self.missing(given)
        if missing:
            raise TilegenError("TG0501", f"{self.__name__} needs values for {', '.join(missing)}", self._loc(),
                               f"on the command line: {' '.join(f'-D {name}=1024' for name in missing)}")
        return self.specialize(**given)

    def missing(self, values: Iterable[str]) -> list[str]:
        """The parameters that have no default and are not among `values`."""
        parameters = inspect.signature(self._function).parameters
        return [name for name, p in parameters.items() if p.default is p.empty and name not in values
                and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]

    def knob_names(self) -> tuple[str, ...]:
        """The parameters of the function."""
        return tuple(inspect.signature(self._function).parameters)

    def specialize(self, **values: Any) -> Kernel:
        """The kernel for these values, by name."""
        return Kernel(self._function, self.options, values)

    def _loc(self):
        return source_of(self._function).name_loc()

    def __repr__(self) -> str:
        return f"<factory of kernels {self.__name__}{inspect.signature(self._function)}>"

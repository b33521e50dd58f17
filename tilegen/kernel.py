"""The object that `@tilegen.jit` makes: a kernel that can be called, shown, saved and explained."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilegen import config, drawing, explain, placement, pristine, targets
from tilegen import ir as tile_ir
from tilegen.call import Call, Parameters, by_rule, sizes_of
from tilegen.edited import EditedFile
from tilegen.errors import TilegenError
from tilegen.frontend.source import source_of
from tilegen.jit import Specialised
from tilegen.language.tensors import PrimFunc
from tilegen.later import Later
from tilegen.targets import Target

if TYPE_CHECKING:
    from tilegen.build.lint import Finding, Resources
    from tilegen.display.page import Python
    from tilegen.interpreted import Interpreted
    from tilegen.runtime.load import BoundCall, Loaded
    from tilegen.runtime.repeats import Repeats

interpreting, repeating = Later("tilegen.interpreted"), Later("tilegen.runtime.repeats")
showing = Later("tilegen.display.page")


@dataclass(frozen=True)
class Options:
    """What `@tilegen.jit` was given; `file` stands in for the emitted text."""

    target: str | None = None
    arch: str | None = None
    file: Path | None = None
    outputs: tuple[str | int, ...] = ()
    is_factory: bool = False
    knobs: Callable[..., Mapping[str, Any]] | None = None       # what knobs a call of some sizes gets


class Kernel:
    """A kernel that is emitted, compiled and run when it is called. See `tilegen.jit`."""

    def __init__(self, function: Any, options: Options, values: Mapping[str, Any]) -> None:
        functools.update_wrapper(self, function.function if isinstance(function, PrimFunc) else function)
        self._function, self.options, self._values = function, options, dict(values)
        self._specialised: dict[tuple, Specialised] = {}
        self._ready: dict[tuple, Loaded] = {}           # for plain calls, by the kinds of their arguments
        self._repeats: Repeats | None = None            # from the first call on
        self._missed, self._changes = None, config.changes
        self._file = EditedFile(options.file, self._specialise) if options.file else None

    # ---- Calling ---------------------------------------------------------------------------------
    def __call__(self, *args: Any, out: Any = None, stream: Any = None, **named: Any) -> Any:
        """Runs the kernel: all arguments in order, or without the outputs, which are then returned.

        `out` gives the memory of left-out outputs; `stream` is a CuPy or torch stream or its address. Keywords
        are arguments, knobs (`kernel(A, B, BM=64)`), or sizes that no shape shows. Raises TG04 errors for
        arguments that do not fit, TG0503 for a name that the kernel lacks.
        """
        if not named:
            if self._repeats is None:
                self._repeats, self._missed = repeating.Repeats(), repeating.MISSED
            if self._changes != config.changes:
                self._repeats.forget()
                self._changes = config.changes
            result = self._repeats.result(args, out, stream)
            if result is not self._missed:
                return result
            loaded = self._ready.get(_kinds(args))
            if loaded is None and self.options.knobs:
                loaded = self._choose(Call(args, {}, {})) if len(args) <= len(self._parameters.arguments) else None
            if loaded is not None:
                return loaded.run(args, named, out, stream, self._repeats)
        call = self._parameters.split(args, named)
        return self._choose(call)(*call.args, out=out, stream=stream, **call.named)

    def bind(self, *args: Any, out: Any = None, **named: Any) -> BoundCall:
        """The call with these arguments, checked and prepared; calling the result only launches."""
        call = self._parameters.split(args, named)
        return self._choose(call).bind(*call.args, out=out, **call.named)

    def specialize(self, **values: Any) -> Kernel:
        """The kernel with these knobs; a size that gets a number becomes a constant."""
        return Kernel(self._function, self.options, {**self._values, **values})

    def on(self, place: str) -> Loaded | Interpreted:
        """The kernel on one place: "emulator" (a GPU file, on the CPU), "interpreter" (NumPy, from the IR), or
        a target: "cpu", "cuda", "hip". Raises TG0502 for another name."""
        if place == "interpreter":
            return interpreting.Interpreted(self.ir)
        if place == "emulator":
            name = self.options.target or config.target or "cuda"
            return self.specialised("cuda" if name == "cpu" else name).emulated
        return self.here(place).loaded

    # ---- Looking ---------------------------------------------------------------------------------
    @property
    def source(self) -> str:
        """The text that a call would run: of the file given as source=, else emitted. Needs no GPU."""
        return self._file.loaded().source if self._file else self.here().source

    def emit(self, target: str | None = None, arch: str | None = None, **values: Any) -> str:
        """The emitted text for a target, with `values` for knobs and sizes. Needs no GPU."""
        return self.specialised(target, arch, values).source

    def show(self) -> None:
        """Prints the source."""
        print(self.source, end="")

    def save(self, path: str | os.PathLike, *, target: str | None = None, arch: str | None = None,
             overwrite: bool = False) -> Path:
        """Writes the emitted text to a file, in one step; the suffix of `path` decides the target where nobody
        else does. The text is also kept in `.tilegen/` beside the file, for `tilegen merge`. Raises TG0504 where a
        file of another content is there, unless `overwrite` is true."""
        path = Path(path)
        if target is None and self.options.target is None:
            target = next((name for name in targets.modules() if targets.find(name).suffix == path.suffix), None)
        return pristine.write(path, self.emit(target, arch), overwrite=overwrite)

    def explain(self, target: str | None = None, arch: str | None = None) -> str:
        """Every decision of the passes with its reason, by Python line."""
        made = self.specialised(target, arch)
        return explain.text(made.planned, f"{made.kernel.name} for {made.target.name} {made.target.arch}")

    def layouts(self, target: str | None = None, arch: str | None = None) -> dict[str, str]:
        """{name: SVG} for every fragment and shared tile: which thread and register holds each element, or in which
        bank it lies. Each is self-contained, with a tip on every cell."""
        return drawing.svgs(self.specialised(target, arch).planned)

    @property
    def ir(self) -> tile_ir.Kernel:
        """The Tile IR, before planning."""
        return self.here().kernel

    @property
    def resources(self) -> Resources | None:
        """Registers, spills, stack and shared bytes, where the compiler reports them. Compiles the kernel."""
        return (self._file.loaded() if self._file else self.here().loaded).resources

    @property
    def findings(self) -> list[Finding]:
        """What costs speed, by its compiler and in its machine code, with emitted lines and what helps. Compiles the
        kernel. Raises TG0301 where nothing can disassemble it."""
        return (self._file.loaded() if self._file else self.here().loaded).findings

    def _repr_html_(self) -> str:
        if self._file:
            return showing.page(self.source, self._python())
        made = self.here()
        return showing.page(made.source, self._python(), explain.decisions(made.planned), made.known_resources())

    def _python(self) -> Python:
        """The function, with its decorators, as it stands in its file."""
        source = source_of(getattr(self._function, "function", self._function))
        first = min([mark.lineno for mark in source.node.decorator_list] + [source.node.lineno])
        # IPython keeps a cell in a file whose name says nothing
        file = "a cell of the notebook" if "ipykernel_" in source.file else os.path.basename(source.file)
        return showing.Python(file, first, "\n".join(source.lines[first - 1:source.node.end_lineno]))

    def __repr__(self) -> str:
        code = self.__wrapped__.__code__
        return f"<kernel {self.__name__} at {os.path.basename(code.co_filename)}:{code.co_firstlineno}>"

    def knob_names(self) -> tuple[str, ...]:
        """The parameters of the function that are no arguments of a launch."""
        return tuple(name for name in self._parameters.order if name not in self._parameters.arguments)

    # ---- Specialising ----------------------------------------------------------------------------
    def specialised(self, target: str | None = None, arch: str | None = None,
                    values: Mapping[str, Any] | None = None) -> Specialised:
        """The kernel for one target and these values, with every step on its way: IR, plans, text, callable.

        The architecture does not depend on the machine, so that the text is the same everywhere.
        """
        return self._specialise(self._target(target, arch), values)

    def here(self, target: str | None = None, arch: str | None = None,
             values: Mapping[str, Any] | None = None) -> Specialised:
        """As `specialised`, for the GPU of this machine where there is one: what a call runs."""
        return self._specialise(self._target(target, arch, here=True), values)

    def _target(self, target: str | None, arch: str | None, here: bool = False) -> Target:
        own = self.options.arch if target in (None, self.options.target) else None
        return placement.choose(target or self.options.target, arch or own, here=here)

    def _specialise(self, target: Target, values: Mapping[str, Any] | None = None) -> Specialised:
        values = {**self._values, **(values or {})}
        key = (target.name, target.arch, *((name, _key(value)) for name, value in sorted(values.items())))
        if key not in self._specialised:
            self._specialised[key] = Specialised(self._function, target, values, self.options.outputs)
        return self._specialised[key]

    def _choose(self, call: Call) -> Loaded:
        """The callable for a call; remembered for the next call of its kinds, where these say enough."""
        if self._file:
            if call.values:
                raise TilegenError("TG0503", f"{self.__name__} runs {self.options.file}: its knobs are in that file")
            return self._file.loaded()
        if self.options.target:
            target = self._target(None, None, here=True)
        else:
            target = placement.for_arguments([*call.args, *call.named.values()], self.options.arch)
        loaded = self._specialise(target, self._knobs(target, call)).loaded
        if not self.options.knobs and not call.values and not call.named and all(map(_is_told_by_kind, call.args)):
            self._ready[_kinds(call.args)] = loaded
        return loaded

    def _knobs(self, target: Target, call: Call) -> Mapping[str, Any]:
        """The knobs of a call: those of the kernel's rule for its sizes, and over them those that the caller gives."""
        if self.options.knobs is None:
            return call.values
        kernel = self._specialise(target).kernel
        sizes = {**sizes_of(kernel, self._parameters.arguments, call), **self._values}
        return {**by_rule(self.options.knobs, target.arch, sizes, kernel), **self._values, **call.values}

    @functools.cached_property
    def _parameters(self) -> Parameters:
        return Parameters(self._function, self.options.is_factory, lambda: self.ir)


def _kinds(args: tuple) -> tuple:
    """What the choice of a target depends on: the types of the arguments, for torch whether they are on a GPU,
    and the settings."""
    return config.changes, *[getattr(value, "is_cuda", type(value)) for value in args]


def _is_told_by_kind(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in ("numpy", "cupy", "torch", "builtins")


def _key(value: Any) -> Any:
    """A value of a knob as part of a key; True and 1 differ, and so do 1 and 1.0."""
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return type(value), value

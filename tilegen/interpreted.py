"""`tilegen.interpret(kernel)(A, B)`: what a kernel means, in NumPy, with the checks of a real call."""

from __future__ import annotations

from typing import Any

from tilegen import ir, targets
from tilegen.emit import contract as emitted
from tilegen.emit.launches import Spoken
from tilegen.errors import TilegenError
from tilegen.interpret import run
from tilegen.launches import launches_of
from tilegen.passes.ranges import collect
from tilegen.runtime.arrays import as_numpy
from tilegen.runtime.binding import Binder, Bound, Scalar
from tilegen.runtime.contract import Contract, Launch, Param
from tilegen.dtypes import lookup


def interpret(kernel: Any) -> Interpreted:
    """A callable that runs `kernel` statement by statement in NumPy.

    It takes the arguments that the kernel takes, in host memory, and is the reference for every target.
    """
    return kernel.on("interpreter") if not isinstance(kernel, ir.Kernel) else Interpreted(kernel)


class Interpreted:
    """A kernel that Python runs. See `interpret`."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self.kernel = kernel
        self._binder = Binder(contract(kernel))

    def __call__(self, *arrays: object, out: object = None, **named: object) -> object:
        """Runs the kernel; arguments, results and errors are those of `Loaded.__call__`."""
        bound = self._binder.bind(arrays, named, out)
        self.run(bound)
        return bound.result

    def run(self, bound: Bound) -> None:
        """Runs a call that is bound already. Raises TG0405 for memory of a GPU."""
        for name, array in bound.arrays.items():
            if array.device.kind != "cpu":
                raise TilegenError("TG0405", f"argument {name} is on {array.device}, but the interpreter runs on the "
                                   "CPU", hint="pass a host array")
        names = [p.name for p in bound.contract.params] + list(bound.contract.sizes)
        values = dict(zip(names, (a.value if isinstance(a, Scalar) else as_numpy(a) for a in bound.arguments)))
        sizes = {name: values.pop(name) for name in bound.contract.sizes}
        run(self.kernel, values, sizes)

    def __repr__(self) -> str:
        names = ", ".join(p.name for p in self.kernel.params if not p.workspace)
        return f"<{self.kernel.name}({names}) in the interpreter>"


def contract(kernel: ir.Kernel) -> Contract:
    """What a caller has to keep to, of a kernel that no file was emitted for; knobs are numbers in it."""
    launches = [Spoken(launch, "1", "0") for launch in launches_of(kernel)]
    fields = emitted.fields(kernel, targets.find("cpu"), [], set(), collect(kernel).ranges, launches, "")
    params = tuple(Param(p["name"], lookup(p["dtype"]), tuple(p["shape"]) if "shape" in p else None,
                         p.get("access", "read"), strides=tuple(p.get("strides", ())))
                   for p in fields["params"] if p.get("access") != "workspace")
    sizes = tuple(fields.get("sizes", ()))
    # the interpreter launches by itself, and has workspaces of its own
    whole = Launch(kernel.name, ("1",), ("1",), "0", tuple(range(len(params) + len(sizes))))
    return Contract(entry=kernel.name, target="interpreter", arch="", knobs=(), launches=(whole,), params=params,
                    sizes=sizes, requires=tuple(fields.get("requires", ())))

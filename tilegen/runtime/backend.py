"""What a launcher offers to the loader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tilegen.build.lint import Origin
from tilegen.build.toolchain import Artifact, Toolchain, compile_text
from tilegen.runtime.binding import Bound
from tilegen.runtime.contract import Contract


class Kernel(Protocol):
    """A compiled entry that can be launched."""

    def prepare(self, bound: Bound) -> object:
        """Whatever of the launch can be done once for the same arguments."""

    def launch(self, bound: Bound, prepared: object, stream: object = None) -> None:
        """Runs the kernel on the caller's stream, or on `stream`."""

    def repeat(self, bound: Bound, names: tuple[str, ...]) -> Callable[[tuple, object], object] | None:
        """A launch `(values, stream)` for calls that differ from `bound` in their addresses and free scalars alone;
        values are those of `names`. None where each call needs more than that."""

    def prepared(self, bound: Bound) -> Callable[[object], None] | None:
        """The same launch again and again, for a stream or None; None where there is no shorter way than `launch`."""


@dataclass(frozen=True)
class Backend:
    """One way to run emitted files.

    `build(text, contract, arch, compiler)` compiles (None: the best choice here) and needs no device;
    `check()` raises where nothing can be launched; `open(artifact, contract)` loads what was built.
    """

    name: str
    build: Callable[[str, Contract, str | None, str | None], Artifact]
    check: Callable[[], None]
    open: Callable[[Artifact, Contract], Kernel]


def compile_contract(text: str, contract: Contract, toolchain: Toolchain, arch: str) -> Artifact:
    """`text` compiled by `toolchain`, with errors in terms of the contract's Python lines."""
    origin = Origin(contract.file, contract.source, contract.line_map)
    return compile_text(text, toolchain, name=contract.entry, target=contract.target, arch=arch,
                        origin=origin, knobs=contract.knob_values)

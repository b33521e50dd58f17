"""The entry of a CPU kernel and the function that runs one block: who gets which parameter."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilegen import arith, ir
from tilegen.targets.base import Target


@dataclass(frozen=True)
class CpuEntry:
    """Parameter lists as text. `body` is the text of the block's statements."""

    kernel: ir.Kernel
    target: Target
    memory: str

    def _parameters(self) -> list[tuple[str, str]]:
        """(name, declaration) of the entry's parameters."""
        result = []
        for p in self.kernel.params:
            if p.buffer is None:
                result.append((p.name, f"{self.target.type(p.var.dtype)} {p.name}"))
            else:
                const = "const " if p.access == "read" else ""
                result.append((p.name, f"{const}{self.target.type(p.buffer.dtype)}* __restrict__ {p.name}"))
        return result + [(size.name, f"int {size.name}") for size in self.kernel.sizes]

    def _block(self, body: str) -> list[tuple[str, str]]:
        """Of what the block needs: its tiles, the parameters that it names, its place in the grid."""
        words = set(re.findall(r"[A-Za-z_]\w*", re.sub(r"//[^\n]*", "", body)))
        tiles = [(self.memory, f"Tiles& {self.memory}")] if self.kernel.plan.shared else []
        place = [(var.name, f"int {var.name}") for var in self.kernel.block_vars]
        return tiles + [(name, text) for name, text in self._parameters() + place if name in words]

    def block_parameters(self, body: str) -> str:
        return ", ".join(text for _, text in self._block(body))

    def block_arguments(self, body: str) -> str:
        return ", ".join(name for name, _ in self._block(body))

    def entry_parameters(self, body: str) -> str:
        """All parameters; those that nothing reads are marked, for the compiler's sake."""
        used = {name for name, _ in self._block(body)} | {n for extent in self.kernel.grid for n in arith.names(extent)}
        return ", ".join(text if name in used else f"[[maybe_unused]] {text}" for name, text in self._parameters())

    def loops(self) -> list[tuple[str, ir.Expr]]:
        """(variable, extent) of the loops over blocks, innermost first."""
        names = [var.name for var in self.kernel.block_vars]
        names += [f"block_{axis}" for axis in "xyz"[len(names):len(self.kernel.grid)]]
        return list(zip(names, self.kernel.grid))

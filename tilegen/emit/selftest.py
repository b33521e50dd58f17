"""The `TILEGEN_MAIN` part of an emitted file."""

from __future__ import annotations

from tilegen import ir
from tilegen.emit.expressions import Printer
from tilegen.targets.base import Target


def render(kernel: ir.Kernel, target: Target, e: Printer) -> str:
    return ""

"""The launches of a kernel: one, or several that run in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilegen.ir import Kernel


def launches_of(kernel: Kernel) -> tuple[Kernel, ...]:
    """The launches of a kernel in order: itself, where it is one."""
    return kernel.launches or (kernel,)


def each_launch(kernel: Kernel, change: Callable[[Kernel], Kernel]) -> Kernel:
    """`kernel` with every launch changed."""
    return replace(kernel, launches=tuple(map(change, kernel.launches))) if kernel.launches else change(kernel)

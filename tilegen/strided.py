"""Tensors whose rows need not follow each other: those of T.StridedTensor."""

from __future__ import annotations

from dataclasses import dataclass

from tilegen import arith, ir


@dataclass(frozen=True)
class StridedBuffer(ir.Buffer):
    """A tensor of the caller's; neighbours along each dimension lie `strides` elements apart."""

    strides: tuple[ir.Expr, ...] = ()


def strides_of(buffer: ir.Buffer) -> tuple[ir.Expr, ...]:
    """How far apart neighbours along each dimension of a tensor are, in elements."""
    if isinstance(buffer, StridedBuffer):
        return buffer.strides
    return tuple(arith.product(buffer.shape[d + 1:]) for d in range(len(buffer.shape)))


def has_rows(buffer: ir.Buffer) -> bool:
    """Whether neighbours along the last dimension are neighbours in memory."""
    return not isinstance(buffer, StridedBuffer) or buffer.strides[-1] == ir.Const(1)

"""Random numbers that depend on a seed and a position only: T.philox, T.rng_init, T.rng_rand, T.rng_rand_float."""

from __future__ import annotations

from dataclasses import dataclass

from tilegen import arith, ir
from tilegen.dtypes import float32, int64, uint32
from tilegen.errors import TilegenError
from tilegen.language.builder import Block, current, operation
from tilegen.language.values import as_index


@dataclass(frozen=True)
class Stream:
    """The numbers that T.rng_init starts: `position` counts them."""

    seed: ir.Expr
    sequence: ir.Expr
    position: ir.Buffer
    block: Block


@operation()
def philox(seed, counter, sequence=0) -> ir.Expr:
    """Number `counter` of the random sequence `sequence` of `seed`: uint32, from Philox 4x32 with 10 rounds.

    The same on every target, and in any order of evaluation. Counters count single numbers, four of which come
    from one block of the generator; all three are integers of up to 64 bits. Raises TG0111 for floats.
    """
    builder = current()
    operands = tuple(as_index(value, builder.argument(name))
                     for name, value in (("seed", seed), ("sequence", sequence), ("counter", counter)))
    return ir.Call("philox", operands, uint32, loc=builder.loc)


@operation()
def rng_init(seed, sequence=0, offset=0) -> None:
    """Starts a stream of random numbers: those of T.philox(seed, ..., sequence), from number `offset` on.

    A stream belongs to the block of statements that starts it: in a T.Parallel loop, to one iteration.
    """
    builder = current()
    start = as_index(offset, builder.argument("offset"))
    position = ir.Buffer(builder.local("position"), (), int64, "var", loc=builder.loc)
    values = [builder.let(name, as_index(value, builder.argument(name))) if not isinstance(value, int)
              else as_index(value) for name, value in (("seed", seed), ("sequence", sequence))]
    start = ir.Const(start.value, int64) if isinstance(start, ir.Const) else ir.Cast(start, int64)
    builder.emit(ir.Alloc(position, start, loc=builder.loc))
    builder.stream = Stream(*values, position, builder.block)


def _next(name: str) -> ir.Expr:
    builder = current()
    stream = builder.stream
    if stream is None or not any(block is stream.block for block in builder.blocks):
        raise TilegenError("TG0112", f"T.{name} before T.rng_init, or outside of the block that called it",
                           builder.loc, "call T.rng_init in the same block of statements")
    depth = next(n for n, block in enumerate(builder.blocks) if block is stream.block)
    if any(block.kind == "parallel" for block in builder.blocks[depth + 1:]):
        raise TilegenError("TG0208", f"T.{name} in a T.Parallel loop, whose iterations would share one stream",
                           builder.loc,
                           "call T.rng_init in the loop, with the element's index as the sequence, or use T.philox")
    position = ir.Load(stream.position, ())
    number = ir.Call("philox", (stream.seed, stream.sequence, position), uint32, loc=builder.loc)
    value = builder.let("random", number)
    builder.emit(ir.Store(stream.position, (), ir.BinOp("+", position, ir.Const(1, int64), int64), loc=builder.loc))
    return value


@operation()
def rng_rand() -> ir.Expr:
    """The next number of the stream: uint32. Raises TG0112 without T.rng_init, TG0208 for a shared stream."""
    return _next("rng_rand")


@operation()
def rng_rand_float() -> ir.Expr:
    """The next number of the stream as a float32 in [0, 1): its upper 24 bits. Errors as T.rng_rand."""
    upper = arith.binary(">>", _next("rng_rand_float"), ir.Const(8, uint32))
    return ir.BinOp("*", ir.Cast(upper, float32), ir.Const(2.0 ** -24, float32), float32)

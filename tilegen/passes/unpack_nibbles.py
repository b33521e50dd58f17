"""unpack_nibbles: int4 and uint4, two elements in a byte, as bytes and shifts.

Precondition: shapes are checked. Effect: no buffer of 4-bit elements is left. A tensor or tile of them has
uint8 elements and half as many columns, the even one in the lower four bits; copies between such move bytes; a
copy to a wider type becomes a nest that unpacks, an element that is read an expression, and operands of a gemm
are unpacked to int8 or uint8 first.
Before: B int4 (N, K); T.copy(B[n, k], B_shared int4); T.copy(B_shared, B_half float16)
After:  B uint8 (N, K / 2); T.copy(B[n, k / 2], B_shared uint8); B_half[i, j] = (B_shared[i, j / 2] >> 4 * (j % 2)) ...
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.dtypes import PACKED, int8, uint8
from tilegen.errors import Loc, TilegenError
from tilegen.language.regions import is_one
from tilegen.language.text import allocated
from tilegen.passes.ranges import knob_values, loop_steps
from tilegen.plan import UnpackedBuffer


def unpack_nibbles(kernel: ir.Kernel, target=None) -> ir.Kernel:
    """`kernel` without 4-bit elements. Raises TG0102 for what needs elements of their own, TG0103 for tiles of
    them that are not shared."""
    if not any(_packed(n) for n in ir.walk(kernel) if isinstance(n, ir.Buffer)):
        return kernel
    unpacking = _Unpacking(kernel)
    body = ir.rewrite(kernel.body, unpacking.rule)
    body = tuple(ir.Alloc(tile) for tile in unpacking.tiles.values()) + body
    halved = ir.rewrite(replace(kernel, body=body), lambda n: _halved(n) if _packed(n) else None)
    return replace(halved, requires=(*kernel.requires, *unpacking.even))


def _packed(node: ir.Node) -> bool:
    return isinstance(node, ir.Buffer) and node.dtype.name in PACKED


def _halved(buffer: ir.Buffer) -> ir.Buffer:
    """The bytes that hold the elements."""
    return replace(buffer, shape=(*buffer.shape[:-1], arith.divide(buffer.shape[-1], 2)), dtype=uint8)


class _Unpacking:
    """The rule for every node; `tiles` are what operands of products are unpacked to, `even` the sizes that have
    to be multiples of 2."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self.env = knob_values(kernel)
        self.steps = loop_steps(kernel, self.env)
        self.taken = {n.name for n in ir.walk(kernel) if isinstance(n, (ir.Var, ir.Buffer))}
        self.tiles: dict[str, ir.Buffer] = {}
        self.even: list[ir.Expr] = []
        for p in kernel.params:
            if p.buffer is not None and _packed(p.buffer):
                self._even_rows(p.buffer, kernel.loc)

    def _even_rows(self, buffer: ir.Buffer, loc: Loc | None) -> None:
        last = buffer.shape[-1]
        condition = arith.binary("==", arith.modulo(last, 2), ir.Const(0))
        if (arith.evaluate(last, self.env) or 0) % 2:
            raise TilegenError("TG0102", f"rows of {buffer.name} have {arith.evaluate(last, self.env)} elements of "
                               f"{buffer.dtype}, which are no whole bytes", loc, "make the last dimension even")
        if arith.evaluate(last, self.env) is None:
            self.even.append(condition)

    def rule(self, node: ir.Node):
        match node:
            case ir.Load() if _packed(node.buffer):
                return _element(node)
            case ir.Alloc() if _packed(node.buffer):
                if node.buffer.scope != "shared":
                    raise TilegenError("TG0103", f"tiles of {node.buffer.dtype} are shared tiles, and "
                                       f"{node.buffer.name} is a {node.buffer.scope} one", node.loc,
                                       "T.copy the shared tile into a "
                                       "fragment of int8, float16 or another type")
                self._even_rows(node.buffer, node.loc)
            case ir.Copy() if _packed(node.dst.buffer) or _packed(node.src.buffer):
                return self._copy(node)
            case ir.Gemm() if _packed(node.a.buffer):
                return self._gemm(node)
            case ir.Fill() if _packed(node.dst.buffer):
                return self._fill(node)
            case ir.Stmt():
                self._refuse(node)
            case ir.Cast() if node.dtype.name in PACKED:
                raise TilegenError("TG0102", f"a value cannot become {node.dtype}", node.loc, "mask it: x & 15")
        return None

    def _refuse(self, node: ir.Stmt) -> None:
        for name in ("buffer", "src", "dst", "c"):
            held = getattr(node, name, None)
            buffer = held.buffer if isinstance(held, ir.Region) else held
            if isinstance(buffer, ir.Buffer) and _packed(buffer) and not isinstance(node, ir.Alloc):
                raise TilegenError("TG0102", f"{buffer.name} is {buffer.dtype}: its elements share bytes, and are only "
                                   "copied as a whole or read", node.loc, f"T.copy it into a tile of int8 first; "
                                   f"{allocated(buffer)}")

    def _fill(self, fill: ir.Fill) -> ir.Fill:
        if not isinstance(fill.value, ir.Const):
            raise TilegenError("TG0102", f"{fill.dst.buffer.name} is {fill.dst.buffer.dtype}, which is filled with a "
                               "constant alone", fill.loc, "fill a tile of int8, and use that")
        value = (int(fill.value.value) & 15) * 17
        return replace(fill, dst=self._bytes(fill.dst), value=ir.Const(value, uint8))

    def _copy(self, copy: ir.Copy):
        if copy.src.buffer.dtype == copy.dst.buffer.dtype:
            return replace(copy, src=self._bytes(copy.src), dst=self._bytes(copy.dst))
        if _packed(copy.dst.buffer):
            raise TilegenError("TG0102", f"T.copy: {copy.src.buffer.dtype} cannot be packed into "
                               f"{copy.dst.buffer.dtype}", copy.loc,
                               f"copy it into a tile of int8; {allocated(copy.dst.buffer)}")
        return self._unpack(copy.src, copy.dst, copy.loc)

    def _bytes(self, region: ir.Region) -> ir.Region:
        """The same box in bytes. Its rows have to be whole bytes."""
        offset, extent = region.offsets[-1], region.extents[-1]
        for what in (offset, extent):
            if arith.multiple_of(what, self.env, self.steps) % 2:
                raise TilegenError("TG0102", f"{region.buffer.name} is {region.buffer.dtype}: a part of it has to "
                                   "start and end at even elements of a row", region.loc,
                                   "two elements share a byte")
        return replace(region, buffer=_halved(region.buffer), offsets=(*region.offsets[:-1], arith.divide(offset, 2)),
                       extents=(*region.extents[:-1], arith.divide(extent, 2)))

    def _unpack(self, src: ir.Region, dst: ir.Region, loc: Loc | None) -> ir.Stmt:
        """dst = src, element by element."""
        kept = [[d for d, extent in enumerate(r.extents) if not is_one(extent, self.env)] for r in (src, dst)]
        loops = tuple(ir.Var(ir.fresh_name(self.taken, "ijklmn"[n]), kind="loop") for n in range(len(kept[1])))

        def at(region: ir.Region, dims: list[int]) -> tuple[ir.Expr, ...]:
            place = dict(zip(dims, loops))
            return tuple(arith.add(o, place[d]) if d in place else o for d, o in enumerate(region.offsets))
        value = _element(ir.Load(src.buffer, at(src, kept[0]), loc=src.loc))
        store = ir.Store(dst.buffer, at(dst, kept[1]), value, loc=loc)
        return ir.Parallel(loops, tuple(dst.extents[d] for d in kept[1]), (store,), loc=loc) if loops else store

    def _gemm(self, gemm: ir.Gemm):
        before, changes = [], {}
        for name in ("a", "b"):
            region = getattr(gemm, name)
            wide = replace(region, buffer=self._wide(region.buffer))
            before.append(self._unpack(region, wide, gemm.loc))
            changes[name] = wide
        return (*before, replace(gemm, **changes))

    def _wide(self, buffer: ir.Buffer) -> ir.Buffer:
        """The shared tile that a tile is unpacked to."""
        if buffer.name not in self.tiles:
            name = ir.take_name(self.taken, buffer.name.removesuffix("_shared") + "_unpacked")
            wide = {"int4": int8, "uint4": uint8}[buffer.dtype.name]
            self.tiles[buffer.name] = UnpackedBuffer(name, buffer.shape, wide, "shared", buffer.name, buffer.dtype.name,
                                                     loc=buffer.loc)
        return self.tiles[buffer.name]


def _element(load: ir.Load) -> ir.Expr:
    """Four bits of a byte; of int4 with the sign that their highest bit is."""
    last = load.indices[-1]
    byte = ir.Load(_halved(load.buffer), (*load.indices[:-1], arith.divide(last, 2)), loc=load.loc)
    shift = arith.multiply(arith.modulo(last, 2), 4)
    value = arith.binary("&", arith.binary(">>", byte, shift), ir.Const(15))
    if load.dtype.kind == "uint":
        return value
    return arith.subtract(arith.binary("^", value, ir.Const(8)), 8)

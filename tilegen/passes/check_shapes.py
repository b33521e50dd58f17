"""Checks what tile operations require of their operands: scopes, dtypes, extents.

Precondition: the kernel as parsed. Effect: none; the kernel is returned as it is, or TilegenError is
raised at the user's line. Extents are compared as numbers for the present knobs, sizes by their form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilegen import arith, ir
from tilegen.dtypes import DType
from tilegen.errors import Loc, TilegenError
from tilegen.language.regions import is_one, same_extent, squeezed
from tilegen.language.text import allocated, shape_text, show
from tilegen.passes.ranges import knob_values

Numbers = Mapping[str, int | float | bool]


def check_shapes(kernel: ir.Kernel, target=None) -> ir.Kernel:
    """`kernel`, when all of its tile operations fit. Raises TG0101, TG0102, TG0103, TG0104, TG0106.

    Before: T.gemm(A_shared (128, 32), B_shared (64, 128), C_local). After: TG0104 with both operands marked.
    """
    numbers = knob_values(kernel)
    for node in _reached(kernel.body, numbers):
        match node:
            case ir.Copy():
                _copy(node, numbers)
            case ir.Gemm():
                _gemm(node, numbers)
            case ir.Reduce():
                _reduce(node, numbers)
            case ir.Vote():
                _scope(node.src.buffer, ("fragment", "shared"), f"T.{node.op}_of: the tile", node.src.loc)
            case ir.Scan():
                _scan(node, numbers)
            case ir.Atomic():
                _scope(node.buffer, ("global", "shared"), "an atomic update", node.loc)
    return kernel


def _reached(statements: tuple[ir.Stmt, ...], numbers: Numbers) -> Iterator[ir.Stmt]:
    """All statements but those of branches that the present knobs exclude."""
    for node in statements:
        yield node
        if isinstance(node, ir.If):
            taken = arith.evaluate(node.condition, numbers)
            blocks = [node.then] * (taken is not False) + [node.otherwise] * (taken is not True)
        else:
            blocks = [getattr(node, "body", ())]
        for block in blocks:
            yield from _reached(block, numbers)


def _extents(region: ir.Region, numbers: Numbers) -> str:
    """The extents for a message: as numbers where they are known."""
    values = [ir.Const(number) if (number := _number(e, numbers)) is not None else e for e in region.extents]
    return shape_text(tuple(values))


def _number(extent: ir.Expr, numbers: Numbers):
    return arith.evaluate(extent, numbers)


def _scope(buffer: ir.Buffer, allowed: tuple[str, ...], role: str, loc: Loc | None, hint: str = "") -> None:
    if buffer.scope not in allowed:
        kind = {"global": "a global tensor", "var": "a variable"}.get(buffer.scope, f"a {buffer.scope} tile")
        wanted = " or ".join("a global tensor" if s == "global" else f"a {s} tile" for s in allowed)
        raise TilegenError("TG0103", f"{role} has to be {wanted}, and {buffer.name} is {kind}", loc,
                           hint or allocated(buffer))


# ---- T.copy --------------------------------------------------------------------------------------
def _copy(node: ir.Copy, numbers: Numbers) -> None:
    source, target = squeezed(node.src.extents, numbers), squeezed(node.dst.extents, numbers)
    if len(source) == len(target) and all(same_extent(a, b, numbers) for a, b in zip(source, target)):
        return
    raise TilegenError("TG0101", f"T.copy: {node.src.buffer.name} gives {_extents(node.src, numbers)}, "
                       f"{node.dst.buffer.name} takes {_extents(node.dst, numbers)}", node.src.loc
                       or node.loc,
                       f"{node.dst.buffer.name}: {allocated(node.dst.buffer)}", spans=_spans(node.src,
                                                                                             node.dst))


def _spans(*regions: ir.Region) -> tuple[Loc, ...]:
    return tuple(region.loc for region in regions if region.loc is not None)


# ---- T.gemm --------------------------------------------------------------------------------------
def _gemm(node: ir.Gemm, numbers: Numbers) -> None:
    for name, region in (("A", node.a), ("B", node.b)):
        _scope(region.buffer, ("shared", "fragment"), f"T.gemm: {name}", region.loc,
               f"T.copy {region.buffer.name} into a shared tile first" if region.buffer.scope == "global"
               else "")
    _scope(node.c.buffer, ("fragment",), "T.gemm: the accumulator C", node.c.loc,
           f"allocate {node.c.buffer.name} with T.alloc_fragment, and T.copy it out after the loop")
    _gemm_dtypes(node)
    a, b, c = (_matrix(region, numbers) for region in (node.a, node.b, node.c))
    m, k = a[::-1] if node.transpose_a else a
    k_of_b, n = b[::-1] if node.transpose_b else b
    if not same_extent(k, k_of_b, numbers):
        raise _inner_sizes(node, k, numbers)
    for side, own, wanted, other in (("rows", c[0], m, node.a), ("columns", c[1], n, node.b)):
        if not same_extent(own, wanted, numbers):
            raise TilegenError("TG0104", f"{_product(node)}: {node.c.buffer.name} is {_extents(node.c, numbers)}, but "
                               f"{other.buffer.name} {_extents(other, numbers)} gives "
                               f"{_text(wanted, numbers)} {side}",
                               node.c.loc or node.loc, f"{node.c.buffer.name} needs {_text(wanted, numbers)} "
                               f"{side}; "
                               f"{allocated(node.c.buffer)}", spans=_spans(node.c, other))


def _product(node: ir.Gemm) -> str:
    """What the kernel calls the operation."""
    return "T.gemm_warp" if isinstance(node.policy, tuple) else "T.gemm"


def _inner_sizes(node: ir.Gemm, k: ir.Expr, numbers: Numbers) -> TilegenError:
    side = "columns" if node.transpose_b else "rows"
    marks = [f"{r.buffer.name} is {_extents(r, numbers)}{' (transposed)' if t else ''}"
             for r, t in ((node.a, node.transpose_a), (node.b, node.transpose_b))]
    return TilegenError("TG0104", f"{_product(node)}: the inner sizes differ: {', '.join(marks)}", node.a.loc
                        or node.loc,
                        f"{node.b.buffer.name} needs {_text(k, numbers)} {side}; {allocated(node.b.buffer)}",
                        spans=_spans(node.a, node.b))


def _text(extent: ir.Expr, numbers: Numbers) -> str:
    number = _number(extent, numbers)
    return show(extent) if number is None else str(number)


def _matrix(region: ir.Region, numbers: Numbers) -> tuple[ir.Expr, ir.Expr]:
    """The two extents of an operand, without extents of 1 in front of them."""
    extents = list(region.extents)
    while len(extents) > 2 and is_one(extents[0], numbers):
        del extents[0]
    if len(extents) != 2:
        raise TilegenError("TG0106", f"T.gemm: {region.buffer.name} is no matrix: its extents are "
                           f"{_extents(region, numbers)}", region.loc,
                           "give a tile or a slice of two dimensions")
    return extents[0], extents[1]


def _gemm_dtypes(node: ir.Gemm) -> None:
    a, b, c = node.a.buffer.dtype, node.b.buffer.dtype, node.c.buffer.dtype
    both_tiny = a.is_float and b.is_float and a.bits == b.bits == 8
    if a != b and not both_tiny:
        raise TilegenError("TG0102", f"{_product(node)}: {node.a.buffer.name} is {a}, {node.b.buffer.name} is {b}",
                           node.a.loc or node.loc, "T.copy one of them into a tile of the other's dtype",
                           spans=_spans(node.a, node.b))
    if not _accumulates(a, c):
        raise TilegenError("TG0102", f"{_product(node)}: products of {a} cannot be accumulated in {c}", node.c.loc
                           or node.loc,
                           f"allocate {node.c.buffer.name} as {'float32' if a.is_float else 'int32'}")


def _accumulates(operand: DType, accumulator: DType) -> bool:
    if accumulator.name == "tfloat32":
        return False
    if operand.is_float:
        return accumulator.is_float and accumulator.bits >= operand.bits
    return operand.is_integer and accumulator.is_integer and accumulator.bits >= max(operand.bits, 32)


# ---- T.reduce ------------------------------------------------------------------------------------
def _reduce(node: ir.Reduce, numbers: Numbers) -> None:
    name = f"T.reduce_{node.op}"
    for role, region in (("buffer", node.src), ("out", node.dst)):
        _scope(region.buffer, ("fragment", "shared", "local"), f"{name}: {role}", region.loc,
               f"T.copy {region.buffer.name} into a fragment first" if region.buffer.scope == "global"
               else "")
        if region.buffer.dtype.kind == "bool":
            raise TilegenError("TG0102", f"{name} does not take bool", region.loc, "make it an int32 tile")
        if node.op.startswith("bit") and not region.buffer.dtype.is_integer:
            raise TilegenError("TG0102", f"{name} takes integers, and {region.buffer.name} is {region.buffer.dtype}",
                               region.loc, allocated(region.buffer))
    kept = node.src.extents[:node.dim] + node.src.extents[node.dim + 1:]
    wanted, given = squeezed(kept, numbers), squeezed(node.dst.extents, numbers)
    if len(wanted) == len(given) and all(same_extent(a, b, numbers) for a, b in zip(wanted, given)):
        return
    shape = _extents(ir.Region(node.src.buffer, (), kept or (ir.Const(1),)), numbers)
    raise TilegenError("TG0101", f"{name}: {node.src.buffer.name} {_extents(node.src, numbers)} over "
                       "dimension "
                       f"{node.dim} gives {shape}, {node.dst.buffer.name} is {_extents(node.dst, numbers)}",
                       node.dst.loc or node.loc, f"{node.dst.buffer.name} needs the shape {shape}; "
                       f"{allocated(node.dst.buffer)}", spans=_spans(node.src, node.dst))


# ---- T.cumsum, T.cummax --------------------------------------------------------------------------
def _scan(node: ir.Scan, numbers: Numbers) -> None:
    name = f"T.cum{node.op}"
    for role, region in (("src", node.src), ("dst", node.dst)):
        _scope(region.buffer, ("fragment", "shared"), f"{name}: {role}", region.loc,
               f"T.copy {region.buffer.name} into a fragment first" if region.buffer.scope == "global" else "")
        if region.buffer.dtype.kind == "bool":
            raise TilegenError("TG0102", f"{name} does not take bool", region.loc, "make it an int32 tile")
        if region.buffer.scope == "fragment" and region.extents != region.buffer.shape:
            raise TilegenError("TG0208", f"{name} takes a fragment as a whole, not a part of {region.buffer.name}",
                               region.loc or node.loc, "go through a shared tile, whose parts can be taken")
    source, target = node.src.extents, node.dst.extents
    if len(source) == len(target) and all(same_extent(a, b, numbers) for a, b in zip(source, target)):
        return
    raise TilegenError("TG0101", f"{name}: {node.src.buffer.name} is {_extents(node.src, numbers)}, "
                       f"{node.dst.buffer.name} is {_extents(node.dst, numbers)}", node.dst.loc or node.loc,
                       f"{node.dst.buffer.name}: {allocated(node.dst.buffer)}", spans=_spans(node.src, node.dst))

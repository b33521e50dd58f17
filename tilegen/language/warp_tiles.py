"""Products whose tile the kernel divides among the warps by itself: T.gemm_warp."""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.language.builder import Reread, WarpTiles, current, operation
from tilegen.language.text import allocated, describe
from tilegen.language.values import as_flag, as_number, as_region

WARP = 32                # threads, on every target
_NEEDS_TWO = "give a tile or a slice of two dimensions"


@operation(takes_tiles=True)
def gemm_warp(A, B, C, tile_shape, transpose_A=False, transpose_B=False, clear_accum=False) -> None:
    """C += A @ B, each warp of 32 threads computing a tile of tile_shape = (rows, columns).

    C is a fragment that was allocated with the shape tile_shape; from then on it is the tile of the block,
    of (rows of A) x (columns of B), for T.clear, T.copy and T.Parallel too. The last dimension of A or B
    may be padded: rows and columns beyond those of the warps are not used. Operands as in T.gemm. Raises
    TG0104 where the warps cannot cover the product or C has another shape, TG0103 for a wrong scope.
    """
    builder = current()
    a, b, c = (as_region(value, f"T.gemm_warp: {name}", builder.argument(name))
               for name, value in (("A", A), ("B", B), ("C", C)))
    turned_a, turned_b, clear = (as_flag(value, name, builder.argument(name)) for name, value in
                                 (("transpose_A", transpose_A), ("transpose_B", transpose_B),
                                  ("clear_accum", clear_accum)))
    _require_scopes(a, b, c)
    tile = _tile(tile_shape)
    found = builder.warp_tiles.get(c.buffer.loc)
    _require_tile(c, tile, found)
    covered = _covered(a, b, turned_a, turned_b, tile)
    if found is None:
        raise Reread(c.buffer.loc, covered)
    if covered.warps != found.warps:
        raise TilegenError("TG0104", f"T.gemm_warp: {_grid(covered)} here, but {_grid(found)} elsewhere add to "
                           f"{c.buffer.name}", builder.loc, "use another fragment for this product")
    a = _trimmed(a, -1 if turned_a else -2, found.shape[0])
    b = _trimmed(b, -2 if turned_b else -1, found.shape[1])
    builder.emit(ir.Gemm(a, b, c, turned_a, turned_b, clear, found.warps, loc=builder.loc))


def _require_scopes(a: ir.Region, b: ir.Region, c: ir.Region) -> None:
    builder = current()
    for name, region, allowed in (("A", a, ("shared", "fragment")), ("B", b, ("shared", "fragment")),
                                  ("C", c, ("fragment",))):
        buffer = region.buffer
        if buffer.scope not in allowed:
            wanted = " or ".join(f"a {scope} tile" for scope in allowed)
            raise TilegenError("TG0103", f"T.gemm_warp: {name} has to be {wanted}, and {describe(buffer)} is not",
                               builder.argument(name), "T.copy it into a shared tile first" if name != "C" else
                               f"allocate {buffer.name} with T.alloc_fragment, and T.copy it out after the loop")
        if len(region.extents) < 2:
            raise TilegenError("TG0106", f"T.gemm_warp: {buffer.name} is no matrix", builder.argument(name),
                               _NEEDS_TWO)
    if c.extents != c.buffer.shape or len(c.extents) != 2:
        raise TilegenError("TG0104", f"T.gemm_warp: C has to be a whole fragment of two dimensions, not "
                           f"{describe(c)}", builder.argument("C"), "allocate one with the shape of a warp's tile")


def _tile(tile_shape) -> tuple[int, int]:
    """The two positive numbers of tile_shape."""
    place = current().argument("tile_shape")
    parts = tile_shape if isinstance(tile_shape, (tuple, list)) else ()
    if len(parts) != 2:
        raise TilegenError("TG0005", f"T.gemm_warp: tile_shape is a pair (rows, columns), not {describe(tile_shape)}",
                           place, "write the rows and columns that a warp computes: tile_shape=(32, 64)")
    rows, columns = (int(as_number(part, "tile_shape", place)) for part in parts)
    if rows <= 0 or columns <= 0:
        raise TilegenError("TG0110", f"T.gemm_warp: tile_shape ({rows}, {columns}) is not positive", place)
    return rows, columns


def _require_tile(c: ir.Region, tile: tuple[int, int], found: WarpTiles | None) -> None:
    """That C was allocated with the shape of a warp's tile."""
    builder = current()
    own = found.tile if found else tuple(builder.number(extent) for extent in c.buffer.shape)
    if own != tile:
        places = builder.argument("C"), builder.argument("tile_shape")
        raise TilegenError("TG0104", f"T.gemm_warp: {c.buffer.name} was allocated as {own}, tile_shape is {tile}",
                           places[0], f"{c.buffer.name} needs the shape {tile}; {allocated(c.buffer)}",
                           spans=tuple(place for place in places if place))


def _covered(a: ir.Region, b: ir.Region, turned_a: bool, turned_b: bool, tile: tuple[int, int]) -> WarpTiles:
    """The grid of warps whose tiles cover the product. Raises TG0104 where there is none."""
    builder = current()
    rows, columns = a.extents[-1 if turned_a else -2], b.extents[-2 if turned_b else -1]
    sizes = [int(as_number(extent, f"T.gemm_warp: the size of {region.buffer.name}", builder.argument(name)))
             for extent, region, name in ((rows, a, "A"), (columns, b, "B"))]
    warps = sizes[0] // tile[0], sizes[1] // tile[1]
    padded = turned_a, not turned_b                   # whether the side lies along the rows of memory
    threads = int(arith.evaluate(arith.product(builder.threads), builder.numbers) or 0)
    whole = all(size % part == 0 or may for size, part, may in zip(sizes, tile, padded))
    if not whole or threads != WARP * warps[0] * warps[1]:
        places = builder.argument("A"), builder.argument("B")
        raise TilegenError(
            "TG0104", f"T.gemm_warp: {threads} threads are {threads / WARP:g} warps of {tile[0]} x {tile[1]}, which do "
            f"not cover {sizes[0]} x {sizes[1]}, the rows of {a.buffer.name} and the columns of {b.buffer.name}",
            places[0], f"{-(-sizes[0] // tile[0])} x {-(-sizes[1] // tile[1])} warps would: change threads= or "
            "tile_shape, or slice padding off", spans=tuple(place for place in places if place))
    shape = tuple(_named(extent, count * part) for extent, count, part in zip((rows, columns), warps, tile))
    return WarpTiles(tile, warps, shape)


def _named(extent: ir.Expr, value: int) -> ir.Expr:
    """`value` in the kernel's own words where `extent` has them: block_N for block_N + 4 of which 4 are padding."""
    numbers = current().numbers
    for node in ir.walk(extent):
        kinds = {n.kind for n in ir.walk(node) if isinstance(n, ir.Var)}
        if kinds == {"knob"} and arith.evaluate(node, numbers) == value:
            return node
    return ir.Const(value)


def _trimmed(region: ir.Region, dimension: int, extent: ir.Expr) -> ir.Region:
    """`region` without what padding adds to a dimension."""
    extents = list(region.extents)
    extents[dimension] = extent
    return replace(region, extents=tuple(extents))


def _grid(tiles: WarpTiles) -> str:
    return f"{tiles.warps[0]} x {tiles.warps[1]} warps"

"""Stages of random programs about tiles on their way: pipelined loops, products of fragments, products by
warps, asynchronous copies, scans, votes and second names."""

from __future__ import annotations

from program_draft import Draft
from program_values import Value, multiplied, summed

_ONE = Value(2.0, 0.125)


def _add(draft: Draft, sums: str, tile: str, factor: str = "1.0") -> list[str]:
    """A nest that adds a tile, or moved elements of it, to `sums`."""
    place = draft.choose(("i, j", "i, (j + 1) % BN", "BM - 1 - i, j"))
    return ["for i, j in T.Parallel(BM, BN):", f"    {sums}[i, j] += {tile}[{place}] * {factor}"]


def pipelined(draft: Draft) -> None:
    """A pipelined loop of any kind: conditions, places that are loaded or carried, tiles that are changed in place
    or read after the loop, one or two tiles, one to five stages."""
    source = draft.tensor("P", "M, N", "float32", "dyadic")
    tile = draft.tile("shared", "mn", _ONE)
    steps = -(-draft.sizes["M"] // draft.sizes["BM"]) + 1
    sums = draft.tile("fragment", "mn", summed(Value(8.0, 0.0625), 4 * steps, "float32"))
    kind = draft.choose(("plain", "condition", "changed", "loaded", "carried", "after", "late"))
    place = "k, bx * BN"
    if kind == "loaded":
        table = draft.tensor("I", draft.choose(("8", "2")), "int32", "integer")      # elements outside are zero
        place = draft.choose((f"{table}[k], bx * BN", "row, bx * BN"))
    body = [f"row = {table}[k]"] if "row" in place else []
    if kind == "carried":
        at = draft.fresh("at")
        draft.write(f'{at} = T.alloc_var("int32", init=0)')
        place = f"{at}, bx * BN"
    load, add = f"T.copy({source}[{place}], {tile.name})", _add(draft, sums.name, tile.name)
    if kind == "condition":
        condition = draft.choose(("k % 2 == 0", "k <= bx", "k > 0 and by == 0"))
        body += [f"if {condition}:", *(f"    {line}" for line in (load, *add))]
    elif kind == "late":
        body += ["if k > 1:", *(f"    {line}" for line in add), load]
    else:
        body += [load, *add]
    if kind in ("changed", "after"):
        body += ["for i, j in T.Parallel(BM, BN):", f"    {tile.name}[i, j] = {tile.name}[i, j] * 0.5 + 1.0",
                 *_add(draft, sums.name, tile.name, "0.5")]
    if kind == "carried":
        body += [f"{at} = {at} + 2"]
    if draft.choose((False, True)):
        other = draft.tensor("P", "M, N", "float32", "dyadic")
        second = draft.tile("shared", "mn", _ONE)
        position = draft.choose((0, len(body)))
        body[position:position] = [f"T.copy({other}[by * BM + k, bx * BN], {second.name})"]
        body += _add(draft, sums.name, second.name)
    stages, first = draft.choose((2, 3, 1, 5)), draft.choose(("", "", "1, "))
    first = "" if kind == "after" else first
    draft.write(f"T.clear({sums.name})",
                f"for k in T.Pipelined({first}T.ceildiv(M, BM) + {draft.choose((0, 1))}, num_stages={stages}):",
                *(f"    {line}" for line in body))
    if kind == "after":
        draft.write(*_add(draft, sums.name, tile.name))
    draft.keep(sums)


def fragment_product(draft: Draft) -> None:
    """A product whose first operand is a fragment, of a tile that was computed or loaded."""
    dtype = draft.choose(("float16", "float32", "bfloat16"))
    one = Value(2.0, 0.125, 0.0, dtype)
    a, b = draft.tensor("A", "M, K", dtype, "dyadic"), draft.tensor("B", "K, N", dtype, "dyadic")
    x, y = draft.tile("fragment", "mk", one), draft.tile("shared", "kn", one)
    count = -(-draft.sizes["K"] // draft.sizes["BK"]) * draft.sizes["BK"]
    c = draft.tile("fragment", "mn", summed(multiplied(one, one), count, "float32"))
    loop = draft.choose(("T.serial(T.ceildiv(K, BK))", "T.Pipelined(T.ceildiv(K, BK), num_stages=2)",
                         "T.Pipelined(T.ceildiv(K, BK), num_stages=3)"))
    change = ("for i, q in T.Parallel(BM, BK):", f"    {x.name}[i, q] = -{x.name}[i, q]") if draft.choose((0, 1)) else ()
    draft.write(f"T.clear({c.name})", f"for k in {loop}:", f"    T.copy({a}[by * BM, k * BK], {x.name})",
                f"    T.copy({b}[k * BK, bx * BN], {y.name})", *(f"    {line}" for line in change),
                f"    T.gemm({x.name}, {y.name}, {c.name})")
    draft.keep(c)


def warp_product(draft: Draft) -> None:
    """A product by the warps' own tiles, with copies that the program waits for itself."""
    sizes = draft.sizes
    rows, columns = draft.choose((16, 32)), draft.choose((16, 32))
    rows, columns = min(rows, sizes["BM"]), min(columns, sizes["BN"])
    threads = 32 * (sizes["BM"] // rows) * (sizes["BN"] // columns)
    if draft.threads not in (0, threads) or threads > 256:
        return fragment_product(draft)
    draft.threads = threads
    one = Value(2.0, 0.125, 0.0, "float16")
    a, b = draft.tensor("A", "M, K", "float16", "dyadic"), draft.tensor("B", "K, N", "float16", "dyadic")
    x, y = draft.tile("shared", "mk", one), draft.tile("shared", "kn", one)
    count = -(-sizes["K"] // sizes["BK"]) * sizes["BK"]
    c = draft.tile("fragment", "mn", summed(multiplied(one, one), count, "float32"), f"({rows}, {columns})")
    stages = draft.choose((2, 3, 0))
    copy = draft.choose(("T.copy_async", "T.copy"))
    draft.write(f"T.clear({c.name})", f"for k in T.Pipelined(T.ceildiv(K, BK), num_stages={stages}):",
                f"    {copy}({a}[by * BM, k * BK], {x.name})", f"    {copy}({b}[k * BK, bx * BN], {y.name})",
                *(["    T.sync()"] if copy == "T.copy_async" else []),
                f"    T.gemm_warp({x.name}, {y.name}, {c.name}, tile_shape=({rows}, {columns}))")
    draft.keep(c)


def scan(draft: Draft) -> None:
    """Running sums or maxima of a tile."""
    sources = [t for t in draft.of_dims("mn", "fragment", "shared") if t.value.exact and t.value.high < 1000]
    if not sources:
        return fragment_product(draft)
    source = draft.choose(sources)
    dim, count = draft.choose(((1, "BN"), (0, "BM")))
    name = draft.choose(("cumsum", "cummax"))
    value = source.value
    dtype = value.dtype if value.dtype in ("int32", "float64") else "int32" if value.integer else "float32"
    value = summed(value, draft.sizes[count], dtype) if name == "cumsum" else value.stored(dtype)
    tile = draft.tile(draft.choose(("fragment", "shared")), "mn", value)
    options = draft.choose(("", ", reverse=True"))
    draft.write(f"T.{name}({source.name}, {tile.name}, dim={dim}{options})")
    draft.keep(tile)


def vote(draft: Draft) -> None:
    """A tile that is changed where a vote of the block says so."""
    sources = [t for t in draft.of_dims("mn", "fragment", "shared") if t.value.exact]
    targets = [t for t in sources if not t.value.integer and t.value.dtype == "float32"]
    if not targets:
        return fragment_product(draft)
    source, target = draft.choose(sources), draft.choose(targets)
    condition = draft.choose((f"T.any_of({source.name})", f"not T.all_of({source.name})", f"T.all_of({source.name})"))
    draft.write(f"if {condition}:", "    for i, j in T.Parallel(BM, BN):",
                f"        {target.name}[i, j] = {target.name}[i, j] * 0.5")
    target.value = Value(target.value.high, target.value.grain / 2, 0.0, target.value.dtype).settled()


def view(draft: Draft) -> None:
    """A shared tile that is also written by its other name, as one row."""
    value = Value(2.0, 0.125)
    tensor = draft.tensor("A", "M, N", "float32", "dyadic")
    tile, row = draft.tile("shared", "mn", Value(4.0, 0.0625)), draft.fresh("row")
    draft.write(f"{row} = T.reshape({tile.name}, (BM * BN,))", f"T.copy({tensor}[by * BM, bx * BN], {tile.name})",
                "for e in T.Parallel(BM * BN):", f"    {row}[e] = {row}[e] * 0.5 + {value.high}")
    draft.keep(tile)


def grouped_reduction(draft: Draft) -> None:
    """Row sums of a product or a pipelined sum, spread over the tile again."""
    sources = [t for t in draft.of_dims("mn", "fragment") if t.value.exact and not t.value.integer
               and t.value.high < 1000]
    if not sources:
        return pipelined(draft)
    source = draft.choose(sources)
    dim, axis, count, index = draft.choose(((1, "m", "BN", "i"), (0, "n", "BM", "j")))
    dtype = "float64" if source.value.dtype == "float64" else "float32"
    total = summed(source.value, draft.sizes[count], dtype)
    rows = draft.tile("fragment", axis, total)
    tile = draft.tile("fragment", "mn", summed(total, 2, dtype))
    draft.write(f"T.reduce_sum({source.name}, {rows.name}, dim={dim})", "for i, j in T.Parallel(BM, BN):",
                f"    {tile.name}[i, j] = {rows.name}[{index}] - {source.name}[i, j]")
    draft.keep(tile)


STAGES = (pipelined, fragment_product, warp_product, scan, vote, view, grouped_reduction, pipelined)

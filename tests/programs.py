"""Random tile programs as source text in the language of kernels, always valid.

`programs()` is a hypothesis strategy that shrinks to short programs; `draw_program(seed)` gives the
program of a seed. Sizes are ragged, sometimes 1, sometimes known at launch only.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import program_pipelines
from hypothesis import strategies
from program_draft import Draft, Program, Tile
from program_expressions import Choose, Term, as_float, expression, limited
from program_values import Value, added, chosen, computed, multiplied, summed

_FLOATS = ("float32", "float16", "bfloat16", "float64")
_EIGHT_BITS = ("float8_e4m3", "float8_e5m2")


# ---- Sources of tiles ----------------------------------------------------------------------------
def _input(draft: Draft) -> Value:
    dtype = draft.choose((*_FLOATS, "int32", "int8", "int64", *_FLOATS, "int32", *_EIGHT_BITS))
    return Value(8.0, 1.0, 0.0, dtype) if dtype.startswith("int") else Value(2.0, 0.125, 0.0, dtype)


def load_tile(draft: Draft) -> None:
    """A tile of a global tensor, by T.copy, with conversion at times."""
    value = _input(draft)
    fill = "integer" if value.integer else "dyadic"
    tensor = draft.tensor("A", "M, N", value.dtype, fill)
    scope = draft.choose(("fragment", "shared"))
    held = value.stored(draft.choose((value.dtype, "int32" if value.integer else "float32")))
    tile = draft.tile(scope, "mn", held)
    corner = f"{tensor}[by * BM, bx * BN]"
    box = f"{tensor}[by * BM:(by + 1) * BM, bx * BN:bx * BN + BN]"
    draft.write(f"T.copy({draft.choose((corner, box))}, {tile.name})")
    draft.keep(tile)


def load_vector(draft: Draft) -> None:
    """A row or a column of a global tensor."""
    axis, size, block = draft.choose((("m", "M", "by * BM"), ("n", "N", "bx * BN")))
    tensor = draft.tensor("V", size, "float32", "dyadic")
    tile = draft.tile(draft.choose(("shared", "fragment")), axis, Value(2.0, 0.125))
    draft.write(f"T.copy({tensor}[{block}], {tile.name})")
    draft.keep(tile)


# ---- Work on tiles -------------------------------------------------------------------------------
def _leaves(draft: Draft) -> list[Term]:
    recent = draft.tiles + 2 * draft.tiles[-2:]
    leaves = [(draft.element(t, moved=True), t.value) for t in recent]
    return leaves + [("by * BM + i", Value(float(draft.sizes["M"] + draft.sizes["BM"]), dtype="int32")),
                     ("j - i", Value(64.0, dtype="int32"))]


def _result(draft: Draft, value: Value) -> Value:
    dtype = "int32" if value.integer else draft.choose(("float32", "float32", "float16", "bfloat16"))
    return value.stored("float64" if value.dtype == "float64" else dtype)


def elementwise(draft: Draft) -> None:
    """A new tile from an expression of tiles, given a name at times."""
    text, value = limited(expression(draft.choose, _leaves(draft)), 1000.0)
    tile = draft.tile(draft.choose(("fragment", "shared")), "mn", _result(draft, value))
    target = draft.element(tile)
    body = draft.choose(([f"{target} = {text}"], [f"x = {text}", f"{target} = x"]))
    draft.write("for i, j in T.Parallel(BM, BN):", *(f"    {line}" for line in body))
    draft.keep(tile)


def branches(draft: Draft) -> None:
    """A new tile with a condition that differs between its elements."""
    text, value = as_float(limited(expression(draft.choose, _leaves(draft), 1), 1000.0))
    other, second = as_float(limited(expression(draft.choose, _leaves(draft), 1), 1000.0))
    tile = draft.tile(draft.choose(("fragment", "shared")), "mn", _result(draft, chosen(value, second)))
    target = draft.element(tile)
    condition = draft.choose(("i < j", "(i + j) % 2 == 0", "i == 0 or j > 2", "0 < i <= 5 and not j == 3"))
    body = draft.choose(([f"{target} = {text}", f"if {condition}:", f"    {target} = {other}"],
                         [f"if {condition}:", f"    {target} = {text}", "else:", f"    {target} = {other}"]))
    draft.write("for i, j in T.Parallel(BM, BN):", *(f"    {line}" for line in body))
    draft.keep(tile)


def update(draft: Draft) -> None:
    """An existing tile changed in place, under a condition or in a while loop that the block shares."""
    tile = draft.choose(draft.of_dims("mn", "fragment", "shared"))
    element, value = draft.element(tile), tile.value
    one, small = ("T.int32(1)", 1.0) if value.integer else ("0.5", 0.5)
    times = draft.choose((1, 2))
    header = draft.choose(("for once in range(1):", "if by == 0:", "if bx > 0 or M > 20:", "while"))
    if header == "while":
        count = draft.fresh("count")
        draft.write(f'{count} = T.alloc_var("int32", init=0)',
                    f"while {count} < {times}:", f"    {count} += 1")
    else:
        times = 1
        draft.write(header)
    operation = draft.choose((f"{element} += {one}", f"{element} = T.max({element}, {one}) - {one}"))
    draft.write("    for i, j in T.Parallel(BM, BN):", f"        {operation}")
    for _ in range(times):
        changed = added(value, Value(small, small, 0.0, value.dtype)).stored(value.dtype)
        value = replace(chosen(value, changed), dtype=value.dtype, error=value.error + changed.error)
    tile.value = value


def gather(draft: Draft) -> None:
    """A tile read from a global tensor element by element: shifted past its edge, or transposed."""
    dtype = draft.choose(_FLOATS)
    turned = draft.choose((False, True))
    tensor = draft.tensor("G", "N, M" if turned else "M, N", dtype, "dyadic")
    tile = draft.tile(draft.choose(("shared", "fragment")), "mn", Value(2.0, 0.125, 0.0, dtype))
    indices = "bx * BN + j, by * BM + i" if turned else draft.choose(
        ("by * BM + i, bx * BN + j", "by * BM + i + 1, bx * BN + j", "by * BM + i, bx * BN + j - 2"))
    draft.write("for i, j in T.Parallel(BM, BN):", f"    {draft.element(tile)} = {tensor}[{indices}]")
    draft.keep(tile)


def reduction(draft: Draft) -> None:
    """A row or column of sums, maxima and so on."""
    sources = draft.of_dims("mn", "fragment")
    if not sources:
        return load_tile(draft)
    source = draft.choose(sources)
    dim, axis, count = draft.choose(((1, "m", "BN"), (0, "n", "BM")))
    name = draft.choose(("sum", "max", "min", "absmax", "abssum"))
    value = replace(source.value, dtype=computed(source.value.dtype, source.value.dtype))
    value = summed(value, draft.sizes[count], value.dtype) if name.endswith("sum") else value
    tile = draft.tile("fragment", axis, value)
    clear = draft.choose((True, False))
    if not clear:
        draft.write(f"T.fill({tile.name}, 0)")
    draft.write(f"T.reduce_{name}({source.name}, {tile.name}, dim={dim}{'' if clear else ', clear=False'})")
    draft.keep(tile)


def transfer(draft: Draft) -> None:
    """A tile copied to another scope and dtype, in full or by halves."""
    sources = draft.of_dims("mn", "fragment", "shared")
    if not sources:
        return load_tile(draft)
    source = draft.choose(sources)
    scope = "shared" if source.scope == "fragment" else "fragment"
    tile = draft.tile(scope, "mn", _result(draft, source.value))
    if source.scope == "shared" and draft.sizes["BM"] % 2 == 0 and draft.choose((False, True)):
        draft.write("for half in T.serial(2):",
                    f"    T.copy({source.name}[half * (BM // 2):half * (BM // 2) + BM // 2, :],",
                    f"           {tile.name}[half * (BM // 2):half * (BM // 2) + BM // 2, :])")
    else:
        draft.write(f"T.copy({source.name}, {tile.name})")
    draft.keep(tile)


def accumulation(draft: Draft) -> None:
    """A serial loop that adds to a tile, with break or continue at times."""
    text, value = as_float(limited(expression(draft.choose, _leaves(draft), 1), 100.0))
    steps = draft.choose((2, 1, 3))
    dtype = "float64" if value.dtype == "float64" else "float32"
    tile = draft.tile("fragment", "mn", summed(multiplied(value, Value(3.0, dtype=dtype)), steps, dtype))
    loop = draft.choose(("range", "T.serial", "T.unroll"))
    draft.write(f"T.clear({tile.name})", f"for s in {loop}({steps}):")
    if loop != "T.unroll":
        leave = draft.choose(((), ("if s == 1:", "    continue"), ("if s > 1:", "    break")))
        draft.write(*(f"    {line}" for line in leave))
    draft.write("    for i, j in T.Parallel(BM, BN):",
                f"        {draft.element(tile)} += ({text}) * T.cast(s + 1, \"{dtype}\")")
    draft.keep(tile)


def product(draft: Draft) -> None:
    """A matrix product over a loop of copies."""
    dtype = draft.choose(("float32", "float16", "bfloat16", "int8", "float64"))
    accumulator = {"int8": "int32", "float64": "float64"}.get(dtype, "float32")
    a_turned, b_turned = draft.choose((False, True)), draft.choose((False, True))
    fill = "integer" if dtype == "int8" else "dyadic"
    a = draft.tensor("A", "K, M" if a_turned else "M, K", dtype, fill)
    b = draft.tensor("B", "N, K" if b_turned else "K, N", dtype, fill)
    one = Value(8.0, 1.0, 0.0, dtype) if dtype == "int8" else Value(2.0, 0.125, 0.0, dtype)
    x, y = (draft.tile("shared", d, one) for d in ("km" if a_turned else "mk", "nk" if b_turned else "kn"))
    count = -(-draft.sizes["K"] // draft.sizes["BK"]) * draft.sizes["BK"]
    c = draft.tile("fragment", "mn", summed(multiplied(one, one), count, accumulator))
    stages = draft.choose((2, 3, 1, 0))
    loop = f"T.Pipelined(T.ceildiv(K, BK), num_stages={stages})" if stages else "T.serial(T.ceildiv(K, BK))"
    options = ", transpose_A=True" * a_turned + ", transpose_B=True" * b_turned
    draft.write(f"T.clear({c.name})", f"for k in {loop}:",
                f"    T.copy({a}[{'k * BK, by * BM' if a_turned else 'by * BM, k * BK'}], {x.name})",
                f"    T.copy({b}[{'bx * BN, k * BK' if b_turned else 'k * BK, bx * BN'}], {y.name})",
                f"    T.gemm({x.name}, {y.name}, {c.name}{options})")
    draft.keep(c)


def histogram(draft: Draft) -> None:
    """Atomic updates of a small tensor of integers."""
    integers = [t for t in draft.tiles if t.value.integer and t.dims == "mn" and t.value.dtype == "int32"]
    bins = draft.choose([f"{draft.element(t)} % 8" for t in integers] + ["i % 8", "(i + j) % 8"])
    name, value = draft.choose(("add", "max", "min")), draft.choose(("1", "i - j"))
    tensor = draft.tensor("H", "8", "int32", "zero")
    draft.write("for i, j in T.Parallel(BM, BN):", f"    T.atomic_{name}({tensor}[{bins}], {value})")


# ---- Results -------------------------------------------------------------------------------------
def store_tile(draft: Draft, tile: Tile) -> None:
    """A tile written to a global tensor: by T.copy, or by guarded elements."""
    dtype = tile.value.dtype
    if not tile.value.integer and tile.value.high < 30000:
        dtype = draft.choose((dtype, *_FLOATS, *_FLOATS, *(_EIGHT_BITS if tile.value.high < 400 else ())))
    error = tile.value.stored(dtype).error
    if tile.dims == "mn":
        out = draft.tensor("O", "M, N", dtype, "untouched", error)
        if draft.choose((False, True)):
            draft.write("for i, j in T.Parallel(BM, BN):",
                        f"    {out}[by * BM + i, bx * BN + j] = {draft.element(tile)}")
        else:
            draft.write(f"T.copy({tile.name}, {out}[by * BM, bx * BN])")
    elif tile.dims == "m":
        out = draft.tensor("O", "ceildiv(N, BN), M", dtype, "untouched", error)
        draft.write(f"T.copy({tile.name}, {out}[bx, by * BM])")
    else:
        out = draft.tensor("O", "ceildiv(M, BM), N", dtype, "untouched", error)
        draft.write(f"T.copy({tile.name}, {out}[by, bx * BN])")


_STAGES = (elementwise, load_tile, elementwise, product, reduction, transfer, accumulation, branches, update,
           gather, load_vector, histogram, *program_pipelines.STAGES)


def write_program(choose: Choose, tiles: tuple[int, ...] = (16, 32, 64)) -> Program:
    """A program made of the choices that `choose` takes, with tile extents among `tiles`."""
    sizes = {"BM": choose(tiles[:2]), "BN": choose(tiles), "BK": choose(tiles[:2])}
    for size, block in (("M", "BM"), ("N", "BN"), ("K", "BK")):
        tile = sizes[block]
        sizes[size] = choose((tile, tile + 3, 2 * tile, 1, 2 * tile - 1))
    draft = Draft(choose, sizes, named=choose(((), ("M",), ("M", "N", "K"))))
    load_tile(draft)
    for _ in range(choose((1, 2, 3, 4, 6))):
        if draft.bytes["shared"] < 20_000:
            choose(_STAGES)(draft)
    store_tile(draft, draft.tiles[-1])
    if choose((False, True)):
        store_tile(draft, choose(draft.tiles))
    roomy = [n for n in (128, 64, 256) if draft.bytes["fragment"] / 4 / n < 120] or [256]
    return Program(_source(draft, draft.threads or choose(roomy)), "program", tuple(draft.arguments))


def _source(draft: Draft, threads: int) -> str:
    head = ["import tilegen.language as T", ""]
    for name, number in draft.sizes.items():
        used = any(name in text.replace(",", " ").split() for text in draft.shapes.values())
        if name in draft.named:
            head += [f'{name} = T.dynamic("{name}")'] if used else []
        else:
            head.append(f"{name} = {number}")
    params = [f'    {a.name}: T.Tensor(({draft.shapes[a.name]},), "{a.dtype}"),' for a in draft.arguments]
    launch = f"    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads={threads}) as (bx, by):"
    return "\n".join([*head, "", "", "@T.prim_func", "def program(", *params, "):", launch, *draft.lines, ""])


@strategies.composite
def programs(draw: Any, tiles: tuple[int, ...] = (16, 32, 64)) -> Program:
    """Random programs; hypothesis shrinks towards short ones."""
    return write_program(lambda options: draw(strategies.sampled_from(list(options))), tiles)


def draw_program(seed: int) -> Program:
    """The program of a seed: (source, function name, arguments)."""
    generator = random.Random(seed)
    return write_program(lambda options: options[generator.randrange(len(options))])

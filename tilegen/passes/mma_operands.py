"""How the lanes of a warp get the operands of a matrix instruction from a tile, by the tile's alignment.

A form is "matrix" (ldmatrix: rows at multiples of 16 bytes), "words" (neighbours along the depth as one load
of 32 bits, at multiples of 4 bytes), or "column" (element by element).
"""

from __future__ import annotations

from collections.abc import Iterator

from tilegen import arith, ir
from tilegen.plan import Check

MATRIX_BYTES, WORD_BYTES = 16, 4
ROW_BYTES = {"matrix": (MATRIX_BYTES, "ldmatrix needs"), "words": (WORD_BYTES, "loads of words need")}


def choose_form(region: ir.Region, along_depth: bool, env: dict, steps: dict[str, int]) -> str:
    """The form for an operand; `along_depth` says that its rows in memory run along the depth. What lies the
    other way is turned by ldmatrix where it has 16 bits."""
    alignment = _alignment(region, env, steps)
    if alignment % MATRIX_BYTES == 0 and (along_depth or region.buffer.dtype.bits == 16):
        return "matrix"
    return "words" if along_depth and alignment % WORD_BYTES == 0 else "column"


def _alignment(region: ir.Region, env: dict, steps: dict[str, int]) -> int:
    """A number of bytes that divides the place of every row."""
    pitch = arith.evaluate(region.buffer.shape[-1], env) or 1
    start = arith.multiple_of(region.offsets[-1], env, steps)
    size = region.buffer.dtype.bytes
    return next(n for n in (MATRIX_BYTES, 8, WORD_BYTES, 2, 1) if pitch * size % n == 0 and start * size % n == 0)


def form_words(gemm: ir.Gemm, forms: tuple[str, str]) -> Iterator[str]:
    """Why an operand does not come by ldmatrix, for the notes."""
    for region, form, along in ((gemm.a, forms[0], not gemm.transpose_a), (gemm.b, forms[1], gemm.transpose_b)):
        name, dtype = region.buffer.name, region.buffer.dtype
        if region.buffer.scope != "shared" or form == "matrix":
            continue
        if not along and dtype.bits != 16:
            yield f"{name} is gathered by columns: ldmatrix cannot turn {dtype}"
        else:
            how = "loaded by words of 4 bytes" if form == "words" else "gathered element by element"
            yield f"{name} is {how}: its rows do not start at multiples of {MATRIX_BYTES} bytes, as ldmatrix needs"


def form_checks(kernel: ir.Kernel, gemm: ir.Gemm, forms: tuple[str, str]) -> Iterator[Check]:
    """What a form takes from the knobs that loops around the gemm step by."""
    for region, form in zip((gemm.a, gemm.b), forms):
        least, _ = ROW_BYTES.get(form, (0, ""))
        names = arith.names(region.offsets[-1])
        for loop in ir.walk(kernel.body):
            if least and isinstance(loop, ir.For) and loop.var.name in names:
                for part in (loop.start, loop.step):
                    bytes_ = arith.multiply(ir.Const(region.buffer.dtype.bytes), part)
                    holds = arith.binary("==", arith.modulo(bytes_, ir.Const(least)), ir.Const(0))
                    if not isinstance(holds, ir.Const) and all(v.kind == "knob" for v in _variables(part)):
                        yield Check(holds, f"{region.buffer.name} is read at multiples of {least} bytes")


def _variables(expr: ir.Expr) -> list[ir.Var]:
    return [n for n in ir.walk(expr) if isinstance(n, ir.Var)]

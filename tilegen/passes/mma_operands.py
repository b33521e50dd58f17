"""How the lanes of a warp get the operands of a matrix instruction from a tile, by the tile's alignment.

A form is "matrix" (ldmatrix: rows at multiples of 16 bytes), "words" (neighbours along the depth as one load
of 32 bits, at multiples of 4 bytes), "quads" (four neighbours of 16 bits, at multiples of 8 bytes, as Volta's
instruction takes them), or "column" (element by element).
"""

from __future__ import annotations

from collections.abc import Iterator

from tilegen import arith, ir
from tilegen.instructions import MatrixInstruction
from tilegen.passes.place_annotated import stay_together
from tilegen.plan import Check

MATRIX_BYTES, QUAD_BYTES, WORD_BYTES = 16, 8, 4
ROW_BYTES = {"matrix": (MATRIX_BYTES, "ldmatrix needs"), "words": (WORD_BYTES, "loads of words need"),
             "quads": (QUAD_BYTES, "loads of 8 bytes need")}


def choose_forms(gemm: ir.Gemm, instruction: MatrixInstruction, env: dict, steps: dict[str, int]) -> tuple[str, str]:
    """The forms of A and B."""
    sides = (gemm.a, not gemm.transpose_a, "a"), (gemm.b, gemm.transpose_b, "b")
    return tuple(_form(region, along, side, instruction, _alignment(region, env, steps))
                 for region, along, side in sides)


def _form(region: ir.Region, along_depth: bool, side: str, instruction: MatrixInstruction, alignment: int) -> str:
    """The form for an operand; `along_depth` says that its rows in memory run along the depth. What lies the
    other way is turned by ldmatrix where it has 16 bits, and by Volta's instruction where it is B."""
    bits = region.buffer.dtype.bits
    if instruction.call == "quad":
        return "quads" if alignment % QUAD_BYTES == 0 and (along_depth or side == "b") else "column"
    rows = instruction.m if side == "a" else 16                      # ldmatrix gives A of 16 rows
    if alignment % MATRIX_BYTES == 0 and rows == 16 and (bits == 16 or along_depth and bits < 64):
        return "matrix"
    return "words" if along_depth and alignment % WORD_BYTES == 0 and bits < 64 else "column"


def _alignment(region: ir.Region, env: dict, steps: dict[str, int]) -> int:
    """A number of bytes that divides the place of every row."""
    pitch = arith.evaluate(region.buffer.shape[-1], env) or 1
    start = arith.multiple_of(region.offsets[-1], env, steps)
    size = region.buffer.dtype.bytes
    return next(n for n in (MATRIX_BYTES, 8, WORD_BYTES, 2, 1) if pitch * size % n == 0 and start * size % n == 0
                and stay_together(region.buffer, max(1, n // size)))


def form_words(gemm: ir.Gemm, instruction: MatrixInstruction, forms: tuple[str, str]) -> Iterator[str]:
    """Why an operand does not come by the fastest loads, for the notes."""
    best = "quads" if instruction.call == "quad" else "matrix"
    for region, form, along in ((gemm.a, forms[0], not gemm.transpose_a), (gemm.b, forms[1], gemm.transpose_b)):
        name, dtype = region.buffer.name, region.buffer.dtype
        if region.buffer.scope != "shared" or form == best:
            continue
        if dtype.bits == 64:
            yield f"{name} is loaded element by element: ldmatrix has no form for {dtype}"
        elif best == "quads" and not along:
            yield f"{name} is gathered by columns: four neighbours have to lie along the depth"
        elif not along and dtype.bits != 16:
            yield f"{name} is gathered by columns: ldmatrix cannot turn {dtype}"
        elif form == "words" and instruction.m == 8:
            yield f"{name} is loaded by words of 4 bytes, as {instruction.helper} takes 8 rows at a time"
        else:
            how = "loaded by words of 4 bytes" if form == "words" else "gathered element by element"
            reader = "as ldmatrix needs" if best == "matrix" else "which vectors need"
            yield f"{name} is {how}: its rows do not start at multiples of {ROW_BYTES[best][0]} bytes, {reader}"


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

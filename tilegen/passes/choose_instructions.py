"""choose_instructions: which gemms use a matrix instruction, and how the warps divide its tile.

Precondition: a checked kernel. Effect: a Gemm whose dtypes, arch and sizes fit an mma instruction of the
table gets an MmaChoice as plan; the others keep None and become scalar multiply-adds. Accumulators
that are related (one layout serves them) decide together.
Before: T.gemm(A_shared f16, B_shared f16, C_local f32), 256 threads, sm_80
After:  the same with plan MmaChoice(mma_m16n8k16_f16, 2 x 4 warps)
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.dtypes import PACKED, DType, float32, tfloat32
from tilegen.instructions import MATRIX_INSTRUCTIONS, MatrixInstruction, matrix_instruction
from tilegen.passes.layout_classes import Members
from tilegen.passes.layout_relations import collect_classes, number_nests, reduced_fragments
from tilegen.passes.mma_operands import choose_forms, form_checks, form_words
from tilegen.passes.ranges import knob_values, loop_steps
from tilegen.passes.slices import slice_checks
from tilegen.plan import Check, KernelPlan, MmaChoice
from tilegen.targets.base import Target

WARP = 32


def choose_instructions(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    gemms = [n for n in ir.walk(kernel.body) if isinstance(n, ir.Gemm)]
    notes: list[tuple[str, str]] = []
    chosen: dict[int, MmaChoice] = {}
    checks: dict[Check, None] = dict.fromkeys(slice_checks(kernel))
    if gemms:
        for members in collect_classes(number_nests(kernel)).components():
            _component(kernel, target, members, chosen, notes, checks)

    def rule(node):
        choice = chosen.get(_key(node)) if isinstance(node, ir.Gemm) else None
        return replace(node, plan=choice) if choice else None
    body = ir.rewrite(kernel.body, rule) if chosen else kernel.body
    before = kernel.plan or KernelPlan()
    plan = replace(before, notes=(*before.notes, *notes), checks=tuple(dict.fromkeys((*before.checks, *checks))))
    return replace(kernel, body=body, plan=plan)


def _key(gemm: ir.Gemm) -> int:
    return hash((gemm, gemm.loc.line if gemm.loc else 0))


def _component(kernel: ir.Kernel, target: Target, members: Members, chosen, notes, checks) -> None:
    """One choice for all accumulators of a component, or the reason why there is none."""
    if not members.gemms:
        return
    env = knob_values(kernel)
    steps = loop_steps(kernel, env)
    found, grid = _found(kernel, target, members, env)
    for gemm, instruction in zip(members.gemms, found):
        subject = f"gemm into {gemm.c.buffer.name}"
        if isinstance(grid, str):
            notes.append((subject, f"scalar multiply-add: {grid}"))
            continue
        forms = choose_forms(gemm, instruction, env, steps)
        if instruction.call == "quad" and forms[1] == "quads" and not gemm.transpose_b:
            instruction = matrix_instruction(f"{instruction.helper}_rows")
        registers = gemm.a.buffer.scope == "fragment" and grid[1] == 1 and _packs(gemm, instruction)
        text = (f"{instruction.spelling.removeprefix('mma.sync.aligned.')} on {grid[0]} x {grid[1]} warps, each "
                f"{_extent(gemm.c, -2, env) // grid[0]} x {_extent(gemm.c, -1, env) // grid[1]}")
        notes.append((subject, "; ".join((text, *form_words(gemm, instruction, forms)))))
        checks.update(dict.fromkeys(form_checks(kernel, gemm, forms)))
        pairs = _extent(gemm.c, -1, env) // grid[1] % (2 * instruction.n) == 0
        chosen[_key(gemm)] = MmaChoice(instruction.helper, _step(gemm, instruction), *grid, instruction.a.registers,
                                       instruction.b.registers, registers, *forms, pairs, reason=text)


def _found(kernel: ir.Kernel, target: Target, members: Members, env) -> tuple[list, tuple[int, int] | str]:
    """An instruction for each gemm and the grid of warps, or why there is none: instructions of 16 rows first,
    then those of 8, which a tile of few rows divides into."""
    threads = arith.evaluate(arith.product(kernel.threads), env)
    first = ""
    for rows in (16, 8):
        found = [_instruction(g, target, env, threads, rows) for g in members.gemms]
        reason = next((x for x in found if isinstance(x, str)), "")
        grid = reason or _warps(kernel, members, env, threads, found)
        if not isinstance(grid, str):
            return found, grid
        first = first or grid
    return found, first


def _step(gemm: ir.Gemm, instruction: MatrixInstruction) -> int:
    """The depth of an instruction, in elements of the operands' tiles."""
    return instruction.k // 2 if gemm.packed else instruction.k


def _packs(gemm: ir.Gemm, instruction: MatrixInstruction) -> bool:
    """Whether the registers of an accumulator are those of the next product's left operand."""
    return gemm.a.buffer.dtype.bits == 16 and not gemm.transpose_a and instruction.call == "mma"


def _instruction(gemm: ir.Gemm, target: Target, env, threads: int | None, rows: int) -> MatrixInstruction | str:
    """The largest instruction of so many rows that fits, or why there is none."""
    if target.name != "cuda":
        return f"no matrix instruction of {target.name} {target.arch} is used yet"
    if not threads or threads % WARP:
        return "the block is not made of whole warps"
    a, b, c = (r.buffer.dtype for r in (gemm.a, gemm.b, gemm.c))
    if gemm.packed:
        a = b = PACKED[gemm.packed]
    having = [i for i in MATRIX_INSTRUCTIONS if i.target == "cuda" and i.runs_on(target.arch)
              and (i.a.dtype, i.b.dtype, i.c.dtype) == (a, b, c)]
    if not having:
        operands = f"{a}" if a == b else f"{a} and {b}"
        return f"{target.arch} has no mma of {operands} into {c}{_advice(a, target)}"
    fitting = [i for i in having if i.m == rows]
    if not fitting:
        return f"{target.arch} has no mma of {rows} rows of {a} into {c}"
    depth = _extent(gemm.a, -2 if gemm.transpose_a else -1, env) * (2 if gemm.packed else 1)
    fitting = [i for i in fitting if depth and depth % i.k == 0]
    if not fitting:
        return f"the depth of the block, {depth}, is no multiple of the instruction's, {min(i.k for i in having)}"
    return max(fitting, key=lambda i: i.flops)


def _advice(a: DType, target: Target) -> str:
    """What a person may do about a missing instruction."""
    if a == float32 and any(i.a.dtype == tfloat32 and i.runs_on(target.arch) for i in MATRIX_INSTRUCTIONS):
        return "; tiles of tfloat32 are multiplied by one, with 10 bits of the mantissa"
    return ""


def _extent(region: ir.Region, dimension: int, env) -> int:
    return arith.evaluate(region.extents[dimension], env) or 0


def _warps(kernel: ir.Kernel, members: Members, env, threads: int,
           instructions: list[MatrixInstruction]) -> tuple[int, int] | str:
    """The grid of warps: each part of every accumulator is made of pieces of an instruction's rows and 16
    columns, or, where none is, of an instruction's columns; as square as can be."""
    count = threads // WARP
    asked = {g.policy for g in members.gemms if isinstance(g.policy, tuple)}
    if len(asked) > 1:
        return "products that share a layout ask for different grids of warps"
    policy = asked.pop() if asked else members.gemms[0].policy
    reduced = reduced_fragments(kernel)
    one_column = bool(reduced & {b.name for b in members.buffers}) or \
        any(g.a.buffer.scope == "fragment" for g in members.gemms)
    grids = [(m, count // m) for m in range(1, count + 1) if count % m == 0]
    if isinstance(policy, tuple):
        grids = [policy] if policy[1] == 1 or not one_column else []
    elif one_column or policy == "full_row":
        grids = [(count, 1)]
    elif policy == "full_col":
        grids = [(1, count)]
    sizes = [(_extent(g.c, -2, env), _extent(g.c, -1, env)) for g in members.gemms]
    height, width = (max(size) for size in zip(*((i.m, i.n) for i in instructions)))
    legal = next(filter(None, ([(m, n) for m, n in grids if all(r and c and r % (height * m) == 0
                                and c % (columns * n) == 0 for r, c in sizes)] for columns in (16, width))), [])
    if not grids:
        return f"a warp has to hold whole rows of {members.gemms[0].c.buffer.name}, and {policy[1]} warps share them"
    if not legal:
        rows, cols = sizes[0]
        return f"{count} warps cannot divide {rows} x {cols} into pieces of {height} x {width}"
    rows, cols = sizes[0]
    return min(legal, key=lambda g: (rows // g[0] + cols // g[1], -g[1]))

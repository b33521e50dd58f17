"""Names of the self-test's program, and how the user's names give way to them."""

from __future__ import annotations

from dataclasses import replace

from tilegen import ir

# What the templates and the plain loops name in the scopes where the user's names stand too.
RESERVED = frozenset((
    "argc argv element grid launch us flops bytes worst tolerance ok microseconds "
    "reference Tensor uniform whole generator worst_error check upload download "
    "floored_quotient floored_remainder count_leading_zeros bits_on_host philox_on_host "
    "reshaped Reshaped host_float16 host_bfloat16 host_float8_e4m3 host_float8_e5m2 std main").split())


def is_free(name: str) -> bool:
    """Whether the program has no name of its own like this."""
    return name not in RESERVED


def distinct(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` without names that the program takes: they get a `_`; a knob, which is a constant of the
    file, is named from outside (`::start`)."""
    tensors = [p.name for p in kernel.params if p.buffer is not None]
    taken = RESERVED | {f"{name}_{tail}" for name in tensors for tail in ("device", "want", "error")}

    def rule(n: ir.Node):
        if not isinstance(n, (ir.Var, ir.Buffer, ir.Param)) or n.name not in taken:
            return None
        is_knob = isinstance(n, ir.Var) and n.kind == "knob"
        return replace(n, name=f"::{n.name}" if is_knob else f"{n.name}_")
    return ir.rewrite(kernel, rule)

"""Flops and bytes of a kernel, as expressions of its sizes: what the header says of the work."""

from __future__ import annotations

from tilegen import arith, ir
from tilegen.launches import launches_of

# Operations counted as one flop each.
_FLOPS = ("+", "-", "*", "/", "min", "max")


def flops(kernel: ir.Kernel) -> list[list[ir.Expr]]:
    """A sum of products: the factors of each term. Work on the padding of ragged tiles is not
    counted: ceildiv(M, BM) blocks of BM rows are M rows."""
    terms: list[list[ir.Expr]] = []
    for launch in launches_of(kernel):
        _collect(launch.body, list(launch.grid), terms)
    order = [size.name for size in kernel.sizes]

    def rank(factor: ir.Expr) -> int:
        return order.index(factor.name) if isinstance(factor, ir.Var) and factor.name in order else len(order)
    return [sorted(cancel(term), key=lambda f: -1 if isinstance(f, ir.Const) else rank(f)) for term in terms]


def _collect(statements, factors: list[ir.Expr], terms: list[list[ir.Expr]]) -> None:
    for s in statements:
        match s:
            case ir.Gemm():
                k = s.a.extents[-2 if s.transpose_a else -1]
                terms.append([ir.Const(2), *factors, *s.c.extents[-2:], k])
            case ir.Reduce() | ir.Scan():
                terms.append([ir.Const(1), *factors, *s.src.extents])
            case ir.Parallel():
                count = sum(
                    isinstance(n, ir.BinOp) and n.op in _FLOPS and n.dtype.is_float or isinstance(n, ir.Call)
                    for b in s.body
                    for n in ir.walk(b)
                )
                if count:
                    terms.append([ir.Const(count), *factors, *s.extents])
            case ir.For() if dict(s.options).get("whole_grid"):    # all blocks together
                _collect(s.body, factors, terms)
            case ir.For():
                trips = arith.ceildiv(arith.subtract(s.stop, s.start), s.step)
                _collect(s.body, [*factors, trips], terms)
            case ir.While():
                _collect(s.body, factors, terms)
            case ir.If():
                _collect(s.then, factors, terms)
                _collect(s.otherwise, factors, terms)


def cancel(factors: list[ir.Expr]) -> list[ir.Expr]:
    """ceildiv(M, BM) * BM is M (without the padding)."""
    factors = list(factors)
    while (whole := next((f for f in factors if _divided(f) in factors), None)) is not None:
        factors.remove(whole)
        factors.remove(whole.args[1])
        factors.append(whole.args[0])
    number = 1
    for f in factors:
        number *= f.value if isinstance(f, ir.Const) else 1
    return [ir.Const(number)] + [f for f in factors if not isinstance(f, ir.Const)]


def _divided(factor: ir.Expr) -> ir.Expr | None:
    """The divisor of a ceildiv."""
    return factor.args[1] if isinstance(factor, ir.Call) and factor.name == "ceildiv" else None


def traffic(kernel: ir.Kernel) -> list[list[ir.Expr]]:
    """Bytes of every tensor once (twice where it is read and written)."""
    terms = []
    for p in kernel.params:
        if p.buffer is not None:
            times = 2 if p.access == "readwrite" else 1
            terms.append(cancel([ir.Const(times * p.buffer.dtype.bytes), *p.buffer.shape]))
    return terms


def value(terms: list[list[ir.Expr]], env: dict) -> float | None:
    """The number, where all names are known."""
    total = 0.0
    for factors in terms:
        product = 1.0
        for f in factors:
            x = arith.evaluate(f, env)
            if x is None:
                return None
            product *= x
        total += product
    return total


def text(terms: list[list[ir.Expr]], print_expression) -> str:
    """`2*M*N*K`; terms with a common number are grouped: `4*(M*K + K*N + M*N)`."""
    groups: dict[int, list[str]] = {}
    merged: dict[tuple, int] = {}
    for first, *rest in terms:
        key = (
            tuple(sorted(print_expression(f, "*") for f in rest))
            if not rest
            else tuple(print_expression(f, "*") for f in rest)
        )
        merged[key] = merged.get(key, 0) + first.value
    for key, number in merged.items():
        groups.setdefault(number, []).append("*".join(key) or "1")
    parts = []
    for number, products in groups.items():
        inner = " + ".join(products)
        parts.append(
            inner if number == 1 else f"{number}*({inner})" if len(products) > 1 else f"{number}*{inner}"
        )
    return " + ".join(parts) or "0"

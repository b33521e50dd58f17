"""Extents of regions: the difference of two bounds, equality, and one side's extents for the other."""

from __future__ import annotations

from collections.abc import Mapping

from tilegen import arith, ir
from tilegen.errors import Loc, TilegenError
from tilegen.language.text import shape_text

Monomial = tuple[ir.Expr, ...]


def difference(stop: ir.Expr, start: ir.Expr) -> ir.Expr:
    """`stop - start` in its shortest form: `(i + 1) * B - i * B` is `B`."""
    simple = arith.fold(arith.subtract(arith.fold(stop), arith.fold(start)))
    terms = _polynomial(simple)
    if terms == _polynomial(ir.Const(0)):
        return ir.Const(0)
    if len(terms) <= 2 and not (isinstance(simple, ir.BinOp) and simple.op == "*" and len(terms) == 1):
        return _expression(terms)
    return simple


def same_extent(a: ir.Expr, b: ir.Expr, numbers: Mapping[str, float] = {}) -> bool:
    """Whether two extents are equal for the present knobs; sizes compare by their form."""
    if a == b:
        return True
    x, y = arith.evaluate(a, numbers), arith.evaluate(b, numbers)
    if x is not None and y is not None:
        return x == y
    values = {name: ir.Const(value) for name, value in numbers.items()}
    return _polynomial(ir.substitute(a, values)) == _polynomial(ir.substitute(b, values))


def is_one(extent: ir.Expr, numbers: Mapping[str, float] = {}) -> bool:
    """Whether an extent is 1 for the present numbers."""
    return arith.evaluate(extent, numbers) == 1


def squeezed(extents: tuple[ir.Expr, ...], numbers: Mapping[str, float]) -> tuple[ir.Expr, ...]:
    """The extents that are not 1."""
    return tuple(extent for extent in extents if not is_one(extent, numbers))


def fit_extents(extents: tuple[ir.Expr, ...], rank: int, numbers: Mapping[str, float],
                loc: Loc | None, what: str) -> tuple[ir.Expr, ...]:
    """The extents of one side, for an origin of `rank` dimensions on the other side: aligned at the
    last dimension, with extents of 1 added or dropped in front. Raises TG0101 where that fails."""
    kept = list(extents)
    while len(kept) > rank:
        unit = next((k for k, extent in enumerate(kept) if is_one(extent, numbers)), None)
        if unit is None:
            raise TilegenError("TG0101", f"{what}: a box {shape_text(extents)} does not fit a tensor of "
                               f"{rank} dimension{'s' * (rank != 1)}", loc)
        del kept[unit]
    return (ir.Const(1),) * (rank - len(kept)) + tuple(kept)


def _polynomial(expr: ir.Expr) -> dict[Monomial, int]:
    """`expr` as a sum of products, {factors: coefficient}; whatever is no sum or product is a factor."""
    match expr:
        case ir.Const(value=int() as value):
            return {(): value} if value else {}
        case ir.BinOp(op="+" | "-"):
            sign = 1 if expr.op == "+" else -1
            total = dict(_polynomial(expr.a))
            for factors, coefficient in _polynomial(expr.b).items():
                total[factors] = total.get(factors, 0) + sign * coefficient
            return {factors: c for factors, c in total.items() if c}
        case ir.BinOp(op="*"):
            total = {}
            for f, c in _polynomial(expr.a).items():
                for g, d in _polynomial(expr.b).items():
                    factors = tuple(sorted(f + g, key=repr))
                    total[factors] = total.get(factors, 0) + c * d
            return {factors: c for factors, c in total.items() if c}
        case ir.UnOp(op="-"):
            return {factors: -c for factors, c in _polynomial(expr.a).items()}
    return {(expr,): 1}


def _expression(terms: dict[Monomial, int]) -> ir.Expr:
    result: ir.Expr = ir.Const(0)
    for factors, coefficient in sorted(terms.items(), key=lambda term: (term[1] < 0, term[0] == ())):
        product = arith.multiply(arith.product(factors), abs(coefficient))
        result = arith.add(result, product) if coefficient > 0 else arith.subtract(result, product)
    return result

"""Neighbours of 16 bits are computed as one register.

A thread holds runs of neighbouring elements. Where those have 16 bits, two of them fill a register, and one
instruction can do the same to both: bit operations, and on float16 a sum, a difference or a product. This is done
where the register of a pair follows from registers of pairs all the way: the two elements differ in nothing but the
half of a word that they come from, which is found by enumerating them. A result that was rounded once, when it was
stored, is the same: float32 holds an exact product of two float16, and enough of a sum that rounding it twice
changes nothing (Figueroa, When is double rounding innocuous, 1995).
Before: for v in 2: weights[r][c + v] = bits_as<float16>(0x6400 | word >> (s + 16 * v) & 15) - 1032.0f
After:  store_pair(&weights[r][c], subtract_pairs(and_or(word >> s, both(15), both(0x6400)), pair_of(1032.0f)))
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from tilegen import arith, ir
from tilegen.dtypes import float16, float32, uint32
from tilegen.layout import Axis
from tilegen.passes.planner import Planner, coordinate
from tilegen.passes.run_lets import MOST_ELEMENTS, same_in_runs
from tilegen.plan import Loop, PairStore

_ARITHMETIC = {"+": "add_pairs", "-": "subtract_pairs", "*": "multiply_pairs"}
_BITWISE = ("&", "|", "^")
_LARGEST = 0xFFFF                        # of 16 bits


def pair_halves(planner: Planner, loops: tuple[Loop, ...], slot: ir.Expr, var: ir.Var, axis: Axis,
                body: tuple[ir.Stmt, ...], whole: tuple[ir.Stmt, ...],
                ) -> tuple[tuple[Loop, ...], ir.Expr, tuple[ir.Stmt, ...]]:
    """(loops, slot, body) of `split_runs` over pairs instead of elements, or as they are where that is not possible.
    The last loop is over the elements, or over those of a run; `whole` is the body before it was split."""
    if not planner.target.pair_arithmetic or axis.padded or axis.vector % 2 or axis.extent > MOST_ELEMENTS:
        return loops, slot, body
    paired = _Pairs(planner, var.name, axis, whole).body(body)
    if paired is None:
        return loops, slot, body
    *outer, last = loops
    width = ir.Var(axis.vector_name, kind="knob")
    planner.check_multiple(width, ir.Const(2), "neighbours of 16 bits are computed as pairs")
    if outer and axis.vector == 2:                       # a run is a pair
        slot, last = outer[-1].var, None
        outer[-1] = replace(outer[-1], lets=(*outer[-1].lets, ir.Let(ir.Var(var.name, kind="let"),
                                                                     coordinate(axis, slot))))
    return (*outer, *((replace(last, step=ir.Const(2)),) if last else ())), slot, paired


@dataclass
class _Pairs:
    """Registers of pairs, along the loop `name` over an axis, in a nest with the statements `whole`."""

    planner: Planner
    name: str
    axis: Axis
    whole: tuple[ir.Stmt, ...]

    def body(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...] | None:
        """Statements that do for pairs what `body` does for elements."""
        result: list[ir.Stmt] = []
        known: dict[str, ir.Expr] = {}
        for s in body:
            if isinstance(s, ir.Let):
                value = ir.substitute(s.value, known)
                if self._alike(value):
                    result.append(replace(s, value=value))
                else:
                    known[s.var.name] = value
                continue
            store = self._store(ir.substitute((s,), known)[0])
            if store is None:
                return None
            result.append(store)
        return tuple(result)

    def _store(self, s: ir.Stmt) -> PairStore | None:
        if type(s) is not ir.Store or s.buffer.scope != "fragment" or s.buffer.dtype != float16:
            return None
        if s.buffer.shape == () or not self._neighbours(s.indices):
            return None
        value = self._result(s.value)
        computed = any(isinstance(n, ir.BinOp) or isinstance(n, ir.Call) and n.name.endswith(("_pairs", "and_or"))
                       for n in ir.walk(value)) if value else False
        return PairStore(s.buffer, s.indices, value, loc=s.loc) if computed else None

    def _neighbours(self, indices: tuple[ir.Expr, ...]) -> bool:
        """Whether the elements of a pair lie side by side in a fragment."""
        *lead, last = indices
        return isinstance(last, ir.Var) and last.name == self.name and all(map(self._alike, lead))

    def _result(self, e: ir.Expr) -> ir.Expr | None:
        """The register of two values that are stored as float16."""
        if isinstance(e, ir.BinOp) and e.op in _ARITHMETIC and e.dtype == float32:
            sides = [self._halves(x) for x in (e.a, e.b)]
            return None if None in sides else ir.Call(f"device:{_ARITHMETIC[e.op]}", tuple(sides), uint32)
        return self._halves(e)

    def _halves(self, e: ir.Expr) -> ir.Expr | None:
        """The register of two values that are float16 exactly."""
        match e:
            case ir.Const():
                return self._constant(float(e.value))
            case ir.Load(buffer=buffer) if e.dtype == float16 and buffer.scope == "fragment":
                pair = ir.Call("device:pack_pair", (ir.UnOp("&", e, uint32),), uint32)
                return pair if self._neighbours(e.indices) else None
            case ir.Call(name="bits_as") if e.dtype == float16:
                return self._bits(e.args[0])
            case ir.Cast() if e.a.dtype == float16:
                return self._halves(e.a)
            case ir.Select():
                return self._select(e, self._halves)
        return None

    @staticmethod
    def _constant(value: float) -> ir.Expr | None:
        try:
            exact = struct.unpack("<e", struct.pack("<e", value))[0] == value
        except OverflowError:
            return None
        return ir.Call("device:pair_of", (ir.Const(value, float32),), uint32) if exact else None

    def _select(self, e: ir.Select, part) -> ir.Expr | None:
        a, b = (part(x) for x in (e.a, e.b))
        if a is None or b is None or not self._alike(e.condition):
            return None
        if isinstance(a, ir.Call) and isinstance(b, ir.Call) and a.name == b.name and len(a.args) == len(b.args) == 1:
            chosen = ir.Select(e.condition, a.args[0], b.args[0], a.args[0].dtype)
            return ir.Call(a.name, (chosen,), uint32)
        return ir.Select(e.condition, a, b, uint32)

    def _bits(self, e: ir.Expr) -> ir.Expr | None:
        """The register of the low 16 bits of two integers."""
        match e:
            case ir.Select():
                return self._select(e, self._bits)
            case _ if self._fits(e):
                return _both(e)
            case ir.Cast() if e.a.dtype.is_integer and min(e.a.dtype.bits, e.dtype.bits) >= 16:
                return self._bits(e.a)
            case ir.BinOp(op="&") if (taken := self._taken(e)) is not None:
                return taken
            case ir.BinOp(op=op) if op in _BITWISE:
                sides = [self._bits(x) for x in (e.a, e.b)]
                return None if None in sides else _bitwise(op, *sides)
            case ir.BinOp(op="<<") if self._stays(e):
                moved = self._bits(e.a)
                return None if moved is None else ir.BinOp("<<", moved, e.b, uint32)
        return None

    def _taken(self, e: ir.BinOp) -> ir.Expr | None:
        """`word >> shift & mask` where the second element's bits lie 16 above those of the first."""
        for shifted, mask in ((e.a, e.b), (e.b, e.a)):
            if not (isinstance(shifted, ir.BinOp) and shifted.op == ">>" and shifted.dtype == uint32):
                continue
            if self._alike(shifted.a) and self._sixteen_apart(shifted.b) and self._fits(mask):
                return ir.BinOp("&", shifted, _both(mask), uint32)
        return None

    def _fits(self, e: ir.Expr) -> bool:
        """Whether a number, which may be a knob or depend on the pair, has 16 bits."""
        value = self.planner.value(e) if isinstance(e, ir.Var) else None
        if isinstance(value, int) and 0 <= value <= _LARGEST:
            self.planner.check(arith.binary("<=", e, ir.Const(_LARGEST)), f"{e.name} has 16 bits")
            return True
        return e.dtype.is_integer and self._alike(e) and all(
            isinstance(a, ir.Const) and 0 <= a.value <= _LARGEST for a, _ in self._pairs(e))

    def _stays(self, e: ir.BinOp) -> bool:
        """Whether what moves to the left stays in its half."""
        high = arith.bounds(e.a, self.planner.ranges.ranges)[1]
        return isinstance(e.b, ir.Const) and 0 <= e.b.value < 16 and high * 2 ** e.b.value <= _LARGEST

    def _sixteen_apart(self, shift: ir.Expr) -> bool:
        return all(isinstance(a, ir.Const) and isinstance(b, ir.Const) and a.value >= 0 and b.value == a.value + 16 < 32
                   for a, b in self._pairs(shift))

    def _pairs(self, e: ir.Expr) -> list[tuple[ir.Expr, ir.Expr]]:
        """`e` for both elements of each pair, whatever the knobs are."""
        meant = self._meant(e)
        at = [arith.fold(ir.substitute(meant, {self.name: ir.Const(n)})) for n in range(self.axis.extent)]
        return list(zip(at[::2], at[1::2]))

    def _alike(self, e: ir.Expr) -> bool:
        return same_in_runs(self.planner, self._meant(e), self.name, self.axis, 2)

    def _meant(self, e: ir.Expr) -> ir.Expr:
        """`e` in terms of the nest's loops."""
        for s in reversed(self.whole):
            if isinstance(s, ir.Let):
                e = ir.substitute(e, {s.var.name: s.value})
        return e


def _both(e: ir.Expr) -> ir.Expr:
    return ir.Call("device:both", (e,), uint32)


def _bitwise(op: str, a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """`a op b`; a masked value with bits set is one instruction."""
    for masked, bits in ((a, b), (b, a)):
        if op == "|" and _is_both(bits) and isinstance(masked, ir.BinOp) and masked.op == "&" and _is_both(masked.b):
            return ir.Call("device:and_or", (masked.a, masked.b, bits), uint32)
    return ir.BinOp(op, a, b, uint32)


def _is_both(e: ir.Expr) -> bool:
    return isinstance(e, ir.Call) and e.name == "device:both"

"""Infers the named sizes of a call from the shapes of its arrays, and checks every shape against them."""

from __future__ import annotations

from collections.abc import Mapping

from tilegen.errors import TilegenError
from tilegen.runtime.arrays import MAX_ELEMENTS, ArrayView
from tilegen.runtime.contract import Contract, Param
from tilegen.runtime.expressions import Number, names


class Sizes:
    """The sizes of one call: bound by the first argument that shows them, checked by all others.

    `known` holds the values, scalars included; `given` are sizes that the caller named.
    """

    def __init__(self, contract: Contract, scalars: Mapping[str, Number],
                 given: Mapping[str, object]) -> None:
        self.contract = contract
        self.known: dict[str, Number] = dict(scalars)
        self.origin: dict[str, str] = {}
        for name, value in given.items():
            if not isinstance(value, int) or not 0 <= value <= MAX_ELEMENTS:
                raise TilegenError("TG0403", f"the size {name} is {value!r}, expected an integer from 0 on")
            self.known[name], self.origin[name] = value, f"{name}={value}"

    def learn(self, param: Param, array: ArrayView) -> None:
        """Binds the sizes that stand alone in a dimension, or as a stride."""
        for extent, name in zip(array.shape, param.shape):
            self._learn(name, extent, f"argument {param.name}")
        for step, name in zip(array.steps, param.strides):
            self._learn(name, step, f"the strides of argument {param.name}")

    def _learn(self, name: str, value: Number, origin: str) -> None:
        if name in self.contract.sizes and name not in self.known:
            self.known[name], self.origin[name] = value, origin

    def check(self, param: Param, array: ArrayView) -> None:
        """Every dimension against its expression; TG0403 says where the other value came from."""
        if not param.has_shape:
            return
        for axis, (extent, expression) in enumerate(zip(array.shape, param.shape)):
            expected = self.value(expression)
            if extent != expected:
                raise TilegenError("TG0403", f"argument {param.name}: dimension {axis} is {extent}, but "
                                   f"{self._explain(expression, expected)}")
        for axis, (extent, step, expression) in enumerate(zip(array.shape, array.steps, param.strides)):
            expected = self.value(expression)
            if extent > 1 and array.elements and step != expected:
                raise TilegenError("TG0403", f"argument {param.name}: the stride of dimension {axis} is {step}, but "
                                   f"{self._explain(expression, expected)}")

    def shape(self, param: Param) -> tuple[int, ...]:
        """The shape that an output has to have."""
        return tuple(int(self.value(expression)) for expression in param.shape)

    def check_requirements(self) -> None:
        """The contract's conditions; TG0409 gives the condition and the values in it."""
        for condition in self.contract.requires:
            if not self.value(condition):
                values = ", ".join(f"{n} is {self.known[n]}" for n in names(condition) if n in self.known)
                raise TilegenError("TG0409", f"{self.contract.entry} requires {condition}"
                                   + (f", but {values}" if values else ""))

    def value(self, expression: str) -> Number:
        """The value of an expression; TG0401 where it names a size that no argument shows."""
        for name in names(expression):
            if name in self.contract.sizes and name not in self.known:
                raise TilegenError("TG0401", f"{self.contract.entry}: the size {name} cannot be told from "
                                   "the arguments", hint=f"pass it by name: {name}=...")
        return self.contract.value(expression, self.known)

    def _explain(self, expression: str, expected: Number) -> str:
        if expression in self.origin:
            return f"{expression} is {expected} from {self.origin[expression]}"
        if expression == str(expected):
            return f"the kernel is made for {expected}"
        parts = [f"{name} is {self.known[name]} from {self.origin[name]}"
                 for name in names(expression) if name in self.origin]
        return f"{expression} is {expected}" + (f" ({', '.join(parts)})" if parts else " in the file")

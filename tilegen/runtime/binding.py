"""From the arguments of a call to the arguments of a launch: sizes inferred, everything checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilegen.dtypes import DType, int32
from tilegen.errors import TilegenError
from tilegen.runtime.arrays import ArrayView, empty_like_library, share_elements, view
from tilegen.runtime.checks import check_array, check_gradients, check_scalar, misaligned
from tilegen.runtime.contract import Contract, Geometry, Launch
from tilegen.runtime.expressions import Number
from tilegen.runtime.sizes import Sizes

_REMEMBERED = 256       # different combinations of shapes, before they are forgotten


@dataclass(slots=True)
class Scalar:
    """A value passed by value, and its type in the entry's signature; a launcher may keep it `packed`."""

    value: Number
    dtype: DType
    packed: object = None


@dataclass(slots=True)
class Bound:
    """One call, ready to launch: arguments in signature order (arrays and scalars, then the sizes), and the
    geometry of each launch.

    `returned` are the outputs that the caller left out; `allocated` names those whose memory is new and
    holds nothing yet.
    """

    contract: Contract
    arguments: tuple[ArrayView | Scalar, ...]
    geometries: tuple[Geometry, ...]
    arrays: dict[str, ArrayView]
    returned: tuple[object, ...]
    allocated: frozenset[str]
    boxes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)     # of the tensors that go as tensor maps

    @property
    def is_empty(self) -> bool:
        """Whether no launch has a block to run."""
        return all([geometry.is_empty for geometry in self.geometries])

    def launches(self) -> list[tuple[int, Launch, Geometry]]:
        """The launches that have blocks to run, with their numbers."""
        return [(number, launch, geometry) for number, (launch, geometry)
                in enumerate(zip(self.contract.launches, self.geometries)) if not geometry.is_empty]

    @property
    def result(self) -> object:
        """What the call returns: nothing, one array, or a tuple."""
        if len(self.returned) < 2:
            return self.returned[0] if self.returned else None
        return self.returned


@dataclass(slots=True)
class _Fit:
    """What follows from shapes, dtypes and scalars alone, kept for the next call with the same ones."""

    geometries: tuple[Geometry, ...]
    sizes: tuple[Scalar, ...]
    shapes: dict[str, tuple[int, ...]]
    boxes: dict[str, tuple[int, ...]]


class Binder:
    """Binds calls of one contract."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.arrays = tuple(p for p in contract.params if p.is_array)
        self.scalars = tuple(p for p in contract.params if not p.is_array)
        self.order = tuple(p.name for p in contract.params)
        self.names = tuple(p.name for p in contract.caller_params)
        self.outputs = tuple(p.name for p in contract.params if p.is_output)
        self.dtypes = {p.name: p.dtype for p in contract.params}
        # a vector access may need more than the element does
        self.alignments = {p.name: max(p.align, p.dtype.bytes) for p in self.arrays}
        self.fits: dict[tuple, _Fit] = {}
        shaping = contract.named()
        # scalars that no shape, grid or condition depends on
        self.free = {p.name for p in self.scalars if p.dtype.name in ("float32", "float64") and p.name not in shaping}

    def bind(self, args: tuple, named: Mapping[str, object], out: object = None) -> Bound:
        """Checks a call `kernel(*args, out=out, **named)` against the contract and completes it.

        Left-out outputs and workspaces are allocated in the library of the first array. Raises TG0401 for a wrong
        number of arguments and the other TG04 codes for arguments that do not fit.
        """
        given, returned = self._assign(args, named, out)
        arrays = {p.name: view(given[p.name], p.name) for p in self.arrays if p.name in given}
        check_gradients(arrays)
        scalars = {p.name: Scalar(check_scalar(p, given[p.name]), p.dtype) for p in self.scalars}
        fit = self._fit(given, arrays, scalars)
        allocated = frozenset(fit.shapes)
        for name in allocated:
            example = next(iter(arrays.values()))
            made = empty_like_library(example, fit.shapes[name], self.dtypes[name])
            arrays[name] = view(made, name)
        for param in self.arrays:
            if arrays[param.name].pointer % self.alignments[param.name]:
                raise misaligned(param, self.alignments[param.name])
        self._check_overlap(arrays)
        everything = {**arrays, **scalars}
        arguments = (*[everything[name] for name in self.order], *fit.sizes)
        results = tuple([arrays[name].owner for name in returned])
        return Bound(self.contract, arguments, fit.geometries, arrays, results, allocated, fit.boxes)

    def _assign(self, args: tuple, named: Mapping[str, object], out: object) -> tuple[dict, list[str]]:
        """Argument values by name, and the names of the outputs that the call returns."""
        if len(args) == len(self.names) and not named and out is None:
            return dict(zip(self.names, args)), []
        for name in named:
            if name not in self.names and name not in self.contract.sizes:
                self._misused(f"{self.contract.entry} has no argument {name}")
        free = [n for n in self.names if n not in named]
        inputs = [n for n in free if n not in self.outputs]
        slots = inputs if len(args) == len(inputs) else free
        if len(args) > len(slots):
            self._misused(f"{self.contract.entry} takes {len(free)} positional arguments, not {len(args)}")
        given = {**named, **dict(zip(slots, args))}
        missing = [n for n in self.names if n not in given]
        if bad := [n for n in missing if n not in self.outputs]:
            self._misused(f"{self.contract.entry}: argument {bad[0]} is missing")
        if missing and not any(p.name in given for p in self.arrays) and out is None:
            self._misused(f"{self.contract.entry}: argument {missing[0]} is missing, and there is no array "
                          "to allocate it like")
        if out is None:
            return given, missing
        chosen = out if isinstance(out, (tuple, list)) else (out,)
        if len(chosen) != len(missing):
            self._misused(f"{self.contract.entry}: out= has {len(chosen)} arrays, but {len(missing)} outputs "
                          f"are left: {', '.join(missing) or 'none'}")
        return {**given, **dict(zip(missing, chosen))}, missing

    def order_of(self, args: tuple, out: object) -> tuple[str, ...]:
        """The names of the arguments of `kernel(*args, out=out)`, in the order in which they stand there."""
        return tuple(self._assign(args, {}, out)[0])

    def _misused(self, message: str) -> None:
        everything = ", ".join(self.names)
        inputs = ", ".join(n for n in self.names if n not in self.outputs)
        short = f" or {', '.join(self.outputs)} = {self.contract.entry}({inputs})" if self.outputs else ""
        raise TilegenError("TG0401", message, hint=f"call it as {self.contract.entry}({everything}){short}")

    def _fit(self, given: Mapping, arrays: Mapping[str, ArrayView], scalars: Mapping[str, Scalar]) -> _Fit:
        shown = [(name, getattr(a.dtype, "name", a.dtype), a.shape, a.strides, a.readonly)
                 for name, a in arrays.items()]
        key = (*shown, *[s.value for s in scalars.values()], *[given.get(n) for n in self.contract.sizes])
        fit = self.fits.get(key)
        if fit is None:
            fit = self._make_fit(given, arrays, {n: s.value for n, s in scalars.items()})
            if len(self.fits) >= _REMEMBERED:
                self.fits.clear()
            self.fits[key] = fit
        return fit

    def _make_fit(self, given: Mapping, arrays: Mapping[str, ArrayView],
                  scalars: Mapping[str, Number]) -> _Fit:
        contract = self.contract
        for param in self.arrays:
            if param.name in arrays:
                check_array(param, arrays[param.name])
        sizes = Sizes(contract, scalars, {n: given[n] for n in contract.sizes if n in given})
        present = [(p, arrays[p.name]) for p in self.arrays if p.name in arrays]
        for param in self.arrays:
            if param.strides and param.name not in arrays:
                raise TilegenError("TG0401", f"{contract.entry}: argument {param.name} has strides, which only an "
                                   "array tells", hint=f"pass {param.name}")
        for param, array in present:
            sizes.learn(param, array)
        for param, array in present:
            sizes.check(param, array)
        sizes.check_requirements()
        shapes = {p.name: sizes.shape(p) for p in self.arrays if p.name not in arrays}
        values = tuple(Scalar(sizes.value(name), int32) for name in contract.sizes)
        boxes = {p.name: tuple(int(contract.value(e, sizes.known)) for e in p.box) for p in self.arrays if p.box}
        return _Fit(contract.geometries(sizes.known), values, shapes, boxes)

    def _check_overlap(self, arrays: Mapping[str, ArrayView]) -> None:
        """A written array shares no memory with another: emitted pointers are declared `__restrict__`."""
        spans = [(a.pointer, a.pointer + a.nbytes) for a in [arrays[p.name] for p in self.arrays]]
        for written, (start, end) in zip(self.arrays, spans):
            if not written.writes:
                continue
            for other, (begin, stop) in zip(self.arrays, spans):
                if start < stop and begin < end and other is not written:
                    self._refuse_overlap(written.name, other.name, arrays)

    def _refuse_overlap(self, written: str, other: str, arrays: Mapping[str, ArrayView]) -> None:
        """TG0413, by whether the two have an element in common, or lie in the gaps of each other."""
        text, hint = f"argument {written} is written and ", f"pass separate memory for {written}"
        if share_elements(arrays[written], arrays[other]):
            raise TilegenError("TG0413", f"{text}shares memory with argument {other}", hint=hint)
        raise TilegenError("TG0413", f"{text}has elements between those of argument {other}", hint=f"{hint}: from its "
                           "first to its last element, gaps included, it may meet no other argument")


def bind(contract: Contract, args: tuple, named: Mapping[str, object], out: object = None) -> Bound:
    """One call bound to `contract`; see `Binder.bind`."""
    return Binder(contract).bind(args, named, out)

"""A kernel on random inputs: its results against the interpreter's, and its speed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from tilegen import ir, timing
from tilegen.check import Comparison, compare, tolerance
from tilegen.dtypes import DType
from tilegen.emit import work
from tilegen.emit.default_sizes import SIZE_OF_HIGH_RANK, SIZES_BY_RANK
from tilegen.errors import TilegenError
from tilegen.interpreted import Interpreted
from tilegen.runtime.arrays import require_cupy
from tilegen.runtime.contract import Contract, Param
from tilegen.runtime.expressions import Number, names
from tilegen.runtime.load import Loaded

# The extent of sizes that nobody gave, by the rank of the largest tensor; less where a CPU plays the GPU, or where it
# has to be quick.
EXTENTS = {**SIZES_BY_RANK, 3: SIZE_OF_HIGH_RANK}
SMALL = {1: 4096, 2: 256, 3: 64}
_MANY = 64
_FALLBACKS = (4096, 2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1)


@dataclass
class Trial:
    """What one run of a kernel gave. Times in seconds; None for what was not measured or is not known."""

    entry: str
    target: str
    arch: str
    place: str                                      # gpu, cpu or emulator
    sizes: dict[str, Number]
    seconds: float | None = None
    flops: float | None = None
    bytes: float | None = None
    checks: list[Comparison] | None = None

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks or ())


def run(loaded: Loaded, reference: ir.Kernel | None, place: str, given: Mapping[str, Number],
        seed: int = 0, timed: bool = True) -> Trial:
    """Runs `loaded` once for its results, compares them with those of `reference`, and measures it if `timed`.

    `place` is where it runs: gpu, cpu or emulator. `given` are sizes and scalar arguments by name; the rest are
    chosen. Raises TG0503 for a name that is neither, TG0409 where no sizes keep the kernel's conditions.
    """
    contract = loaded.contract
    sizes = choose_sizes(contract, given, SMALL if place == "emulator" else EXTENTS)
    arguments = make_arguments(contract, sizes, given, seed)
    trial = Trial(contract.entry, contract.target, contract.arch, place, sizes)
    results = {name: _moved(value, place) for name, value in copied(arguments).items()}
    loaded(**results, **unseen(contract, sizes))
    if reference is not None:
        values = {k.name: k.value for k in reference.knobs} | sizes
        trial.flops = work.value(work.flops(reference), values)
        trial.bytes = work.value(work.traffic(reference), values)
        trial.checks = _compared(contract, reference, results, arguments, sizes, values)
    if timed and place != "emulator":
        bound = loaded.bind(**results, **unseen(contract, sizes))
        trial.seconds = (timing.on_gpu if place == "gpu" else timing.on_host)(bound)
    return trial


def _compared(contract: Contract, reference: ir.Kernel, results: dict, arguments: dict, sizes: dict,
              values: dict) -> list[Comparison]:
    expected = copied(arguments)
    Interpreted(reference)(**expected, **unseen(contract, sizes))
    return [compare(p.name, _on_host(results[p.name]), expected[p.name], tolerance(reference, p.dtype, values))
            for p in contract.params if p.is_array and p.writes]


# ---- Sizes ---------------------------------------------------------------------------------------
def choose_sizes(contract: Contract, given: Mapping[str, Number], extents: Mapping[int, int]) -> dict[str, int]:
    """A value for each size: the given one, else by the rank of the tensors, else one that the kernel's
    conditions allow."""
    contract.check_names(given)
    rank = max((len(p.shape) for p in contract.params if p.is_array), default=1)
    sizes = {name: given.get(name, extents.get(rank, _MANY)) for name in contract.sizes}
    sizes |= {name: value for name, value in without_gaps(contract, {**given, **sizes}).items() if name not in given}
    for condition in contract.requires:
        _satisfy(condition, contract, sizes, given)
    for condition in contract.requires:
        if not contract.value(condition, {**given, **sizes}):
            raise TilegenError("TG0409", f"{contract.entry} requires {condition}, which does not hold for "
                               + ", ".join(f"{n} = {v}" for n, v in sizes.items() if n in names(condition)),
                               hint="give sizes that keep it: -D NAME=VALUE")
    return sizes


def _satisfy(condition: str, contract: Contract, sizes: dict[str, int], given: Mapping[str, Number]) -> None:
    """Changes sizes that nobody gave until `condition` holds, if any of a few values does."""
    free = [name for name in names(condition) if name in sizes and name not in given]
    for values in itertools.product(*((sizes[name], *_FALLBACKS) for name in free)):
        attempt = {**sizes, **dict(zip(free, values))}
        if contract.value(condition, {**given, **attempt}):
            sizes.update(attempt)
            return


def without_gaps(contract: Contract, values: Mapping[str, Number]) -> dict[str, int]:
    """The sizes that are strides alone, as they are where rows follow rows."""
    shapes = {extent for p in contract.params if p.is_array for extent in p.shape}
    return {stride: math.prod(int(contract.value(extent, values)) for extent in p.shape[d + 1:])
            for p in contract.params if p.is_array for d, stride in enumerate(p.strides)
            if stride in contract.sizes and stride not in shapes}


def unseen(contract: Contract, sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes that no shape shows by itself, which a call has to name."""
    shown = {extent for p in contract.params if p.is_array for extent in (*p.shape, *p.strides)}
    return {name: value for name, value in sizes.items() if name not in shown}


# ---- Arguments -----------------------------------------------------------------------------------
def make_arguments(contract: Contract, sizes: Mapping[str, int], given: Mapping[str, Number], seed: int) -> dict:
    """Random arrays and scalars by name. What a kernel only writes starts as NaN, or as a number that no
    result is likely to be."""
    generator = numpy.random.default_rng(seed)
    arguments: dict[str, object] = {}
    for p in contract.caller_params:
        if p.is_array:
            shape, strides = (tuple(int(contract.value(extent, {**given, **sizes})) for extent in extents)
                              for extents in (p.shape, p.strides))
            made = _unwritten(p, shape) if p.is_output else random(generator, p.dtype, shape)
            arguments[p.name] = with_strides(made, strides) if strides else made
        else:
            arguments[p.name] = given.get(p.name, 0.75 if p.dtype.is_float else 1)
    return arguments


def with_strides(array: numpy.ndarray, strides: tuple[int, ...]) -> numpy.ndarray:
    """The same elements, so far apart in memory."""
    steps = tuple(step * array.itemsize for step in strides)
    memory = numpy.zeros(1 + sum((e - 1) * s for e, s in zip(array.shape, strides) if e), array.dtype)
    result = numpy.lib.stride_tricks.as_strided(memory, array.shape, steps)
    result[...] = array
    return result


def random(generator: numpy.random.Generator, dtype: DType, shape: tuple[int, ...]) -> numpy.ndarray:
    """Uniform in [-1, 1) for floats, in [-8, 8) or [0, 8) for integers."""
    if dtype.is_float:
        return generator.uniform(-1, 1, shape).astype(dtype.numpy)
    low = -8 if dtype.kind == "int" else 0
    return generator.integers(low, 2 if dtype.kind == "bool" else 8, shape).astype(dtype.numpy)


def _unwritten(param: Param, shape: tuple[int, ...]) -> numpy.ndarray:
    value = numpy.nan if param.dtype.is_float else {"bool": True}.get(param.dtype.kind, 99)
    return numpy.full(shape, value, dtype=param.dtype.numpy)


def copied(arguments: Mapping[str, object]) -> dict:
    """The arguments with arrays of their own."""
    return {name: _duplicate(value) if isinstance(value, numpy.ndarray) else value for name, value in arguments.items()}


def _duplicate(array: numpy.ndarray) -> numpy.ndarray:
    if array.flags.c_contiguous:
        return array.copy()
    return with_strides(array, tuple(step // array.itemsize for step in array.strides))


def _moved(value: object, place: str) -> object:
    """A NumPy array in the memory of the place. CuPy lacks the types of ml_dtypes: these stay on the host, and
    their copies count in the time."""
    if place != "gpu" or not isinstance(value, numpy.ndarray) or value.dtype.kind == "V":
        return value
    return require_cupy("running on a GPU").asarray(value)


def _on_host(value: object) -> numpy.ndarray:
    return value if isinstance(value, numpy.ndarray) else value.get()

"""Whether a call is like the last one, told by one compiled expression, without a signature that has to be looked up.

torch compares tensors with earlier ones in C++ for the functions that it compiles, by `TensorGuards`: type, device,
dtype, shape, strides, gradients, and that no tensor is given twice. That is no public name, so it is tried out before
it is relied on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tilegen.runtime.arrays import library_of, torch_guards

ADDRESSES = {"numpy": "{0}.__array_interface__['data'][0]", "cupy": "{0}.data.ptr", "torch": "{0}.data_ptr()"}
# What an array has in common with that of the last call: {0} is the argument, {1} what is known of the earlier one.
_EQUAL = {"numpy": "{0}.dtype == {1}[0] and {0}.shape == {1}[1] and {0}.flags.c_contiguous and "
                   "{0}.flags.writeable is {1}[2]",
          "cupy": "{0}.dtype == {1}[0] and {0}.shape == {1}[1] and {0}.CONTIGUOUS and {0}.data.device_id == {1}[2]"}
_KNOWN: dict[str, Callable[[Any], tuple]] = {
    "numpy": lambda a: (a.dtype, a.shape, a.flags.writeable), "cupy": lambda a: (a.dtype, a.shape, a.data.device_id)}
_EXACTLY = {"dynamic_dims_sizes": None, "dynamic_dims_strides": None}      # no size and no stride may differ


def reader(args: tuple, free: tuple[bool, ...], refused: str) -> Callable[..., tuple | None]:
    """A function of a later call's arguments, as many as `args`. It gives their values, which are the addresses of
    arrays and the scalars in `free`, where the call is like that with `args`: by type, dtype, shape and place, and by
    all other scalars. It gives None for another call, and where `refused` holds, an expression of the values p0, p1,
    and so on. It always gives None for tensors that torch cannot tell apart."""
    libraries = [library_of(type(arg)) for arg in args]
    tensors = [position for position, library in enumerate(libraries) if library == "torch"]
    guards = _guards(*[args[position] for position in tensors]) if tensors else None
    if tensors and guards is None:
        return lambda *args: None
    tests = [f"check({', '.join([f'a{position}' for position in tensors])})"] if tensors else []
    known, values = [], []
    for position, (arg, library) in enumerate(zip(args, libraries)):
        name = f"a{position}"
        if library != "torch":
            tests.append(f"type({name}) is types[{position}]")
        if library in _EQUAL:
            equal = _EQUAL[library].replace("CONTIGUOUS", contiguous(type(arg)))
            tests.append(equal.format(name, f"known[{position}]"))
        elif library is None and not free[position]:
            tests.append(f"{name} == known[{position}]")
        if library is not None or free[position]:
            values.append((ADDRESSES[library] if library else "{0}").format(name))
        known.append(_KNOWN[library](arg) if library in _KNOWN else arg if library is None else None)
    make = _compiled(len(args), tuple(tests), tuple(values), refused)
    return make(guards.check if guards else None, tuple(known), tuple(map(type, args)))


def contiguous(kind: type) -> str:
    """The attribute that tells of an array of CuPy whether its elements lie row by row: without an object of flags
    where that is known."""
    return "_c_contiguous" if hasattr(kind, "_c_contiguous") else "flags.c_contiguous"


@lru_cache(maxsize=256)
def _compiled(count: int, tests: tuple[str, ...], values: tuple[str, ...], refused: str) -> Callable[..., Callable]:
    named = "".join([f"(p{n} := {value}), " for n, value in enumerate(values)])
    like = " and ".join([*tests, f"(values := ({named}))", f"not ({refused})"])
    arguments = ", ".join([f"a{position}" for position in range(count)])
    return eval(f"lambda check, known, types: lambda {arguments}: values if {like} else None")


def _guards(*tensors: Any) -> Any:
    """What compares later tensors with these; None where this torch has no such thing, or another."""
    kind = getattr(torch_guards(), "TensorGuards", None)
    return kind(*tensors, **_EXACTLY) if kind is not None and _tells_apart(kind) else None


@lru_cache(maxsize=4)
def _tells_apart(kind: Callable[..., Any]) -> bool:
    """Whether such guards find each difference that matters to a kernel, and none between tensors that are alike."""
    torch = sys.modules["torch"]
    try:
        like = torch.zeros(2, 3)
        others = [torch.zeros(2, 4), torch.zeros(6), torch.zeros(3, 2).T, torch.zeros(2, 3, dtype=torch.int32),
                  torch.zeros(2, 3, requires_grad=True), torch.zeros(2, 3, device="meta"),
                  torch.nn.Parameter(like, requires_grad=False), torch._neg_view(like), 1.0]
        guards = kind(like, **_EXACTLY)
        return guards.check(torch.ones(2, 3)) and not any([guards.check(other) for other in others])
    except Exception:                   # whatever another version of torch makes of it
        return False

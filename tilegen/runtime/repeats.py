"""Calls like an earlier one: what was checked and inferred then is not checked and inferred again.

A call is known by its signature: the types of its arguments, and dtype, shape and place of each. An address is of
one call alone: its alignment, and that outputs overlap with nothing, are checked every time. The functions that read
a call are compiled for its types, since loops over attributes take longer than the driver takes to launch. Most calls
are like the ones before, which is told without a signature.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tilegen.runtime.arrays import allocator, library_of
from tilegen.runtime.backend import Kernel
from tilegen.runtime.binding import Binder, Bound
from tilegen.runtime.recent import ADDRESSES, contiguous, reader

MISSED = object()           # what a call gives that is like no earlier one
_MOST = 256                 # signatures of the same types, before they are forgotten
_RUN = 8                    # calls of one route after each other, after which more like them are expected
_RENEWALS = 8               # readers made for such calls of one route: one takes as long as some twenty calls
# By library: what has to be equal, and the address. {0} is the argument.
_SIGNATURES = {"numpy": "{0}.dtype, {0}.shape, {0}.flags.c_contiguous, {0}.flags.writeable",
               "cupy": "{0}.dtype, {0}.shape, {0}.CONTIGUOUS, {0}.data.device_id",
               "torch": "{0}.dtype, {0}.shape, {0}.is_contiguous(), {0}.is_neg(), {0}.requires_grad, {0}.device"}


class Repeats:
    """The calls that a kernel has had."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[type, ...], _Kind] = {}
        self._last: _Last | None = None
        self._route: _Route | None = None       # of the last call that was found by its signature
        self._run = 0                           # how many in a row had it

    def result(self, args: tuple, out: Any, stream: Any) -> Any:
        """The result of `kernel(*args, out=out, stream=stream)`, or MISSED: then nothing was launched."""
        if out is not None:
            args = (*args, *out) if type(out) is tuple and len(out) > 1 else (*args, out)
        last = self._last
        if last is not None and len(args) == last.count and (values := last.read(*args)):
            route = last.route
            if out is not None and not route.outputs_last:
                return MISSED
            if route.made:
                return route.with_new(values, stream)
            return out if route.launch(values, stream) is not MISSED else MISSED
        return self._find(args, out, stream)

    def _find(self, args: tuple, out: Any, stream: Any) -> Any:
        """The result of a call that is not like the last one, by its signature."""
        kind = self._kinds.get(tuple(map(type, args)))
        if kind is None:
            return MISSED
        try:
            route, values = kind.find(kind.routes, *args)
        except RuntimeError:            # of torch, for a tensor that is not dense
            return MISSED
        if route is None or out is not None and not route.outputs_last:
            return MISSED
        if route.made:
            result = route.with_new(values, stream)
        else:
            result = MISSED if route.refuses(*values) or route.launch(values, stream) is MISSED else out
        self._run = self._run + 1 if route is self._route else 1
        self._route = route
        if self._run >= _RUN:
            self._run = 0
            if route.last is None or route.last is self._last and route.renewals < _RENEWALS:
                route.renewals += 1
                route.last = _Last(len(args), reader(args, kind.free, route.refused), route)
            self._last = route.last
        return result

    def remember(self, args: tuple, out: Any, binder: Binder, bound: Bound, kernel: Kernel) -> None:
        """Keeps the way of this call, which was bound and launched, where the launcher has a short one for it."""
        if out is not None and not _outputs_last(binder) or any(p.strides for p in binder.arrays):
            return                      # strides are no part of a signature
        order = binder.order_of(args, out)
        if out is not None:
            args = (*args, *(out if isinstance(out, (tuple, list)) else (out,)))
        types = tuple(map(type, args))
        free = tuple([type(value) is float and name in binder.free for name, value in zip(order, args)])
        kind = self._kinds.get(types) or _kind(types, free)
        if kind is None or kind.free != free:
            return
        read = tuple([name for name, is_free in zip(order, free) if is_free or name in bound.arrays])
        new = tuple([p.name for p in binder.arrays if p.name in bound.allocated])
        launch = kernel.repeat(bound, read + new)
        if launch is None:
            return
        self._kinds[types] = kind
        if len(kind.routes) >= _MOST:
            kind.routes.clear()
        kind.routes[kind.signature(*args)] = _Route(binder, bound, read, new, launch)

    def forget(self) -> None:
        """Forgets all."""
        self._kinds.clear()
        self._last = self._route = None


@dataclass(slots=True)
class _Kind:
    """Calls with arguments of the same types. `find(routes, *args)` gives the route for their signature, if any, and
    their values: the addresses and the scalars that shape nothing."""

    free: tuple[bool, ...]
    signature: Callable[..., tuple]
    find: Callable[..., tuple]
    routes: dict[tuple, _Route]


@dataclass(slots=True)
class _Last:
    """What the last calls were all like: their number of arguments, `read` as `recent.reader` gives it, their route."""

    count: int
    read: Callable[..., tuple | None]
    route: _Route


class _Route:
    """Calls of one signature. `launch(values, stream)` gives MISSED where it cannot serve a call."""

    __slots__ = ("refuses", "refused", "launch", "made", "address", "returned", "workspaces", "outputs_last",
                 "renewals", "last")

    def __init__(self, binder: Binder, bound: Bound, read: tuple[str, ...], new: tuple[str, ...],
                 launch: Callable[[tuple, Any], Any]) -> None:
        names = [f"p{position}" for position in range(len(read + new))]
        self.refuses = _compiled(*names, _refused(binder, bound, read + new))
        self.refused = _refused(binder, bound, read)
        self.launch = launch if not _with_gradients(bound) else _unless_recorded(launch)
        example = next((bound.arrays[name] for name in read if name in bound.arrays), None)
        self.made = [allocator(example, bound.arrays[name].shape, binder.dtypes[name]) for name in new]
        self.address = _compiled("array", ADDRESSES[example.library].format("array")) if new else None
        self.returned = [new.index(name) for name in binder.outputs if name in new]
        self.workspaces = len(new) > len(self.returned)
        self.outputs_last, self.renewals = _outputs_last(binder), 0
        self.last: _Last | None = None

    def with_new(self, values: tuple, stream: Any) -> Any:
        """The call with new memory for what the caller left out, and its result."""
        if self.workspaces and stream is not None:
            return MISSED               # somebody has to keep them until the stream is done
        new = [make() for make in self.made]
        values += tuple(map(self.address, new))
        if self.refuses(*values) or self.launch(values, stream) is MISSED:
            return MISSED
        if len(self.returned) == 1:
            return new[self.returned[0]]
        return tuple([new[position] for position in self.returned]) or None


def _with_gradients(bound: Bound) -> bool:
    return any([a.library == "torch" and a.owner.requires_grad for a in bound.arrays.values()])


def _unless_recorded(launch: Callable[[tuple, Any], Any]) -> Callable[[tuple, Any], Any]:
    """`launch`, except where torch records gradients: such calls are refused, the long way."""
    records = sys.modules["torch"].is_grad_enabled
    return lambda values, stream: MISSED if records() else launch(values, stream)


def _outputs_last(binder: Binder) -> bool:
    outputs = [name in binder.outputs for name in binder.names]
    return outputs == sorted(outputs)


def _kind(types: tuple[type, ...], free: tuple[bool, ...]) -> _Kind | None:
    """The readers for arguments of these types; None where one is of a type that is not read this way."""
    signature, values = [], []
    for position, (kind, is_free) in enumerate(zip(types, free)):
        library, argument = library_of(kind), f"a{position}"
        if library:
            signature.append(_SIGNATURES[library].replace("CONTIGUOUS", contiguous(kind)).format(argument))
            values.append(ADDRESSES[library].format(argument))
        elif kind in (float, int, bool):
            (values if is_free else signature).append(argument)
        else:
            return None
    key, read = (f"({', '.join(parts)},)" if parts else "()" for parts in (signature, values))
    names = [f"a{position}" for position in range(len(types))]
    return _Kind(free, _compiled(*names, key), _compiled("routes", *names, f"routes.get({key}), {read}"), {})


def _refused(binder: Binder, bound: Bound, names: tuple[str, ...]) -> str:
    """Whether an address among the values p0, p1, ... is not aligned, or an output shares memory, as an expression:
    then the long way says what is wrong."""
    params = {p.name: p for p in binder.arrays}
    arrays = [(f"p{position}", params[name], bound.arrays[name]) for position, name in enumerate(names)
              if name in params]
    masks: dict[int, list[str]] = {}
    for address, param, _ in arrays:
        masks.setdefault(binder.alignments[param.name] - 1, []).append(address)
    tests = [f"({' | '.join(some)}) & {mask}" for mask, some in masks.items() if mask]
    for position, (address, param, array) in enumerate(arrays):
        for other, second, its in arrays[position + 1:]:
            if (param.writes or second.writes) and array.nbytes and its.nbytes:
                tests.append(f"-{its.nbytes} < {other} - {address} < {array.nbytes}")
    return " or ".join(tests) or "False"


@lru_cache(maxsize=1024)
def _compiled(*names_and_body: str) -> Callable[..., Any]:
    """A function of arguments with these names, whose value is the expression that comes last."""
    *names, body = names_and_body
    return eval(f"lambda {', '.join(names)}: ({body})")

"""Libraries as candidates of a race: what they have for the operation of a kernel.

Nobody says what a kernel does: it is found by trying the operations of `operations.py` on small inputs until one gives
the kernel's results. Where none does, a function called `torch_matmul(A, B)` in the kernel's Python file, with the
library and the kernel in its name, is the peer.
"""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from tilegen import ir
from tilegen.check import compare, tolerance
from tilegen.errors import TilegenError
from tilegen.interpreted import Interpreted
from tilegen.racing.memory import as_torch, on_host, require_torch
from tilegen.racing.operations import OPERATIONS, Operation
from tilegen.runtime.arrays import require_cupy
from tilegen.runtime.contract import Contract
from tilegen.trial import SMALL, choose_sizes, copied, make_arguments, unseen

NAMES = {"numpy": "NumPy", "torch": "torch", "cublas": "cuBLAS", "triton": "Triton by torch.compile"}
PLACES = {"numpy": ("cpu",), "torch": ("cpu", "gpu"), "cublas": ("gpu",), "triton": ("gpu",)}
_SLACK = 4              # another program rounds elsewhere
_MISFITS = (ValueError, TypeError, IndexError, AttributeError, RuntimeError, NotImplementedError)


@dataclass(frozen=True)
class Peer:
    """A library's call: what it is named, the operation in words, and a function without arguments that gives the
    result, or a tuple of results."""

    name: str
    words: str
    call: Callable[[], Any]


def operation_of(reference: ir.Kernel, contract: Contract, given: Mapping[str, Any]) -> Operation | None:
    """The operation that gives the results of a kernel on small random inputs; None where none does.

    `given` are scalar arguments by name.
    """
    sizes = choose_sizes(contract, given, SMALL)
    arguments = make_arguments(contract, sizes, given, seed=1)
    expected = copied(arguments)
    Interpreted(reference)(**expected, **unseen(contract, sizes))
    outputs = [p for p in contract.caller_params if p.writes]
    if len(outputs) != 1:
        return None
    output, = outputs
    inputs = [_exact(arguments[p.name]) for p in contract.caller_params if not p.is_output]
    rtol = _SLACK * tolerance(reference, output.dtype, {k.name: k.value for k in reference.knobs} | sizes)
    for operation in OPERATIONS:
        if operation.inputs == len(inputs) and _gives(operation, inputs, expected[output.name], rtol):
            return operation
    return None


def _exact(value: Any) -> Any:
    return value.astype(numpy.float64) if isinstance(value, numpy.ndarray) else value


def _gives(operation: Operation, inputs: Sequence[Any], expected: numpy.ndarray, rtol: float) -> bool:
    wanted = _exact(expected)
    with numpy.errstate(all="ignore"):
        try:
            got = numpy.asarray(operation.apply(numpy, *inputs, **_out(operation, numpy.empty_like(wanted))))
        except _MISFITS:
            return False
    return got.shape == wanted.shape and compare("", got, wanted, rtol).ok


def _out(operation: Operation, memory: Any) -> dict[str, Any]:
    return {"out": memory} if operation.has_out else {}


def find(library: str, place: str, contract: Contract, operation: Operation | None, own: Mapping[str, Any],
         arguments: Mapping[str, Any]) -> Peer:
    """The peer `library` for a kernel at `place` (cpu or gpu). `own` are the names of the kernel's Python file,
    `arguments` arrays at that place and scalars, by the names of the contract.

    Raises TG0506 for a library that is unknown, is not for that place, or has nothing that does what the kernel does;
    TG0304 where it is not installed.
    """
    if library not in PLACES:
        raise TilegenError("TG0506", f"{library} is no peer", hint=f"peers are {', '.join(PLACES)}")
    if place not in PLACES[library]:
        raise TilegenError("TG0506", f"{NAMES[library]} does not run on the {place}", hint="peers there: "
                           + ", ".join(name for name, places in PLACES.items() if place in places))
    inputs = [arguments[p.name] for p in contract.caller_params if not p.is_output]
    if library != "numpy" and (library != "cublas" or _has_torch()):
        inputs = [as_torch(value) for value in inputs]
    if function := own.get(f"{library}_{contract.entry}"):
        return Peer(NAMES[library], f"{function.__name__}()", lambda: function(*inputs))
    if operation is None or library == "cublas" and not operation.is_product:
        raise TilegenError("TG0506", f"no operation of {NAMES[library]} is known to do what {contract.entry} does",
                           hint=f"define {library}_{contract.entry}(...) in its Python file: it takes the inputs as "
                           f"arrays of {'torch' if library != 'numpy' else 'NumPy'} and returns the outputs")
    output = next(arguments[p.name] for p in contract.caller_params if p.writes)
    return Peer(NAMES[library], _in_words(operation, contract), _call(library, operation, inputs, output))


def _in_words(operation: Operation, contract: Contract) -> str:
    """The operation with the names of the kernel's arguments."""
    names = dict(zip("XYZ", (p.name for p in contract.caller_params if not p.is_output)))
    return "".join(names.get(c, c) for c in operation.words)


def _call(library: str, operation: Operation, inputs: Sequence[Any], output: Any) -> Callable[[], Any]:
    if library == "numpy":
        return _with_out(operation, numpy, inputs, numpy.empty_like(output))
    if library == "cublas" and not _has_torch():
        cupy = require_cupy("the peer cublas")
        return _with_out(operation, cupy, inputs, cupy.empty_like(output))
    torch = require_torch(f"the peer {library}")
    if library == "triton":
        return _compiled(torch, operation, inputs)
    if operation.torch:
        return lambda: operation.torch(torch, *inputs)
    return _with_out(operation, torch, inputs, torch.empty_like(as_torch(output)))


def _with_out(operation: Operation, library: Any, inputs: Sequence[Any], memory: Any) -> Callable[[], Any]:
    """The call into given memory where the library takes it, else into new memory."""
    if operation.has_out:
        try:
            operation.apply(library, *inputs, out=memory)
            return lambda: operation.apply(library, *inputs, out=memory)
        except _MISFITS:
            pass
    return lambda: operation.apply(library, *inputs)


def _compiled(torch: Any, operation: Operation, inputs: Sequence[Any]) -> Callable[[], Any]:
    """The Triton kernel that Inductor generates, with its own search among the tiles of a product."""
    options = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON"} if operation.is_product else {}
    plain = operation.torch or operation.apply
    compiled = torch.compile(lambda *values: plain(torch, *values), options=options, dynamic=False)
    previous = logging.root.manager.disable
    logging.disable(logging.CRITICAL)           # Inductor tells of every tile that it tries
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            compiled(*inputs)
    finally:
        logging.disable(previous)
    return lambda: compiled(*inputs)


def _has_torch() -> bool:
    try:
        require_torch("a peer")
    except TilegenError:
        return False
    return True


def results(value: Any) -> list[numpy.ndarray]:
    """The results of a peer's call on the host."""
    return [on_host(one) for one in (value if isinstance(value, (tuple, list)) else (value,))]

"""What libraries have in one call. Which of them a kernel does is found by running them, see `peers.py`.

Each function takes the library (a module with NumPy's names: NumPy, CuPy, torch) and the inputs of a kernel in order,
arrays of n and more dimensions, and gives its result. Those that can write into given memory take `out`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Operation:
    """`words` name it with X, Y, Z for the inputs; `torch` is the call that torch has for it, where `apply` takes
    several. A product is what BLAS does."""

    words: str
    inputs: int
    apply: Callable[..., Any]
    torch: Callable[..., Any] | None = None
    is_product: bool = False
    has_out: bool = True


def _product(turn_x: bool, turn_y: bool) -> Operation:
    def apply(library: Any, x: Any, y: Any, **out: Any) -> Any:
        return library.matmul(_turned(x) if turn_x else x, _turned(y) if turn_y else y, **out)
    return Operation(f"X{'^T' if turn_x else ''} @ Y{'^T' if turn_y else ''}", 2, apply, is_product=True)


def _turned(x: Any) -> Any:
    return x.swapaxes(-1, -2)


def _pointwise(name: str, sign: str) -> Operation:
    return Operation(f"X {sign} Y", 2, lambda library, x, y, **out: getattr(library, name)(x, y, **out))


def _copy(library: Any, x: Any, out: Any) -> Any:
    out[...] = x
    return out


def _transpose(library: Any, x: Any, out: Any) -> Any:
    out[...] = _turned(x)
    return out


def _softmax(library: Any, x: Any) -> Any:
    e = library.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _layernorm(library: Any, x: Any, weight: Any, bias: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / library.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weight + bias


def _rmsnorm(library: Any, x: Any, weight: Any) -> Any:
    return x / library.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * weight


def _attention(causal: bool) -> Operation:
    def apply(library: Any, q: Any, k: Any, v: Any) -> Any:
        scores = library.matmul(q, _turned(k)) / math.sqrt(q.shape[-1])
        if causal:
            scores = library.where(library.tri(*scores.shape[-2:], dtype=bool), scores, -library.inf)
        return library.matmul(_softmax(library, scores), v)

    def torch(library: Any, q: Any, k: Any, v: Any) -> Any:
        deep = [x.reshape((1,) * (4 - x.ndim) + tuple(x.shape)) for x in (q, k, v)]
        return library.nn.functional.scaled_dot_product_attention(*deep, is_causal=causal).reshape(q.shape)
    return Operation("attention of X, Y, Z" + (", causal" if causal else ""), 3, apply, torch, has_out=False)


OPERATIONS = [
    *(_product(turn_x, turn_y) for turn_x in (False, True) for turn_y in (False, True)),
    *(_pointwise(name, sign) for name, sign in (("add", "+"), ("subtract", "-"), ("multiply", "*"))),
    Operation("copy of X", 1, _copy, lambda library, x: x.clone()),
    Operation("X^T", 1, _transpose, lambda library, x: _turned(x).contiguous()),
    Operation("sum of the rows of X", 1, lambda library, x, **out: library.sum(x, -1, **out)),
    Operation("X * Y + Z", 3, lambda library, x, y, z: x * y + z, has_out=False),
    Operation("softmax of the rows of X", 1, _softmax, lambda library, x: library.softmax(x, -1), has_out=False),
    Operation("layer norm of X", 3, _layernorm, has_out=False,
              torch=lambda library, x, weight, bias: library.layer_norm(x, x.shape[-1:], weight, bias)),
    Operation("RMS norm of X", 2, _rmsnorm, has_out=False,
              torch=lambda library, x, weight: library.nn.functional.rms_norm(x, x.shape[-1:], weight, 1e-5)),
    _attention(False),
    _attention(True),
]

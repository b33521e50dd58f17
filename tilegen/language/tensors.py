"""Kernel functions (T.prim_func, T.macro) and what they take: tensors, sizes, defaults by target."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.language.builder import current, operation
from tilegen.language.sizes import Size
from tilegen.language.values import as_dtype, as_shape

ACCESSES = ("", "read", "write", "readwrite")


@dataclass(frozen=True)
class TensorType:
    """An annotation `T.Tensor(shape, dtype)` as written; the front end checks it."""

    shape: Any
    dtype: Any
    access: str = ""
    strides: Any = None


class TensorAnnotation:
    """The type of a tensor parameter: `T.Tensor((M, K), "float16")` or `T.Tensor[("M", "K"), "float16"]`.

    An extent is an integer, a size (`T.dynamic`, `T.const`) or a name in quotes, which declares a size.
    access="read" says that the kernel does not write it. Errors: TG0010 for a bad shape, TG0108 for an
    unknown dtype, TG0107 for a write to a tensor that is read only.
    """

    def __call__(self, shape, dtype="float32", access="") -> TensorType:
        return TensorType(shape, dtype, access)

    def __getitem__(self, item) -> TensorType:
        if not isinstance(item, tuple) or len(item) not in (2, 3):
            return TensorType(item, "float32")
        if not isinstance(item[0], (tuple, list)):
            return TensorType(item, "float32")
        return TensorType(*item)

    def __repr__(self) -> str:
        return "T.Tensor"


Tensor = TensorAnnotation()


class StridedTensorAnnotation(TensorAnnotation):
    """The type of a tensor parameter with gaps: `T.StridedTensor((M, N), ("lda", 1), "float16")`.

    strides has one entry for each dimension, in elements: an integer, a size, or a name in quotes, which declares a
    size that is read off the argument. Accesses are vectors where the last stride is 1. Errors: TG0010 for strides that
    do not fit the shape, and as T.Tensor.
    """

    def __call__(self, shape, strides, dtype="float32", access="") -> TensorType:
        return TensorType(shape, dtype, access, strides)

    def __getitem__(self, item) -> TensorType:
        if not isinstance(item, tuple) or len(item) not in (2, 3, 4):
            raise TilegenError("TG0010", "T.StridedTensor[...] takes a shape, strides and a dtype",
                               hint='write T.StridedTensor[("M", "N"), ("lda", 1), "float16"]')
        return self(*item)

    def __repr__(self) -> str:
        return "T.StridedTensor"


StridedTensor = StridedTensorAnnotation()


@dataclass(frozen=True)
class _Marked:
    """A function under a decorator, with the names that its factory had when it was defined."""

    function: Any
    names: dict[str, Any]

    @property
    def __name__(self) -> str:
        return self.function.__name__


class PrimFunc(_Marked):
    """A function under @T.prim_func."""

    def __call__(self, *args, **keywords):
        raise TilegenError("TG0006", f"{self.__name__} is a tile kernel, which Python cannot run by itself",
                           hint="put @tilegen.jit on its factory and call that")


class Macro(_Marked):
    """A function under @T.macro: inlined where a kernel calls it."""

    def __call__(self, *args, **keywords):
        raise TilegenError("TG0006", f"the macro {self.__name__} was called by Python, outside of a kernel",
                           hint="call it in a function under @tilegen.jit or @T.prim_func")


def prim_func(function) -> PrimFunc:
    """Marks a function whose annotated parameters are tensors as a tile kernel.

    The factory around it is plain Python; its numbers become the knobs of the kernel, under their names.
    """
    return PrimFunc(function, _names_of(sys._getframe(1)))


def macro(function) -> Macro:
    """Marks a function that kernels may call: its statements are put in place of the call.

    It may take tiles, elements, numbers and keywords, and may end in `return`.
    """
    return Macro(function, _names_of(sys._getframe(1)))


def _names_of(frame) -> dict[str, Any]:
    """The locals of the defining function, without arrays, which must not be kept alive."""
    if frame.f_code.co_name == "<module>":
        return {}
    return {name: value for name, value in frame.f_locals.items()
            if not hasattr(value, "__dlpack__") and not hasattr(value, "__array_interface__")}


@dataclass(frozen=True)
class ByTarget:
    """A default that differs by target."""

    default: Any
    by_target: tuple[tuple[str, Any], ...]

    def choose(self, target: str, arch: str = "") -> Any:
        values = dict(self.by_target)
        return values.get(arch, values.get(arch.rstrip("a"), values.get(target, self.default)))


def by_target(default, **targets) -> ByTarget:
    """A default of a parameter that differs by target: `BM=T.by_target(128, cpu=480)`. The name of an arch wins over
    that of its target: `BK=T.by_target(32, sm_90a=64)`; `sm_120` stands for sm_120a as well."""
    return ByTarget(default, tuple(sorted(targets.items())))


def dynamic(names: str, dtype="int32"):
    """Sizes that are known at launch: `n = T.dynamic("n")`, `m, n = T.dynamic("m, n")`.

    The name in quotes becomes an integer parameter of the emitted kernel. dtype: int32 or int64.
    """
    declared = [name.strip() for name in str(names).split(",")]
    for name in declared:
        if not name.isidentifier():
            raise TilegenError("TG0005", f"T.dynamic: {name!r} is not a name", hint='write T.dynamic("n")')
    sizes = tuple(Size(ir.Var(name, as_dtype(dtype), "size")) for name in declared)
    return sizes[0] if len(sizes) == 1 else sizes


@operation("function")
def const(names: str):
    """Sizes taken from the shapes of the arguments: `M, N, K = T.const("M, N, K")`.

    They are fixed where the kernel is specialised for its arguments, else known at launch.
    """
    return dynamic(names)


@operation("function")
def empty(shape, dtype="float32"):
    """A tensor that the kernel gives back: `C = T.empty((M, N), "float32")`, before T.Kernel.

    Raises TG0006 inside T.Kernel, TG0108 for an unknown dtype.
    """
    builder = current()
    if builder.inside_kernel:
        raise TilegenError("TG0006", "T.empty declares an output, which is done before T.Kernel", builder.loc,
                           "inside of T.Kernel use T.alloc_shared, T.alloc_fragment or T.alloc_local")
    name = builder.unique(builder.result_name or "output")
    buffer = ir.Buffer(name, as_shape(shape, "T.empty", builder.argument("shape")),
                       as_dtype(dtype, builder.argument("dtype")), "global", loc=builder.loc)
    builder.outputs.append(ir.Param(name, buffer=buffer, access="write", loc=builder.loc))
    return buffer


@operation("function")
def alloc_global(shape, dtype="float32"):
    """A workspace in the memory of the device: `partial = T.alloc_global((splits, M, N), "float32")`.

    The launcher allocates it for a call; it holds nothing until the kernel writes it, and all blocks and all
    T.Kernel of the kernel see it. shape may use sizes. Raises TG0112 where it is read before any launch has
    written it, TG0108 for an unknown dtype.
    """
    builder = current()
    name = builder.unique(builder.result_name or "workspace")
    buffer = ir.Buffer(name, as_shape(shape, "T.alloc_global", builder.argument("shape")),
                       as_dtype(dtype, builder.argument("dtype")), "global", loc=builder.loc)
    builder.workspaces.append(ir.Param(name, buffer=buffer, access="", workspace=True, loc=builder.loc))
    return buffer



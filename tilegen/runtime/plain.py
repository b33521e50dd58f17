"""A launch contract for a file that has none: hand-written CUDA, HIP, MACA or C++, with what its caller says of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilegen import targets
from tilegen.dtypes import DType, lookup
from tilegen.errors import Loc, TilegenError
from tilegen.runtime.constants import read_constants
from tilegen.runtime.contract import ANY_SHAPE, Contract, Launch, Param, check_expressions
from tilegen.runtime.expressions import parse

Extents = int | str | Sequence[int | str]

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_QUALIFIERS = re.compile(r"\b(?:const|volatile|restrict|__restrict__|__restrict|struct)\b|\[\s*\]|\[\[.*?\]\]")
_DTYPES = {
    "float": "float32", "double": "float64", "half": "float16", "__half": "float16", "_Float16": "float16",
    "__nv_bfloat16": "bfloat16", "nv_bfloat16": "bfloat16", "hip_bfloat16": "bfloat16", "__hip_bfloat16": "bfloat16",
    "char": "int8", "signed char": "int8", "int8_t": "int8", "unsigned char": "uint8", "uint8_t": "uint8",
    "short": "int16", "int16_t": "int16", "unsigned short": "uint16", "uint16_t": "uint16", "int": "int32",
    "int32_t": "int32", "unsigned": "uint32", "unsigned int": "uint32", "uint32_t": "uint32", "long": "int64",
    "long long": "int64", "int64_t": "int64", "unsigned long": "uint64", "unsigned long long": "uint64",
    "uint64_t": "uint64", "size_t": "uint64", "bool": "bool"}


@dataclass(frozen=True)
class Launching:
    """What a contract would say, given by the caller of `tilegen.load`: see there."""

    entry: str | None = None
    grid: Extents | None = None
    block: Extents | None = None
    shared: int | str = 0
    shapes: Mapping[str, Sequence[int | str]] = field(default_factory=dict)
    outputs: Sequence[str] = ()

    @property
    def is_given(self) -> bool:
        """Whether anything of it was given."""
        return self != Launching()


def contract_of(text: str, file: str, how: Launching, target: str, arch: str) -> Contract:
    """The contract of a file that has none.

    Parameters, their order and dtypes are read from the entry's signature: pointers to const are read, the others read
    and written, those in `outputs` only written. Integers that stand alone in a shape of `shapes` are inferred from
    the arrays, like sizes of emitted files. Raises TG0701 for what the caller has left out, TG0702 for a signature
    that has no counterpart in Python, and for names that nothing has.
    """
    is_cpu = targets.find(target).family == "cpu"
    missing = [name for name in (("entry",) if is_cpu else ("entry", "grid", "block")) if getattr(how, name) is None]
    if missing:
        raise TilegenError("TG0701", f"{file} has no launch contract, and load() was not given {', '.join(missing)}")
    params = _signature(_COMMENT.sub(_blank, text), file, how, is_cpu)
    names = [p.name for p in params]
    for name in [*how.shapes, *how.outputs]:
        if name not in [p.name for p in params if p.is_array]:
            raise TilegenError("TG0702", f"{how.entry} has no pointer {name}",
                               hint=f"its parameters are {', '.join(names)}")
    alone = {str(extent) for shape in how.shapes.values() for extent in shape}
    sizes = [p.name for p in params if not p.is_array and p.name in alone and p.dtype.name == "int32"]
    kept = [p for p in params if p.name not in sizes]
    order = [*(p.name for p in kept), *sizes]
    launch = Launch(how.entry, _expressions(how.grid), _expressions(how.block), _expressions(how.shared)[0],
                    tuple(order.index(name) for name in names))
    contract = Contract(entry=how.entry, target=target, arch=arch, knobs=(), launches=(launch,), params=tuple(kept),
                        sizes=tuple(sizes), file=file, constants=read_constants(text, file))
    check_expressions(contract)
    return contract


def target_of(file: str, target: str | None) -> str:
    """The target of a file without a contract: by its suffix, else the one that was asked for. Raises TG0701."""
    suffix = Path(file).suffix
    by_suffix = {targets.find(name).suffix: name for name in targets.modules()} | {".cc": "cpu", ".cxx": "cpu"}
    found = by_suffix.get(suffix) or {"emulator": "cuda"}.get(target or "", target)
    if found is None:
        raise TilegenError("TG0701", f"{file} has no launch contract, and its name does not tell its target",
                           hint=f"pass target=: one of {', '.join(targets.modules())}")
    return found


def _blank(match: re.Match) -> str:
    """A comment as blanks, so that lines stay where they are."""
    return re.sub(r"[^\n]", " ", match[0])


def _signature(code: str, file: str, how: Launching, is_cpu: bool) -> list[Param]:
    """The parameters of the entry. Raises TG0702."""
    match = re.search(rf"(?P<head>[^;{{}}]*)\b{re.escape(how.entry)}\s*\((?P<params>[^{{;]*?)\)\s*\{{", code)
    if match is None or not is_cpu and "__global__" not in match["head"]:
        raise TilegenError("TG0702", f"{file} does not define {'' if is_cpu else '__global__ '}{how.entry}")
    loc = Loc(file, code.count("\n", 0, match.end("head")) + 1)
    if 'extern "C"' not in match["head"] and not re.search(r'extern "C"\s*\{', code[:match.start("head")+1]):
        raise TilegenError("TG0702", f"{how.entry} has a C++ name, by which it is not found in the compiled file", loc,
                           hint='write extern "C" before it; of a template, call one instance from such a function')
    texts = [text.strip() for text in match["params"].split(",") if text.strip() not in ("", "void")]
    return [_param(text, how, loc) for text in texts]


def _param(text: str, how: Launching, loc: Loc) -> Param:
    plain = " ".join(_QUALIFIERS.sub(" ", text).replace("*", " * ").split())
    kind, _, name = plain.rpartition(" ")
    is_pointer, kind = "*" in kind or "[" in text, kind.replace("*", "").strip()
    dtype: DType | None = lookup(_DTYPES.get(kind, ""))
    if dtype is None or plain.count("*") > 1:
        raise TilegenError("TG0702", f"{how.entry}: the parameter `{text}` has no counterpart in Python", loc,
                           hint=f"parameters are pointers and values of {', '.join(dict.fromkeys(_DTYPES))}")
    if not is_pointer:
        return Param(name, dtype)
    is_const = re.search(r"\bconst\b[^*]*\*|\bconst\b[^*]*\[", text) is not None
    access = "write" if name in how.outputs else "read" if is_const else "readwrite"
    shape = tuple(str(extent) for extent in how.shapes[name]) if name in how.shapes else ANY_SHAPE
    if access == "write" and shape == ANY_SHAPE:
        raise TilegenError("TG0702", f"the output {name} has no shape to be allocated with",
                           hint=f'pass shapes={{"{name}": ("M", "N")}}')
    return Param(name, dtype, shape, access)


def _expressions(value: Extents | None) -> tuple[str, ...]:
    """One expression, or several, each checked for syntax (TG0702)."""
    several = ("1",) if value is None else (value,) if isinstance(value, (int, str)) else value
    found = tuple(str(one) for one in several)
    for one in found:
        parse(one)
    return found

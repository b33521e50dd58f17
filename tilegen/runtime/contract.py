"""The launch contract: what a loader has to know of an emitted file, read from the file alone.

One JSON object in a comment that starts with `// tilegen-launch: {`. Its expressions speak of sizes
and of the file's own `constexpr`s, so that a hand edit of a knob changes the launch as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tilegen.dtypes import DType, lookup
from tilegen.errors import Loc, TilegenError
from tilegen.runtime.constants import Constants, read_constants
from tilegen.runtime.expressions import Number, evaluate, names, parse

MARK = "// tilegen-launch:"
ANY_SHAPE = ("...",)            # of an argument that may have any number of elements
_ACCESSES = ("read", "write", "readwrite", "workspace")
_PARAM_KEYS = {"name", "dtype", "shape", "access", "align", "box", "strides"}
_LAUNCH_KEYS = {"entry", "grid", "block", "cluster", "shared", "arguments"}
_KEYS = {"entry", "target", "arch", "knobs", "grid", "block", "cluster", "shared", "launches", "params", "sizes",
         "requires", "map", "source", "ir"}


@dataclass(frozen=True)
class Param:
    """One argument of the entry: an array with a shape of expressions, or a scalar (`shape` is None). A
    workspace is an array that the launcher allocates."""

    name: str
    dtype: DType
    shape: tuple[str, ...] | None = None
    access: str = "read"
    align: int = 1
    box: tuple[str, ...] = ()                    # of a tensor that is passed as a tensor map, see tensor_maps.py
    strides: tuple[str, ...] = ()                # in elements, of an array that may have gaps; else rows follow rows

    @property
    def is_array(self) -> bool:
        """Whether it is passed as a pointer."""
        return self.shape is not None

    @property
    def has_shape(self) -> bool:
        """Whether it is an array whose shape the contract gives."""
        return self.shape is not None and self.shape != ANY_SHAPE

    @property
    def writes(self) -> bool:
        """Whether the kernel changes it for its caller."""
        return self.access in ("write", "readwrite")

    @property
    def is_workspace(self) -> bool:
        """Whether callers neither pass nor see it."""
        return self.access == "workspace"

    @property
    def is_output(self) -> bool:
        """Written and never read: the caller may leave it out."""
        return self.access == "write"


@dataclass(frozen=True)
class Geometry:
    """What one launch needs beside its arguments; `shared` is in bytes."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    cluster: tuple[int, int, int] = (1, 1, 1)

    @property
    def is_empty(self) -> bool:
        """Whether there is no block to run."""
        return 0 in self.grid


@dataclass(frozen=True)
class Launch:
    """One launch of a file: its entry, and how it is launched. `arguments` are positions among the parameters
    and sizes of the contract."""

    entry: str
    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared: str
    arguments: tuple[int, ...]
    cluster: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contract:
    """The parsed contract of one file. Expressions are kept as text, checked for syntax. `launches` run in
    order; a file of one launch names it as it names itself."""

    entry: str
    target: str
    arch: str
    knobs: tuple[str, ...]
    launches: tuple[Launch, ...]
    params: tuple[Param, ...]
    sizes: tuple[str, ...]
    requires: tuple[str, ...] = ()
    line_map: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    source: str = ""
    ir: str = ""
    file: str = "<text>"
    constants: Constants = field(default_factory=lambda: Constants("<text>", {}), repr=False)

    @property
    def knob_values(self) -> dict[str, Number]:
        """The knobs as they stand in the file."""
        return {name: self.constants[name] for name in self.knobs}

    def value(self, expression: str, known: Mapping[str, Number]) -> Number:
        """`expression` with the sizes and scalars in `known` and the constants of the file."""
        return evaluate(expression, lambda name: known[name] if name in known else self.constants[name])

    def named(self) -> set[str]:
        """The names in the expressions of shapes, strides, boxes, launches and conditions."""
        arrays = [p for p in self.params if p.has_shape]
        expressions = [e for p in arrays for e in (*p.shape, *p.box, *p.strides)]
        expressions += [e for one in self.launches for e in (*one.grid, *one.block, *one.cluster, one.shared)]
        return {name for expression in (*expressions, *self.requires) for name in names(expression)}

    def check_names(self, given: Iterable[str]) -> None:
        """Raises TG0503 for a name that is neither a size nor a scalar argument of the kernel."""
        known = set(self.sizes) | {p.name for p in self.params if not p.is_array}
        for name in given:
            if name not in known:
                raise TilegenError("TG0503", f"{self.entry} has no size or scalar argument {name}",
                                   hint=f"it has {', '.join(sorted(known)) or 'none'}")

    def geometries(self, known: Mapping[str, Number]) -> tuple[Geometry, ...]:
        """Grid, block, cluster and shared bytes of each launch, for the sizes and scalars in `known`."""
        def triple(expressions: tuple[str, ...]) -> tuple[int, int, int]:
            values = [int(self.value(e, known)) for e in expressions]
            return tuple(values + [1] * (3 - len(values)))
        return tuple(Geometry(triple(one.grid), triple(one.block), int(self.value(one.shared, known)),
                              triple(one.cluster)) for one in self.launches)

    @property
    def caller_params(self) -> tuple[Param, ...]:
        """The parameters without the workspaces."""
        return tuple(p for p in self.params if not p.is_workspace)


def read_contract(text: str, file: str = "<text>") -> Contract:
    """The contract in `text`; `file` is the name that errors show.

    Raises TG0701 where there is none, TG0702 where it cannot be understood.
    """
    raw, line = _find(text, file)
    reader = _Reader(raw, Loc(file, line))
    constants = read_constants(text, file)
    try:
        contract = reader.contract(constants)
        check_expressions(contract)
    except TilegenError as error:
        raise error.with_loc(reader.loc) from None
    return contract


def _find(text: str, file: str) -> tuple[dict, int]:
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if line.lstrip().startswith(MARK)]
    if not starts:
        raise TilegenError("TG0701", f"{file} has no launch contract (a comment `{MARK} {{...}}`)",
                           hint="restore it: tilegen merge FILE --kernel KERNEL.py -o FILE; or say in Python how it is "
                           "launched: tilegen.load(FILE, entry=, grid=, block=)")
    if len(starts) > 1:
        raise TilegenError("TG0702", f"{file} has {len(starts)} launch contracts", Loc(file, starts[1] + 1))
    first = starts[0]
    pieces = [lines[first].lstrip()[len(MARK):]]
    for line in lines[first + 1:]:
        if not line.lstrip().startswith("//"):
            break
        pieces.append(line.lstrip()[2:])
    comment = "\n".join(pieces).lstrip()
    try:
        return json.JSONDecoder().raw_decode(comment)[0], first + 1
    except json.JSONDecodeError as error:
        raise TilegenError("TG0702", f"the launch contract is not JSON: {error.msg}",
                           Loc(file, first + error.lineno)) from None


class _Reader:
    """Turns the JSON object into a Contract, with an error that names the field at fault."""

    def __init__(self, raw: object, loc: Loc) -> None:
        self.loc = loc
        if not isinstance(raw, dict):
            self.fail("it is not a JSON object")
        self.raw = raw
        if unknown := set(raw) - _KEYS - _LAUNCH_KEYS:
            self.fail(f"the field {sorted(unknown)[0]!r} is unknown to this version")

    def fail(self, why: str) -> None:
        raise TilegenError("TG0702", f"the launch contract cannot be read: {why}", self.loc)

    def contract(self, constants: Constants) -> Contract:
        params, sizes = tuple(self.param(p) for p in self.items("params")), self.texts("sizes", ())
        return Contract(
            entry=self.text("entry"), target=self.text("target"), arch=self.text("arch", ""),
            knobs=self.texts("knobs", ()), launches=self.launches([*(p.name for p in params), *sizes]),
            params=params, sizes=sizes, requires=self.expressions("requires", ()),
            line_map=self.lines(), source=self.text("source", ""), ir=self.text("ir", ""),
            file=constants.file, constants=constants)

    def launches(self, names: list[str]) -> tuple[Launch, ...]:
        """The launches, whose fields are those of the contract where it is one."""
        if "launches" not in self.raw:
            return (self.launch(self.text("entry"), tuple(range(len(names)))),)
        if both := sorted((_LAUNCH_KEYS - {"entry"}) & set(self.raw)):
            self.fail(f"{both[0]!r} belongs into the entries of 'launches'")
        found = []
        for item in self.items("launches"):
            if not isinstance(item, dict) or set(item) - _LAUNCH_KEYS:
                self.fail(f"an entry of 'launches' has a field other than {', '.join(sorted(_LAUNCH_KEYS))}")
            inner = _Reader(item, self.loc)
            if unknown := [name for name in inner.texts("arguments") if name not in names]:
                self.fail(f"a launch has the argument {unknown[0]}, which is neither a parameter nor a size")
            places = tuple(names.index(name) for name in inner.texts("arguments"))
            found.append(inner.launch(inner.text("entry"), places))
        return tuple(found)

    def launch(self, entry: str, arguments: tuple[int, ...]) -> Launch:
        return Launch(entry, self.expressions("grid", ("1",)), self.expressions("block", ("1",)),
                      self.expressions("shared", ("0",))[0], arguments, self.expressions("cluster", ()))

    def text(self, key: str, default: str | None = None) -> str:
        value = self.raw.get(key, default)
        if not isinstance(value, str):
            self.fail(f"{key!r} has to be a string")
        return value

    def items(self, key: str) -> list:
        value = self.raw.get(key)
        if not isinstance(value, list):
            self.fail(f"{key!r} has to be a list")
        return value

    def texts(self, key: str, default: tuple | None = None) -> tuple[str, ...]:
        value = self.raw.get(key, default)
        value = [value] if isinstance(value, (str, int)) else value
        if not isinstance(value, (list, tuple)) or not all(isinstance(v, (str, int)) for v in value):
            self.fail(f"{key!r} has to be a list of strings")
        return tuple(str(v) for v in value)

    def expressions(self, key: str, default: tuple) -> tuple[str, ...]:
        found = self.texts(key, default)
        if key in ("grid", "block", "cluster") and len(found) > 3:
            self.fail(f"{key!r} has more than three entries")
        for expression in found:
            parse(expression)
        return found

    def param(self, raw: object) -> Param:
        if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
            self.fail("an entry of 'params' has no name")
        name = raw["name"]
        if unknown := set(raw) - _PARAM_KEYS:
            self.fail(f"argument {name}: the field {sorted(unknown)[0]!r} is unknown to this version")
        dtype = lookup(raw.get("dtype", ""))
        if dtype is None:
            self.fail(f"argument {name}: unknown dtype {raw.get('dtype')!r}")
        if raw.get("shape") is None:
            return Param(name, dtype)
        access = raw.get("access", "read")
        if access not in _ACCESSES:
            self.fail(f"argument {name}: access {access!r} is none of {', '.join(_ACCESSES)}")
        shape = tuple(str(extent) for extent in raw["shape"])
        for extent in shape:
            parse(extent)
        box, strides = (tuple(str(extent) for extent in raw.get(key, ())) for key in ("box", "strides"))
        for extent in (*box, *strides):
            parse(extent)
        if strides and len(strides) != len(shape):
            self.fail(f"argument {name}: {len(shape)} dimensions and {len(strides)} strides")
        return Param(name, dtype, shape, access, int(raw.get("align", 1)), box, strides)

    def lines(self) -> dict[str, tuple[int, int]]:
        try:
            return {str(k): (int(first), int(last)) for k, (first, last) in self.raw.get("map", {}).items()}
        except (AttributeError, TypeError, ValueError):
            self.fail("'map' has to give [first, last] for each Python line")


def check_expressions(contract: Contract) -> None:
    """Raises TG0702 for a name in an expression that is no size, no integer scalar and no constant of the file."""
    for knob in contract.knobs:
        if knob not in contract.constants:
            raise TilegenError("TG0702", f"the launch contract names the knob {knob}, but the file has no "
                               f"`constexpr int {knob} = ...;`")
    for size in contract.sizes:
        if size in contract.constants:
            raise TilegenError("TG0702", f"{size} is both a size of the launch contract and a `constexpr`",
                               contract.constants.loc(size))
    scalars = {p.name for p in contract.params if not p.is_array}
    known = scalars.union(contract.sizes)
    shapes = [(f"the shape of {p.name}", e) for p in contract.params if p.has_shape for e in (*p.shape, *p.strides)]
    launch = [(key, e) for one in contract.launches for key in ("grid", "block", "cluster") for e in getattr(one, key)]
    launch += [("shared", one.shared) for one in contract.launches] + [("requires", e) for e in contract.requires]
    for where, expression in [*shapes, *launch]:
        for name in names(expression):
            if name not in known and name not in contract.constants:
                raise TilegenError("TG0702", f"{where} of the launch contract names {name}, which is neither "
                                   "one of its sizes nor a `constexpr` of the file")

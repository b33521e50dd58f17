"""Runs an emitted GPU file on the CPU and reports what is wrong with it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilegen.emulator import symbols
from tilegen.emulator.build import Mode, compile_file
from tilegen.errors import Loc, Note, TilegenError

ORDERS = ("forward", "reverse", "random")
SUFFIXES = {"cuda": ".cu", "hip": ".hip", "maca": ".maca"}
_VALUE, _ARRAY, _READ_ONLY_ARRAY, _TENSOR_MAP = 0, 1, 2, 3
_TENSOR_MAP_MAGIC = 0x746D


@dataclass(frozen=True)
class BankUse:
    """How the accesses of one line to shared memory fall on its 32 banks.

    `instructions` of a warp in the whole launch; `ways` is how many steps they took for each step that they
    would take without conflicts, `worst` the most in one of them; `bytes` are those of one lane.
    """

    line: int
    kind: str                                    # read or write
    bytes: int
    instructions: int
    ways: float
    worst: int


@dataclass(frozen=True)
class Report:
    """What a launch did. `meetings` counts lanes at warp operations, `barriers` completed barriers of
    blocks, `switches` changes from one thread to another; `shared_bytes` is the most that a block used."""

    blocks: int
    switches: int
    meetings: int
    barriers: int
    shared_bytes: int
    seconds: float
    bank_uses: tuple[BankUse, ...] = ()          # only of a file compiled with check or sanitize


@dataclass(frozen=True)
class Library:
    """A compiled file: its shared library, the name of its source, and how it was compiled."""

    path: Path
    source: Path
    warp_size: int
    mode: Mode = field(default_factory=Mode)


class _Argument(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64), ("kind", ctypes.c_int)]


class _ConflictRow(ctypes.Structure):
    _fields_ = [("address", ctypes.c_uint64), ("instructions", ctypes.c_uint64), ("steps", ctypes.c_uint64),
                ("needed", ctypes.c_uint64), ("worst", ctypes.c_uint32), ("bytes", ctypes.c_uint32),
                ("write", ctypes.c_int), ("line", ctypes.c_int), ("file", ctypes.c_char * 256)]


class _TensorMapBytes(ctypes.Structure):
    _fields_ = [("base", ctypes.c_uint64), ("strides", ctypes.c_uint64 * 4), ("dims", ctypes.c_uint32 * 5),
                ("box", ctypes.c_uint16 * 5), ("swizzle", ctypes.c_uint16), ("rank", ctypes.c_uint8),
                ("element_bytes", ctypes.c_uint8), ("magic", ctypes.c_uint16), ("array_bytes", ctypes.c_uint64),
                ("unused", ctypes.c_uint64 * 4)]


class _Request(ctypes.Structure):
    _fields_ = [("call", ctypes.c_void_p), ("dynamic", ctypes.c_void_p), ("arguments", ctypes.POINTER(_Argument)), ("argument_count", ctypes.c_int),
                ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("cluster", ctypes.c_uint * 3),
                ("shared_bytes", ctypes.c_uint64), ("warp_size", ctypes.c_int), ("order", ctypes.c_int),
                ("os_threads", ctypes.c_int), ("check", ctypes.c_int), ("seed", ctypes.c_uint64),
                ("timeout", ctypes.c_double), ("conflicts", ctypes.POINTER(_ConflictRow)), ("conflict_room", ctypes.c_int)]


class _Report(ctypes.Structure):
    _fields_ = [("failed", ctypes.c_int), ("line", ctypes.c_int), ("other_line", ctypes.c_int),
                ("has_thread", ctypes.c_int), ("message", ctypes.c_char * 2048), ("file", ctypes.c_char * 1024),
                ("other_file", ctypes.c_char * 1024), ("block", ctypes.c_uint * 3), ("thread", ctypes.c_uint * 3),
                ("address", ctypes.c_uint64), ("other_address", ctypes.c_uint64), ("blocks", ctypes.c_uint64),
                ("switches", ctypes.c_uint64), ("meetings", ctypes.c_uint64), ("barriers", ctypes.c_uint64),
                ("shared_bytes", ctypes.c_uint64), ("seconds", ctypes.c_double), ("conflict_count", ctypes.c_int)]


def compile_source(text: str, suffix_or_target: str, *, warp_size: int, name: str | None = None, debug: bool = False,
                   check: bool = False, sanitize: bool = False, compiler: str | None = None,
                   root: Path | None = None) -> Library:
    """Compiles an emitted file for the emulator.

    `suffix_or_target` is `.cu` or `cuda`, and so on; `name` the file name that reports show. `check` watches
    every access to memory (races, bounds, reads of what nobody wrote), `sanitize` adds undefined behaviour,
    `debug` compiles for a debugger. `compiler` is g++, clang++ or zig, else the first one found; `root` the
    cache folder. Raises TG0301 without a compiler, TG0602 where the text does not compile.
    """
    suffix = SUFFIXES.get(suffix_or_target, suffix_or_target)
    file = name or f"kernel{suffix}"
    mode = Mode(debug, check, sanitize)
    path = compile_file(text, file, mode, compiler=compiler, root=root)
    return Library(path, path.parent / file, warp_size, mode)


def tensor_map(array: object, box: Sequence[int], swizzle: int = 0, *, shape: Sequence[int] | None = None,
               strides: Sequence[int] | None = None) -> ctypes.Structure:
    """A tensor map as the emulator's copy engine reads it, to be passed in the place of a kernel's map.

    `box` is the extent of one copy, outermost dimension first, as in `array.shape`; `swizzle` is 0, 32, 64 or
    128 bytes. `shape` and `strides` (in bytes) describe another view of the array's memory.
    """
    shape = tuple(array.shape if shape is None else shape)
    strides = tuple(array.strides if strides is None else strides)
    if not len(shape) == len(box) == len(strides) <= 5:
        raise TilegenError("TG0403", f"a tensor map needs as many box sizes as dimensions: {tuple(box)} for {shape}")
    address = array.__array_interface__["data"][0]
    rank = len(shape)
    return _TensorMapBytes(address, (ctypes.c_uint64 * 4)(*strides[-2::-1]), (ctypes.c_uint32 * 5)(*shape[::-1]),
                           (ctypes.c_uint16 * 5)(*tuple(box)[::-1]), swizzle, rank, array.itemsize,
                           _TENSOR_MAP_MAGIC, array.nbytes)


def launch(library: Library, entry: str, grid: Sequence[int], block: Sequence[int], shared_bytes: int,
           args: Sequence[object], *, cluster: Sequence[int] = (1, 1, 1), order: str = "forward", seed: int = 0,
           threads: int | None = None, timeout: float = 60.0) -> Report:
    """Runs kernel `entry` of a compiled file.

    `args` are NumPy arrays, which the kernel gets as pointers, and ctypes values (`ctypes.c_int(n)`); a plain
    int or float is passed as C `int` or `float`. The arrays are changed in place, unless they are read only.
    `order` is the order in which the threads of a block run: forward, reverse, or random by `seed`.
    `threads` is the number of operating-system threads, `timeout` in seconds. Raises TG0601 for a fault of
    the kernel, TG0411 for a launch that no GPU would take.
    """
    code = _load(library.path)
    call = getattr(code, f"tilegen_emulator_entry_{entry}", None)
    if call is None:
        raise TilegenError("TG0411", f"{library.source.name} has no kernel {entry!r}")
    keep: list[object] = []
    arguments = (_Argument * max(len(args), 1))(*(_argument(value, position, keep) for position, value in enumerate(args)))
    sizes = [_three(grid), _three(block), _three(cluster)]
    _check_sizes(*sizes)
    if 0 in sizes[0]:
        return Report(0, 0, 0, 0, 0, 0.0)
    watched = library.mode.check or library.mode.sanitize
    rows = (_ConflictRow * (256 if watched else 0))()
    dynamic = getattr(code, "tilegen_emulator_dynamic", None)
    request = _Request(ctypes.cast(call, ctypes.c_void_p), ctypes.cast(dynamic, ctypes.c_void_p) if dynamic else None, arguments, len(args),
                       *((ctypes.c_uint * 3)(*size) for size in sizes), shared_bytes, library.warp_size,
                       ORDERS.index(order), threads or os.cpu_count() or 1, watched, seed, timeout,
                       rows, len(rows))
    report = _Report()
    if code.tilegen_emulator_launch(ctypes.byref(request), ctypes.byref(report)):
        raise _fault(library, report)
    return Report(report.blocks, report.switches, report.meetings, report.barriers, report.shared_bytes,
                  report.seconds, _bank_uses(library, rows[:report.conflict_count]))


_loaded: dict[Path, ctypes.CDLL] = {}


def _load(path: Path) -> ctypes.CDLL:
    if path not in _loaded:
        _loaded[path] = ctypes.CDLL(str(path))
    return _loaded[path]


def _argument(value: object, position: int, keep: list[object]) -> _Argument:
    """One argument in memory; `keep` holds what must live until the launch is over."""
    if hasattr(value, "__array_interface__"):
        interface = value.__array_interface__
        address, read_only = interface["data"]
        if not value.flags["C_CONTIGUOUS"]:
            raise TilegenError("TG0404", f"argument {position} is not contiguous")
        return _Argument(address, value.nbytes, _READ_ONLY_ARRAY if read_only else _ARRAY)
    kind = _TENSOR_MAP if isinstance(value, _TensorMapBytes) else _VALUE
    if isinstance(value, bool | int):
        value = ctypes.c_int(value)
    elif isinstance(value, float):
        value = ctypes.c_float(value)
    if not isinstance(value, ctypes._SimpleCData | ctypes.Structure | ctypes.Array):
        raise TilegenError("TG0407", f"argument {position} is neither an array nor a number: {type(value).__name__}")
    keep.append(value)
    return _Argument(ctypes.addressof(value), ctypes.sizeof(value), kind)


def _three(size: Sequence[int]) -> tuple[int, int, int]:
    return tuple([*map(int, size), 1, 1][:3])


def _check_sizes(grid: tuple, block: tuple, cluster: tuple) -> None:
    threads = block[0] * block[1] * block[2]
    if not 1 <= threads <= 1024:
        raise TilegenError("TG0411", f"a block of {threads} threads: 1 to 1024 can be launched")
    if any(g % c for g, c in zip(grid, cluster, strict=True)):
        raise TilegenError("TG0411", f"the grid {grid} is not a multiple of the cluster {cluster}")


def _fault(library: Library, report: _Report) -> TilegenError:
    """What the runtime found, as an error at the emitted line."""
    place = _place(library, report.file.decode(), report.line, report.address)
    other = _place(library, report.other_file.decode(), report.other_line, report.other_address)
    message = report.message.decode(errors="replace")
    if report.has_thread:
        block, thread = tuple(report.block), tuple(report.thread)
        message = f"{message} (block {block}, thread {thread}{f', {place.short}' if place else ''})"
    notes = (Note("the other access", other),) if other else ()
    return TilegenError("TG0601", message, place, notes=notes)


def _bank_uses(library: Library, rows: Sequence[_ConflictRow]) -> tuple[BankUse, ...]:
    """One entry a line and width: the compiler may have made several accesses of one."""
    sums: dict[tuple, list[int]] = {}
    for row in rows:
        place = _place(library, row.file.decode(), row.line, row.address)
        key = (place.line if place else 0, "write" if row.write else "read", row.bytes)
        total = sums.setdefault(key, [0, 0, 0, 0])
        total[:3] = (t + n for t, n in zip(total, (row.instructions, row.steps, row.needed)))
        total[3] = max(total[3], row.worst)
    return tuple(BankUse(*key, instructions, needed / steps, worst)
                 for key, (instructions, steps, needed, worst) in sorted(sums.items()))


def _place(library: Library, file: str, line: int, address: int) -> Loc | None:
    if not line and address:
        file, line = symbols.line_of(library.path, address, library.source.name)
    if not line:
        return None
    return Loc(str(library.source) if file == library.source.name else file, line)

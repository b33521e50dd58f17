"""Runs an emitted GPU file on the CPU and reports what is wrong with it."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilegen.build import lint
from tilegen.emulator import symbols
from tilegen.emulator.build import Mode, compile_file
from tilegen.errors import TilegenError
from tilegen.runtime.emulator_faults import Fault, Writer, fault_of, writer_of
from tilegen.runtime.emulator_records import (ConflictRow, ReportRecord, RequestRecord, arguments_of,
                                              tensor_map, texture)

__all__ = ["ORDERS", "SUFFIXES", "BankUse", "Fault", "Library", "Report", "Writer", "attempt",
           "compile_source", "debugger_command", "launch", "tensor_map", "texture"]

ORDERS = ("forward", "reverse", "random")
SUFFIXES = {"cuda": ".cu", "hip": ".hip", "maca": ".maca"}
_BANK_ROWS = 1024
_MOST_THREADS, _MOST_BLOCKS = 1024, 16


@dataclass(frozen=True)
class BankUse:
    """How the accesses of one line to shared memory fall on its 32 banks.

    `instructions` of a warp in the whole launch; `ways` is how many steps they took for each step that they
    would take without conflicts, `worst` the most in one of them; `bytes` are those of one lane. `calls` are
    the lines that called it, from the inside out.
    """

    line: int
    kind: str                                    # read or write
    bytes: int
    instructions: int
    ways: float
    worst: int
    calls: tuple[int, ...] = ()


@dataclass(frozen=True)
class Report:
    """What a launch did. `meetings` counts lanes at warp operations, `barriers` completed barriers of
    blocks, `switches` changes from one thread to another; `shared_bytes` is the most that a block used."""

    blocks: int = 0
    switches: int = 0
    meetings: int = 0
    barriers: int = 0
    shared_bytes: int = 0
    seconds: float = 0.0
    bank_uses: tuple[BankUse, ...] = ()          # only of a file compiled with check or sanitize
    fault: Fault | None = None                   # what stopped it; the counts are zero then
    writer: Writer | None = None                 # of the byte that was watched

    def followed_by(self, later: Report) -> Report:
        """What this launch and a later one of the same call did."""
        return Report(self.blocks + later.blocks, self.switches + later.switches, self.meetings + later.meetings,
                      self.barriers + later.barriers, max(self.shared_bytes, later.shared_bytes),
                      self.seconds + later.seconds, self.bank_uses + later.bank_uses,
                      writer=later.writer or self.writer)


@dataclass(frozen=True)
class Library:
    """A compiled file: its shared library, its source as compiled, how it was compiled, and where the text
    comes from: errors point to that file as long as it has this text."""

    path: Path
    source: Path
    warp_size: int
    mode: Mode = field(default_factory=Mode)
    origin: lint.Origin = lint.Origin("")


def compile_source(text: str, suffix_or_target: str, *, warp_size: int, name: str | None = None,
                   debug: bool = False, check: bool = False, sanitize: bool = False,
                   compiler: str | None = None, root: Path | None = None,
                   origin: lint.Origin = lint.Origin("")) -> Library:
    """Compiles an emitted file for the emulator.

    `suffix_or_target` is `.cu` or `cuda`, and so on; `name` the file name that reports show. `check` watches
    every access to memory (races, bounds, alignment, reads of what nobody wrote); `sanitize` adds undefined
    behaviour; `debug` compiles for a debugger. `compiler` is g++, clang++ or zig, else the first one found;
    `root` the cache folder; `origin` the file and the kernel that the text comes from. Raises TG0301 without
    a compiler, TG0602 where the text does not compile.
    """
    suffix = SUFFIXES.get(suffix_or_target, suffix_or_target)
    file = name or f"kernel{suffix}"
    mode = Mode(debug=debug, check=check or sanitize, sanitize=sanitize)
    path = compile_file(lint.without_directives(text), file, mode, compiler=compiler, root=root, origin=origin)
    return Library(path, path.parent / file, warp_size, mode, origin)


def launch(library: Library, entry: str, grid: Sequence[int], block: Sequence[int], shared_bytes: int,
           args: Sequence[object], *, cluster: Sequence[int] = (1, 1, 1), order: str = "forward",
           seed: int = 0, threads: int | None = None, timeout: float = 60.0,
           names: Sequence[str] = ()) -> Report:
    """Runs kernel `entry` of a compiled file; see `attempt`. Raises TG0601 for a fault of the kernel."""
    report = attempt(library, entry, grid, block, shared_bytes, args, cluster=cluster, order=order, seed=seed,
                     threads=threads, timeout=timeout, names=names)
    if report.fault:
        raise report.fault.error()
    return report


def attempt(library: Library, entry: str, grid: Sequence[int], block: Sequence[int], shared_bytes: int,
            args: Sequence[object], *, cluster: Sequence[int] = (1, 1, 1), order: str = "forward",
            seed: int = 0, threads: int | None = None, timeout: float = 60.0, names: Sequence[str] = (),
            watch: tuple[int, int] = (-1, 0)) -> Report:
    """Runs kernel `entry` of a compiled file, to its end or to the first fault.

    `args` are NumPy arrays, which the kernel gets as pointers, and ctypes values (`ctypes.c_int(n)`); a plain
    int or float is passed as C `int` or `float`. The arrays are changed in place, unless they are read only.
    `order` is the order in which the threads of a block run: forward, reverse, or random by `seed`.
    `threads` is the number of operating-system threads, `timeout` in seconds; `names` are what reports call
    the arguments. `watch` is the number of an argument and a byte in it: the report of a file compiled with
    `check` says who wrote it last. Raises TG0411 for a launch that no GPU would take.
    """
    code = _load(library.path)
    call = getattr(code, f"tilegen_emulator_entry_{entry}", None)
    if call is None:
        raise TilegenError("TG0411", f"{library.source.name} has no kernel {entry!r}")
    sizes = [_three(grid), _three(block), _cluster(code, entry, _three(cluster))]
    _check_sizes(*sizes, (ctypes.c_uint * 4).in_dll(code, f"tilegen_emulator_limits_{entry}")[3])
    keep: list[object] = []
    arguments = arguments_of(args, names, keep)
    if 0 in sizes[0]:
        return Report()
    rows = (ConflictRow * (_BANK_ROWS if library.mode.check else 0))()
    dynamic = getattr(code, "tilegen_emulator_dynamic", None)
    request = RequestRecord(
        ctypes.cast(call, ctypes.c_void_p), ctypes.cast(dynamic, ctypes.c_void_p) if dynamic else None,
        arguments, len(args), *((ctypes.c_uint * 3)(*size) for size in sizes), shared_bytes,
        library.warp_size, ORDERS.index(order), threads or os.cpu_count() or 1, library.mode.check, seed,
        timeout, rows, len(rows), *watch)
    report = ReportRecord()
    if code.tilegen_emulator_launch(ctypes.byref(request), ctypes.byref(report)):
        return Report(fault=fault_of(library.path, library.source, report, names, library.origin))
    return Report(report.blocks, report.switches, report.meetings, report.barriers, report.shared_bytes,
                  report.seconds, _bank_uses(library, rows[:report.conflict_count]),
                  writer=writer_of(library.path, library.source, report, library.origin))


def debugger_command(library: Library, line: int, thread: int = 0) -> str:
    """A shell command that attaches gdb to this process and stops where thread `thread` of a block (counted
    through its dimensions) comes to `line` of the emitted file. For a file compiled with `debug`."""
    place = f"break {library.source.name}:{line} if tilegen_emulator_thread() == {thread}"
    commands = ("handle SIGURG nostop noprint", f"directory {library.source.parent}",
                "set breakpoint pending on", place, "continue")
    return " ".join([f"gdb -p {os.getpid()}", *(f"-ex '{command}'" for command in commands)])


_loaded: dict[Path, ctypes.CDLL] = {}            # in the order of their last use
_KEEP_MEMORY = 2                                 # so many of them keep the stacks of their threads


def _load(path: Path) -> ctypes.CDLL:
    code = _loaded.pop(path, None) or ctypes.CDLL(str(path))
    _loaded[path] = code
    for older in list(_loaded)[-_KEEP_MEMORY - 1:-_KEEP_MEMORY]:
        _loaded[older].tilegen_emulator_release()
    return code


def _three(size: Sequence[int]) -> tuple[int, int, int]:
    return tuple([*map(int, size), 1, 1][:3])


def _cluster(code: ctypes.CDLL, entry: str, cluster: tuple) -> tuple:
    """The size of clusters: what the kernel is declared with stands where the launch does not say."""
    declared = tuple((ctypes.c_uint * 4).in_dll(code, f"tilegen_emulator_limits_{entry}")[:3])
    if 0 in declared:
        return cluster
    if cluster not in (declared, (1, 1, 1)):
        raise TilegenError("TG0411", f"{entry} is declared with __cluster_dims__{declared} and launched with "
                           f"clusters of {cluster}")
    return declared


def _check_sizes(grid: tuple, block: tuple, cluster: tuple, most_threads: int) -> None:
    threads, blocks = math.prod(block), math.prod(cluster)
    if not 1 <= threads <= _MOST_THREADS:
        raise TilegenError("TG0411", f"a block of {threads} threads: 1 to {_MOST_THREADS} can be launched")
    if most_threads and threads > most_threads:
        raise TilegenError("TG0411", f"a block of {threads} threads, but the kernel is declared with "
                           f"__launch_bounds__({most_threads})")
    if not 1 <= blocks <= _MOST_BLOCKS:
        raise TilegenError("TG0411", f"a cluster of {blocks} blocks: 1 to {_MOST_BLOCKS} can be launched",
                           hint="more than 8 only where the kernel asks for a size that is not portable")
    if any(g % c for g, c in zip(grid, cluster)):
        raise TilegenError("TG0411", f"the grid {grid} is not a multiple of the cluster {cluster}")


def _bank_uses(library: Library, rows: Sequence[ConflictRow]) -> tuple[BankUse, ...]:
    """One entry a line, width and way of being called: the compiler may have made several accesses of one."""
    sums: dict[tuple, list[int]] = {}
    addresses = [address for row in rows for address in (row.address, *row.callers)]
    chains = symbols.chains_of(library.path, addresses, library.source.name)
    each = 1 + len(rows[0].callers) if rows else 1
    for number, row in enumerate(rows):
        found = [line for chain in chains[number * each:(number + 1) * each] for line in chain]
        line = row.line or (found[0] if found else 0)
        calls = tuple(dict.fromkeys(n for n in found if n != line))
        key = (line, "write" if row.write else "read", row.bytes, calls)
        total = sums.setdefault(key, [0, 0, 0, 0])
        for i, count in enumerate((row.instructions, row.steps, row.needed)):
            total[i] += count
        total[3] = max(total[3], row.worst)
    return tuple(BankUse(*key[:3], instructions, needed / steps, worst, key[3])
                 for key, (instructions, steps, needed, worst) in sorted(sums.items()))

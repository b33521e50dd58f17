"""`@tilegen.jit(source="kernel.cu")`: a file that a person has edited stands in for what would be emitted."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tilegen import printer, targets
from tilegen.emit.contract import digest
from tilegen.errors import TilegenError
from tilegen.jit import Specialised
from tilegen.later import Later
from tilegen.literals import emitted_with
from tilegen.targets import Target

if TYPE_CHECKING:
    from tilegen.runtime.load import Loaded

loading = Later("tilegen.runtime.load")

_TICK = 100_000_000         # nanoseconds: longer than the clock of any file system stands still


class EditedFile:
    """The file, loaded again whenever its content changes."""

    def __init__(self, path: Path, specialise: Callable[[Target, dict], Specialised]) -> None:
        self.path = path
        self._specialise = specialise
        self._stamp: tuple | None = None
        self._loaded: Loaded | None = None
        self._told = False

    def loaded(self) -> Loaded:
        """The kernel in the file as it stands now. Raises TG0504 where there is no file, TG0701, TG0702."""
        try:
            status = self.path.stat()
        except OSError as error:
            raise TilegenError("TG0504", f"cannot read {self.path}: {error.strerror}",
                               hint=f"write it first: tilegen emit KERNEL.py -o {self.path.name}") from None
        # ctime beside mtime: no program can set it back (on Windows it is the time of creation)
        changed = max(status.st_ctime_ns, status.st_mtime_ns)
        stamp = status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_ino
        if stamp != self._stamp:
            fresh = loading.load(self.path)
            if self._loaded is None or fresh.source != self._loaded.source:
                self._loaded = fresh
                self._compare(fresh)
            # a change in the same tick of the clock would have the same stamp
            self._stamp = stamp if time.time_ns() - changed > _TICK else None
        return self._loaded

    def _compare(self, loaded: Loaded) -> None:
        """Says once that the Python has changed since the file was emitted."""
        contract = loaded.contract
        if not contract.ir or self._told:
            return
        made = self._specialise(targets.find(contract.target, contract.arch), emitted_with(loaded.source))
        if not _is_of(made, contract.ir):
            self._told = True
            print(f"tilegen: {self.path} was emitted from an earlier {contract.source.rpartition(':')[0] or 'kernel'}; "
                  "the file is used as it is", file=sys.stderr)


def _is_of(made: Specialised, ir_hash: str) -> bool:
    """Whether a kernel is the one that a file was emitted from."""
    try:
        return digest(printer.show(made.kernel)) == ir_hash
    except TilegenError:                # it does not have the knobs any more that the file was emitted with
        return False


def beside(path: str | os.PathLike, function: object) -> Path:
    """A relative path, taken from the folder of the kernel's Python file where the file is there, else from the
    current folder."""
    code = getattr(getattr(function, "function", function), "__code__", None)
    near = Path(code.co_filename).parent / path if code else Path(path)
    return near if near.is_file() else Path(path)

"""The text of a file as it was emitted, kept in `.tilegen/` beside the file: what its hand edits are told by."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from tilegen import files
from tilegen.errors import TilegenError

FOLDER = ".tilegen"


def write(path: str | os.PathLike, text: str, emitted: str | None = None, overwrite: bool = False) -> Path:
    """Writes `text` to `path` as `files.write` does, and what was `emitted` (without: `text`) to
    `.tilegen/` beside it. Where that folder cannot be written, a warning says so, and nothing else changes.

    Raises TG0504 as `files.write`. A pipe or a device gets the text alone.
    """
    written = files.write(path, text, overwrite)
    if written.is_file():
        try:
            files.write(place(written), text if emitted is None else emitted, overwrite=True, parents=True)
        except TilegenError as error:
            warnings.warn(f"{error.message}: `tilegen merge` will have to emit it again", stacklevel=2)
    return written


def place(path: str | os.PathLike) -> Path:
    """Where the emitted text of the file `path` is kept."""
    path = Path(path)
    return path.parent / FOLDER / path.name


def read(path: str | os.PathLike) -> str | None:
    """The text that `path` was emitted as; None where it was not kept."""
    try:
        return place(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def require_unedited(path: str | os.PathLike, text: str) -> None:
    """Raises TG0504 where the file `path` holds something else than `text` and than what was emitted to it last:
    hand edits, or a file that tilegen did not write."""
    path = Path(path)
    try:
        standing = path.read_text(encoding="utf-8") if path.is_file() else text
    except (OSError, UnicodeDecodeError):
        standing = None                                   # no text of tilegen's
    if standing in (text, read(path)):
        return
    raise TilegenError("TG0504", f"{path} has been edited since it was emitted" if read(path) is not None else
                       f"{path} was not emitted by tilegen, or its emitted text was not kept",
                       hint=f"`tilegen merge {path}` emits it again and keeps the edits; --force overwrites it")


def set_aside(path: str | os.PathLike, text: str) -> Path | None:
    """Keeps what stands in the file `path` as `.tilegen/NAME.before`, where it is about to become another `text`.

    Gives that file, or None where there is nothing to keep. Raises TG0504 where it cannot be kept.
    """
    path = Path(path)
    if not path.is_file():
        return None
    try:
        former = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise TilegenError("TG0504", f"cannot keep what is in {path}: {reason}") from None
    if former == text:
        return None
    kept = place(path).with_name(f"{path.name}.before")
    return files.write(kept, former, overwrite=True, parents=True)

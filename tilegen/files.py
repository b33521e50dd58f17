"""Writing output files: all of a file or nothing, and never over another one by accident."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tilegen.errors import TilegenError


def write(path: str | os.PathLike, text: str, overwrite: bool = False, parents: bool = False) -> Path:
    """Writes `text` to `path` in one step, so that an interrupt leaves no half-written file; with `parents`,
    folders that are missing are made.

    Raises TG0504 where the file cannot be written, and, without `overwrite`, where it exists with another
    content.
    """
    path = Path(path)
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        if not overwrite and path.exists() and path.read_bytes() != text.encode():
            raise TilegenError("TG0504", f"{path} exists and has another content",
                               hint="pass overwrite=True to replace it, or choose another name")
        if path.exists() and not path.is_file():        # a pipe or /dev/null is written as it is
            path.write_text(text, encoding="utf-8")
        else:
            _replace(path.resolve(), text)
    except OSError as error:
        raise TilegenError("TG0504", f"cannot write {path}: {error.strerror or error}") from None
    return path


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    """The permissions that new files do not get; the system tells them only by setting them."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask

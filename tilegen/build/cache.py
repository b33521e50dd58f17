"""The content-addressed store of compiled kernels, on disk and private to the user.

One folder an entry, `matmul-cuda-sm_90a-<hash>/`, made beside its place and renamed into it, so that
another process sees all of it or nothing. The least recently used entries go when the store is full.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import filelock
import platformdirs

from tilegen import config
from tilegen.errors import TilegenError

LIMIT_BYTES = 2 * 10**9
_RECORD = "entry.json"
_STALE_SECONDS = 3600


@dataclass(frozen=True)
class Entry:
    """One stored result. `files` maps each file name to its SHA-256; `facts` is what the builder noted."""

    path: Path
    name: str
    facts: dict
    files: dict
    used: float
    bytes: int

    def file(self, name: str) -> Path:
        """The path of one of its files."""
        return self.path / name


def folder() -> Path:
    """Where the cache is: the setting `cache_dir`, else the user's cache folder."""
    chosen = config.cache_dir
    return Path(chosen).expanduser() if chosen else Path(platformdirs.user_cache_dir("tilegen"))


def content_hash(*parts: object) -> str:
    """A hash of the parts, in order (JSON values); the name of an entry ends in it."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def fetch(prefix: str, digest: str, produce: Callable[[Path], dict], root: Path | None = None,
          limit: int = LIMIT_BYTES) -> tuple[Entry, bool]:
    """The entry for `digest`, and whether it was there already.

    `produce(folder)` fills an empty folder and returns the facts to note; it runs in one process at a
    time for one digest. An entry that is damaged is made again. Raises TG0303 where the folder cannot
    be used; whatever `produce` raises passes through and leaves nothing behind.
    """
    root = root or folder()
    place = _place(root, prefix, digest)
    entry = _read_sound(place)
    if entry is not None:
        _touch(entry)
        return entry, True
    _make_folder(root)
    with _lock(root, digest):
        entry = _read_sound(place)
        if entry is not None:
            return entry, True
        entry = _produce(root, place, produce)
    prune(limit, root, keep=place)
    return entry, False


def put(prefix: str, digest: str, produce: Callable[[Path], dict], root: Path | None = None) -> Entry:
    """As `fetch`, but always makes the entry anew."""
    root = root or folder()
    _make_folder(root)
    with _lock(root, digest):
        return _produce(root, _place(root, prefix, digest), produce)


def entries(root: Path | None = None) -> list[Entry]:
    """All readable entries, the most recently used first. Their checksums are not compared."""
    root = root or folder()
    if not root.is_dir():
        return []
    found = [_read(path) for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return sorted((e for e in found if e), key=lambda e: -e.used)


def find(text: str, root: Path | None = None) -> list[Entry]:
    """The entries whose name contains `text`."""
    return [entry for entry in entries(root) if text in entry.name]


def remove(chosen: Iterable[Entry]) -> int:
    """Deletes the entries and returns the bytes that this freed."""
    freed = 0
    for entry in chosen:
        shutil.rmtree(entry.path, ignore_errors=True)
        freed += entry.bytes
    return freed


def prune(limit: int = LIMIT_BYTES, root: Path | None = None, keep: Path | None = None) -> int:
    """Deletes the least recently used entries until the rest fits in `limit` bytes; returns bytes freed."""
    root = root or folder()
    _sweep(root)
    total, leaving = 0, []
    for entry in entries(root):
        total += entry.bytes
        if total > limit and entry.path != keep:
            leaving.append(entry)
    return remove(leaving)


def _place(root: Path, prefix: str, digest: str) -> Path:
    return root / f"{re.sub(r'[^A-Za-z0-9_.]+', '-', prefix)}-{digest}"


def _produce(root: Path, place: Path, produce: Callable[[Path], dict]) -> Entry:
    with _writing(root):
        work = Path(tempfile.mkdtemp(prefix=".making-", dir=root))
    try:
        facts = produce(work)
        with _writing(root):
            files = {p.name: _checksum(p) for p in sorted(work.iterdir())}
            (work / _RECORD).write_text(json.dumps({"facts": facts, "files": files}, indent=1))
            _discard(place)
            os.rename(work, place)
    finally:
        shutil.rmtree(work, ignore_errors=True)     # also when the user interrupts
    return _read(place)


def _discard(place: Path) -> None:
    """Moves a damaged entry out of the way in one step, then deletes it."""
    if place.exists():
        grave = Path(tempfile.mkdtemp(prefix=".making-", dir=place.parent))
        os.rename(place, grave / "old")
        shutil.rmtree(grave, ignore_errors=True)


def _read(place: Path) -> Entry | None:
    try:
        record = json.loads((place / _RECORD).read_text())
        files = dict(record["files"])
        size = sum((place / name).stat().st_size for name in files)
        used = (place / _RECORD).stat().st_mtime
        return Entry(place, place.name, dict(record["facts"]), files, used, size)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _read_sound(place: Path) -> Entry | None:
    """The entry if it is whole, unchanged, and not another user's."""
    entry = _read(place)
    if entry is None or not _is_ours(place):
        return None
    try:
        sound = all(_checksum(place / name) == digest for name, digest in entry.files.items())
    except OSError:
        return None
    return entry if sound else None


def _is_ours(place: Path) -> bool:
    if not hasattr(os, "getuid"):
        return True
    status = place.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _touch(entry: Entry) -> None:
    with contextlib.suppress(OSError):      # a cache that is read only still serves
        os.utime(entry.path / _RECORD)


def _make_folder(root: Path) -> None:
    with _writing(root):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextlib.contextmanager
def _lock(root: Path, digest: str) -> Iterator[None]:
    """Held by one process at a time for one digest; freed by the system when its process dies."""
    locks = root / ".locks"
    with _writing(root):
        locks.mkdir(mode=0o700, exist_ok=True)
        lock = filelock.FileLock(locks / f"{digest}.lock")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _writing(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TilegenError("TG0303", f"cannot write to the cache {root}: {error.strerror or error}",
                           hint="set TILEGEN_CACHE_DIR to a folder that you can write to") from None


def _sweep(root: Path) -> None:
    """Removes folders that a killed process left half made, and old lock files."""
    horizon = time.time() - _STALE_SECONDS
    for path in [*root.glob(".making-*"), *root.glob(".locks/*.lock")]:
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < horizon:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

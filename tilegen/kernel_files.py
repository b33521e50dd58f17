"""Finds the kernel in a Python file: what `tilegen emit gemm.py:matmul` names."""

from __future__ import annotations

import contextlib
import importlib.util
import linecache
import sys
import traceback
from pathlib import Path
from types import ModuleType

from tilegen.api import Factory, Kernel, jit
from tilegen.errors import Loc, TilegenError
from tilegen.frontend.suggest import did_you_mean
from tilegen.language.tensors import PrimFunc

_MODULE = "tilegen_kernel_file"
_STDIN = "stdin.py"


def find(place: str) -> Kernel | Factory:
    """The kernel at `gemm.py`, `gemm.py:matmul`, or `-` (the text on standard input).

    Raises TG0504 where the file cannot be read, TG0507 where it fails to run, TG0505 where it holds no kernel,
    several, or not the named one.
    """
    path, name = split(place)
    return find_in(path, name, read(path))


def find_in(path: str, name: str, text: str) -> Kernel | Factory:
    """The kernel `name` in `text`, the content of `path`; any name where it is empty. Raises as `find`."""
    found = kernels(path, text)
    if name in found:
        return found[name]
    if name:
        raise TilegenError("TG0505", f"{path} has no kernel {name}",
                           hint=did_you_mean(name, set(found)) or f"its kernels: {', '.join(found) or 'none'}")
    if not found:
        raise TilegenError("TG0505", f"{path} has no kernel", hint="put @tilegen.jit on a function of the file")
    if len(found) > 1:
        raise TilegenError("TG0505", f"{path} has {len(found)} kernels",
                           hint=f"name one of them: {', '.join(f'{path}:{name}' for name in found)}")
    return next(iter(found.values()))


def split(place: str) -> tuple[str, str]:
    """The path and the name in `gemm.py:matmul`; no name is the empty text."""
    path, colon, name = place.rpartition(":")
    if colon and name.isidentifier() and not Path(place).exists():
        return path, name
    return place, ""


def kernels(path: str, text: str | None = None) -> dict[str, Kernel | Factory]:
    """The kernels that a file defines, by their names in it; else those that it imports."""
    module = _run(path, read(path) if text is None else text)
    found: dict[str, Kernel | Factory] = {}
    for name, value in vars(module).items():
        if isinstance(value, (Kernel, Factory, PrimFunc)) and value not in found.values():
            found[name] = jit(value) if isinstance(value, PrimFunc) else value
    own = {name: kernel for name, kernel in found.items() if kernel.__wrapped__.__code__.co_filename == module.__file__}
    return own or found


def _run(path: str, text: str) -> ModuleType:
    """The module of a file, run under a name other than __main__; what it prints goes to stderr."""
    file = _STDIN if path == "-" else path
    spec = importlib.util.spec_from_loader(_MODULE, loader=None, origin=file)
    module = importlib.util.module_from_spec(spec)
    module.__file__ = file
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    folder = str(Path.cwd() if path == "-" else Path(path).resolve().parent)
    sys.modules[_MODULE] = module           # dataclasses and pickle look for it there
    sys.path.insert(0, folder)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
    except TilegenError:
        raise
    except SyntaxError as error:
        place = Loc(error.filename or file, error.lineno or 1, max((error.offset or 1) - 1, 0))
        raise TilegenError("TG0507", f"{file} is not Python: {error.msg}", place) from None
    except (Exception, SystemExit) as error:
        raise TilegenError("TG0507", f"{file} fails when it is run: {type(error).__name__}: {error}",
                           _place(error, file)) from None
    finally:
        sys.path.remove(folder)
    return module


def _place(error: BaseException, file: str) -> Loc | None:
    """The last line of the file itself that an exception came through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return Loc(file, lines[-1]) if lines else None


def read(path: str) -> str:
    """The text of a file, or of standard input for `-`. Raises TG0504."""
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise TilegenError("TG0504", f"cannot read {path}: {reason}") from None

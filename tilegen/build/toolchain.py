"""What all compilers share: compiling a text once, through the cache, with readable errors."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import tilegen
from tilegen.build import cache, lint
from tilegen.errors import TilegenError

_FORMAT = 1         # of the cache entries
_NAMED = 4          # knobs in the name of an entry


class CompilerRefusal(Exception):
    """The compiler did not accept the source; the message is its whole log."""


@dataclass(frozen=True)
class Toolchain:
    """One compiler: what it is called, its exact version, and the suffixes of what goes in and out."""

    name: str
    version: str
    source_suffix: str
    artifact_suffix: str

    @property
    def identity(self) -> tuple[str, ...]:
        """What tells this compiler from others, beside its flags; a part of the cache key."""
        return self.name, self.version

    def flags(self, arch: str) -> tuple[str, ...]:
        """All flags that change the result; they are part of the cache key."""
        raise NotImplementedError

    def compile(self, source: Path, artifact: Path, arch: str) -> str:
        """Writes `artifact` and returns the log. Raises CompilerRefusal with the log."""
        raise NotImplementedError


@dataclass(frozen=True)
class Artifact:
    """A compiled text: the result, the text as compiled, the log, and whether the cache had it."""

    path: Path
    source: Path
    log: str
    cached: bool
    milliseconds: float
    compiler: str

    @property
    def resources(self) -> lint.Resources | None:
        """Registers, spills, stack and static shared bytes, where the compiler says them."""
        return lint.resources(self.log)

    @property
    def findings(self) -> list[lint.Finding]:
        """Warnings, lost performance and spills in the log."""
        return lint.findings(self.log)


def compile_text(text: str, toolchain: Toolchain, *, name: str, target: str, arch: str,
                 origin: lint.Origin | None = None, root: Path | None = None,
                 knobs: Mapping[str, object] = MappingProxyType({})) -> Artifact:
    """Compiles `text` with `toolchain` for `arch`, or takes the result from the cache (`root`).

    `name` is the kernel's; with its `knobs` it names the entry of the cache. Raises TG0302 with the Python line
    where the compiler refuses the text.
    """
    file = name + toolchain.source_suffix
    origin = origin or lint.Origin(file)
    prefix = "-".join(filter(None, (name, target, arch, _short(knobs))))
    digest = cache.content_hash(_FORMAT, tilegen.__version__, toolchain.identity, toolchain.flags(arch), target, arch,
                                text)

    def produce(work: Path) -> dict:
        started = time.perf_counter()
        (work / file).write_text(text, encoding="utf-8")
        log = toolchain.compile(work / file, work / (name + toolchain.artifact_suffix), arch)
        (work / "log.txt").write_text(log, encoding="utf-8")
        return {"name": name, "target": target, "arch": arch, "compiler": toolchain.name,
                "version": toolchain.version, "flags": list(toolchain.flags(arch)),
                "knobs": [f"{knob}={value}" for knob, value in knobs.items()],
                "milliseconds": round(1e3 * (time.perf_counter() - started), 1)}

    started = time.perf_counter()
    try:
        entry, cached = cache.fetch(prefix, digest, produce, root)
    except CompilerRefusal as refusal:
        kept = _keep_failure(text, file, str(refusal), prefix, digest, root)
        raise lint.refusal(str(refusal), text, origin, toolchain.name, kept) from None
    elapsed = 1e3 * (time.perf_counter() - started)
    log = entry.file("log.txt").read_text(encoding="utf-8")
    return Artifact(entry.file(name + toolchain.artifact_suffix), entry.file(file), log, cached, elapsed,
                    f"{toolchain.name} {toolchain.version}")


def _short(knobs: Mapping[str, object]) -> str:
    """The first knobs, which are the user's own: BM128_BN64_BK32."""
    return "_".join(f"{name}{value}" for name, value in list(knobs.items())[:_NAMED])


def _keep_failure(text: str, file: str, log: str, prefix: str, digest: str, root: Path | None) -> Path:
    """Keeps source and log of a failed compilation in the cache, where the error can point to them."""
    def produce(work: Path) -> dict:
        (work / file).write_text(text, encoding="utf-8")
        (work / "log.txt").write_text(log, encoding="utf-8")
        return {"failed": True}
    return cache.put(f"failed-{prefix}", digest, produce, root).path


def run(command: Sequence[str], folder: Path | None = None) -> tuple[int, str]:
    """Runs a compiler with English messages; its exit status, and stdout and stderr together.

    Raises TG0301 where the program does not exist or cannot be started.
    """
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              env={**os.environ, "LC_ALL": "C"})
    except OSError as error:
        raise TilegenError("TG0301", f"cannot start {command[0]}: {error.strerror}") from None
    return done.returncode, done.stdout


def compile_with(command: Sequence[str], source: Path) -> str:
    """Runs a compiler beside `source`; its log. Raises CompilerRefusal where it fails."""
    status, log = run(command, source.parent)
    if status:
        raise CompilerRefusal(log or f"{command[0]} ended with status {status} and no message")
    return log

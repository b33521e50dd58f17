"""Compiles an emitted file for the emulator, through the cache."""

from __future__ import annotations

import platform
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tilegen.build import cache, cxx
from tilegen.build.toolchain import CompilerRefusal, compile_with
from tilegen.emulator import generate
from tilegen.emulator.driver import driver_text
from tilegen.errors import Loc, TilegenError

SOURCES = Path(__file__).parent
# The runtime is compiled in two parts, side by side: they are what a first use waits for.
RUNTIME = {
    "machine": ("context", "scheduler", "meetings", "shared_memory", "arrays", "launch", "async_copy",
                "atomics", "clocks", "calls", "checker", "global_memory", "instrumentation", "conflicts",
                "undefined"),
    "engines": ("matrix", "mbarrier", "tensor_copy", "warpgroup", "instruction_tables"),
}
_COMMON = ("-std=gnu++17", "-fPIC", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-pthread",
           "-fno-omit-frame-pointer")        # calls.cc follows the frames
_RUNTIME_FLAGS = (*_COMMON, "-O2", "-ftree-vectorize", "-g1")
# vectors are read through pointers to scalars; an array that does not fit the stack must hit its guard page
_KERNEL_FLAGS = (*_COMMON, "-fno-strict-aliasing", "-fno-math-errno", "-fstack-clash-protection", "-gdwarf-4",
                 "-w")
_FIRST_ERROR = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+):(?:(?P<column>\d+):)? (?:fatal )?error: "
                          r"(?P<text>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Mode:
    """How a file is compiled: `debug` for a debugger, `check` to watch every access, `sanitize` for
    undefined behaviour; `portable` switches fibres by ucontext instead of our own code."""

    debug: bool = False
    check: bool = False
    sanitize: bool = False
    portable: bool = False

    def flags(self, compiler: cxx.Cxx) -> tuple[str, ...]:
        """What the compiler is told for a kernel."""
        clang = _is_clang(compiler)
        flags = list(_KERNEL_FLAGS)
        flags += ["-g", "-O0"] if self.debug else ["-gline-tables-only" if clang else "-g1", "-O1"]
        # how a thread_local finds its address decides where __shared__ lies: see shared_memory.cc
        flags += ["-femulated-tls"] if clang else ["-fno-extern-tls-init", *_gcc_tls()]
        if self.check:
            # calls at every access, which instrumentation.cc answers; they exist for scalar code only
            flags += ["-fsanitize=thread", "-fsanitize=alignment"]
            flags += ["-fno-vectorize", "-fno-slp-vectorize"] if clang else ["-fno-tree-vectorize"]
        if self.sanitize:
            flags += ["-fsanitize=undefined", "-fno-sanitize=vptr"]
            flags += ["-fno-sanitize=function"] if clang else []
        return tuple(flags)

    def runtime_flags(self) -> tuple[str, ...]:
        """What the compiler is told for the runtime."""
        return (*_RUNTIME_FLAGS, *(["-DTILEGEN_PORTABLE_CONTEXT"] if self.portable else []))


def _is_clang(compiler: cxx.Cxx) -> bool:
    return compiler.name == "zig" or "clang" in compiler.version


def _gcc_tls() -> list[str]:
    dialect = {"x86_64": "gnu", "aarch64": "trad"}.get(platform.machine())
    return ["-ftls-model=global-dynamic", *([f"-mtls-dialect={dialect}"] if dialect else [])]


def compile_file(text: str, name: str, mode: Mode, *, compiler: str | None = None,
                 root: Path | None = None) -> Path:
    """The shared library that runs `text`; errors call the file `name`. `root` is the cache folder.

    Raises TG0301 without a C++ compiler, TG0602 where the compiler refuses the text.
    """
    found = cxx.find(compiler)
    runtime = runtime_folder(found, mode, root)
    source = driver_text(text, name)
    flags = mode.flags(found)
    digest = cache.content_hash(found.name, found.version, flags, mode.portable, _sources_hash(), source)

    def produce(work: Path) -> dict:
        (work / name).write_text(text, encoding="utf-8")
        (work / "driver.cc").write_text(source, encoding="utf-8")
        compile_with((*found.command, *flags, f"-I{SOURCES}", f"-I{SOURCES / 'include'}",
                      f"-I{runtime}", "-c", "driver.cc", "-o", "driver.o"), work / "driver.cc")
        compile_with((*found.command, "-shared", "-pthread", "-o", "kernel.so", "driver.o",
                      *(str(runtime / f"{part}.o") for part in RUNTIME)),
                     work / "driver.o")
        (work / "driver.o").unlink()
        return {"name": name, "compiler": found.name, "flags": list(flags), "check": mode.check}

    try:
        return cache.fetch("emulator", digest, produce, root)[0].file("kernel.so")
    except CompilerRefusal as refusal:
        raise _refused(str(refusal), text, name, digest, root) from None


def runtime_folder(compiler: cxx.Cxx, mode: Mode, root: Path | None = None) -> Path:
    """Where the compiled runtime is, with its generated header: made once for each compiler and version."""
    flags = mode.runtime_flags()
    digest = cache.content_hash(compiler.name, compiler.version, flags, _sources_hash())

    def produce(work: Path) -> dict:
        (work / "instruction_calls.h").write_text(generate.instruction_calls(), encoding="utf-8")
        (work / "instruction_tables.cc").write_text(generate.instruction_tables(), encoding="utf-8")

        def compile_part(part: str) -> None:
            source = work / f"{part}.cc"
            source.write_text("".join(f'#include "{name}.cc"\n' for name in RUNTIME[part]), encoding="utf-8")
            command = (*compiler.command, *flags, f"-I{SOURCES}", "-I.", "-c", source.name, "-o", f"{part}.o")
            compile_with(command, source)

        with ThreadPoolExecutor(len(RUNTIME)) as pool:
            list(pool.map(compile_part, RUNTIME))
        return {"name": "emulator runtime", "compiler": compiler.name}

    return cache.fetch("emulator-runtime", digest, produce, root)[0].path


@lru_cache(maxsize=1)
def _sources_hash() -> str:
    files = sorted(p for p in SOURCES.rglob("*") if p.suffix in (".h", ".cc"))
    return cache.content_hash(generate.instruction_calls(), generate.instruction_tables(),
                              *(str(p.relative_to(SOURCES)) + p.read_text(encoding="utf-8") for p in files))


def _refused(log: str, text: str, name: str, digest: str, root: Path | None) -> TilegenError:
    """The compiler's first error as ours, with the log kept in the cache."""
    def keep(work: Path) -> dict:
        (work / name).write_text(text, encoding="utf-8")
        (work / "log.txt").write_text(log, encoding="utf-8")
        return {"failed": True}
    kept = cache.put("failed-emulator", digest, keep, root)
    first = _FIRST_ERROR.search(log)
    message = first["text"] if first else log.strip().splitlines()[0]
    loc = None
    if first and first["file"] == name:
        column = int(first["column"] or 1) - 1
        loc = Loc(str(kept.file(name)), int(first["line"]), column)
    elif first:
        message += f" ({first['file']}:{first['line']})"
    return TilegenError("TG0602", f"{name} does not compile for the emulator: {message}", loc,
                        hint=f"the compiler's whole log is in {kept.file('log.txt')}")

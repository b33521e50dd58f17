"""Compiles an emitted file for the emulator, through the cache."""

from __future__ import annotations

import platform
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tilegen.build import cache, cxx, lint
from tilegen.build.toolchain import CompilerRefusal, compile_with
from tilegen.emulator import generate
from tilegen.emulator.driver import driver_text
from tilegen.errors import Loc, Note, TilegenError

SOURCES = Path(__file__).parent
# The runtime is compiled in parts, side by side: they are what a first use waits for. The checker is left
# out until the first file is compiled to be checked; until then `unchecked` stands for it.
MACHINE, ENGINES, CHECKER = "machine", "engines", "checker"
RUNTIME = {
    MACHINE: ("context", "scheduler", "deadlock", "meetings", "shared_memory", "arrays", "textures", "launch",
              "async_copy", "atomics", "calls", "unchecked", "allocation"),
    ENGINES: ("matrix", "mbarrier", "tensor_copy", "warpgroup", "tensor_memory", "tensor_moves", "tensor_checks",
              "instruction_tables"),
    CHECKER: ("clocks", "checker", "global_memory", "instrumentation", "conflicts", "undefined"),
}
_COMMON = ("-std=gnu++17", "-fPIC", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-pthread",
           "-fno-omit-frame-pointer",        # calls.cc follows the frames
           "-fno-threadsafe-statics")        # needs a library of C++, and the runtime starts none twice
_RUNTIME_FLAGS = {MACHINE: (*_COMMON, "-O1", "-g1"), ENGINES: (*_COMMON, "-O2", "-ftree-vectorize", "-g1"),
                  CHECKER: (*_COMMON, "-O2", "-g1")}
# vectors are read through pointers to scalars; an array that does not fit the stack must hit its guard page
_KERNEL_FLAGS = (*_COMMON, "-fno-strict-aliasing", "-fno-math-errno", "-fstack-clash-protection", "-gdwarf-4",
                 "-w")
_POISON = "-ftrivial-auto-var-init=pattern"  # of what a thread declares and does not initialise
_POISON_SINCE = {"clang": 8, "gcc": 12}
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
        flags += [_POISON] if poisons(compiler) else []
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

    def runtime_flags(self, part: str) -> tuple[str, ...]:
        """What the compiler is told for a part of the runtime."""
        return (*_RUNTIME_FLAGS[part], *(["-DTILEGEN_PORTABLE_CONTEXT"] if self.portable else []))

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the runtime that a file is linked with."""
        return (MACHINE, ENGINES, CHECKER) if self.check else (MACHINE, ENGINES)


def _is_clang(compiler: cxx.Cxx) -> bool:
    return compiler.name == "zig" or "clang" in compiler.version


def poisons(compiler: cxx.Cxx) -> bool:
    """Whether the compiler fills local variables that are not initialised with a pattern: gcc with the bytes
    0xfe (in float -1.7e38, in float16 NaN), clang with NaN, and with 0xaa in what is an integer to C++."""
    number = re.search(r"(\d+)\.\d+", compiler.version)
    if compiler.name == "zig" or number is None:
        return compiler.name == "zig"
    return int(number[1]) >= _POISON_SINCE["clang" if _is_clang(compiler) else "gcc"]


def _gcc_tls() -> list[str]:
    dialect = {"x86_64": "gnu", "aarch64": "trad"}.get(platform.machine())
    return ["-ftls-model=global-dynamic", *([f"-mtls-dialect={dialect}"] if dialect else [])]


def compile_file(text: str, name: str, mode: Mode, *, compiler: str | None = None,
                 root: Path | None = None, origin: lint.Origin = lint.Origin("")) -> Path:
    """The shared library that runs `text`; errors call the file `name`, or point to the file of `origin`
    where it has this text. `root` is the cache folder.

    Raises TG0301 without a C++ compiler, TG0602 where the compiler refuses the text.
    """
    found = cxx.find(compiler)
    source = driver_text(text, name)
    flags = mode.flags(found)
    digest = cache.content_hash(found.name, found.version, flags, mode.portable, _sources_hash(), source)

    def produce(work: Path) -> dict:
        (work / name).write_text(text, encoding="utf-8")
        (work / "driver.cc").write_text(source, encoding="utf-8")
        (work / "instruction_calls.h").write_text(generate.instruction_calls(), encoding="utf-8")
        command = (*found.command, *flags, f"-I{SOURCES}", f"-I{SOURCES / 'include'}", "-I.",
                   "-c", "driver.cc", "-o", "driver.o")
        # the first file is compiled beside the runtime
        with ThreadPoolExecutor(1 + len(mode.parts)) as pool:
            runtime = [pool.submit(runtime_part, found, mode, part, root) for part in mode.parts]
            compile_with(command, work / "driver.cc")
        found.link([work / "driver.o", *(part.result() for part in runtime)], work / "kernel.so")
        for made in ("driver.o", "instruction_calls.h"):
            (work / made).unlink()
        return {"name": name, "compiler": found.name, "flags": list(flags), "check": mode.check}

    try:
        return cache.fetch(f"{Path(name).stem}-emulator", digest, produce, root)[0].file("kernel.so")
    except CompilerRefusal as refusal:
        raise _refused(str(refusal), text, name, digest, root, origin) from None


def runtime_part(compiler: cxx.Cxx, mode: Mode, part: str, root: Path | None = None) -> Path:
    """The object file of a part of the runtime: made once for each compiler and version."""
    flags = mode.runtime_flags(part)
    digest = cache.content_hash(compiler.name, compiler.version, flags, part, _sources_hash())

    def produce(work: Path) -> dict:
        if part == ENGINES:
            (work / "instruction_calls.h").write_text(generate.instruction_calls(), encoding="utf-8")
            (work / "instruction_tables.cc").write_text(generate.instruction_tables(), encoding="utf-8")
        source = work / f"runtime_{part}.cc"
        source.write_text("".join(f'#include "{name}.cc"\n' for name in RUNTIME[part]), encoding="utf-8")
        command = (*compiler.command, *flags, f"-I{SOURCES}", "-I.", "-c", source.name, "-o", f"{part}.o")
        compile_with(command, source)
        return {"name": f"emulator: {part}", "compiler": compiler.name}

    return cache.fetch(f"emulator-{part}", digest, produce, root)[0].file(f"{part}.o")


@lru_cache(maxsize=1)
def _sources_hash() -> str:
    files = sorted(p for p in SOURCES.rglob("*") if p.suffix in (".h", ".cc"))
    return cache.content_hash(generate.instruction_calls(), generate.instruction_tables(),
                              *(str(p.relative_to(SOURCES)) + p.read_text(encoding="utf-8") for p in files))


def _refused(log: str, text: str, name: str, digest: str, root: Path | None,
             origin: lint.Origin) -> TilegenError:
    """The compiler's first error as ours, with the log kept in the cache."""
    def keep(work: Path) -> dict:
        (work / name).write_text(text, encoding="utf-8")
        (work / "log.txt").write_text(log, encoding="utf-8")
        return {"failed": True}
    kept = cache.put("failed-emulator", digest, keep, root)
    first = _FIRST_ERROR.search(log)
    message = first["text"] if first else log.strip().splitlines()[0]
    loc, notes = None, ()
    file = user_file(kept.file(name), origin)
    if first and first["file"] == name:
        line, column = int(first["line"]), int(first["column"] or 1) - 1
        loc = Loc(file, line, column)
        python = lint.python_line(text, line, lint.Origin(name, origin.source, origin.line_map))
        notes = (Note(f"this comes from {python.short}"),) if python else ()
    elif first:
        message += f" ({first['file']}:{first['line']})"
    return TilegenError("TG0602", f"{Path(file).name} does not compile for the emulator: {message}", loc,
                        hint=f"the compiler's whole log is in {kept.file('log.txt')}", notes=notes)


def user_file(copy: Path, origin: lint.Origin) -> str:
    """The file that the user knows, if it still has the text of `copy` in the cache; else that copy."""
    try:
        same = Path(origin.file).read_bytes() == copy.read_bytes()
    except OSError:
        return str(copy)
    return origin.file if same else str(copy)

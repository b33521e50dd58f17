"""hiprtc, AMD's run-time compiler, through the `pyhip` package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tilegen.build.toolchain import CompilerRefusal, Toolchain
from tilegen.errors import TilegenError


@dataclass(frozen=True)
class Hiprtc(Toolchain):
    """The hiprtc of the installed ROCm."""

    def flags(self, arch: str) -> tuple[str, ...]:
        return (f"--offload-arch={arch}", "-O3", "-std=c++17")

    def compile(self, source: Path, artifact: Path, arch: str) -> str:
        _, hiprtc = require_pyhip()
        program = hiprtc.hiprtcCreateProgram(source.read_text(encoding="utf-8"), source.name, [], [])
        try:
            hiprtc.hiprtcCompileProgram(program, list(self.flags(arch)))
        except hiprtc.hiprtcError as error:
            log = hiprtc.hiprtcGetProgramLog(program).rstrip("\0")
            raise CompilerRefusal(log or f"hiprtc: {type(error).__name__}") from None
        # pyhip writes the log into a bytes object that Python may share when it is empty: not asked for here
        artifact.write_bytes(hiprtc.hiprtcGetCode(program))
        hiprtc.hiprtcDestroyProgram(program)
        return ""


def find() -> Hiprtc:
    """hiprtc. Raises TG0304 without pyhip, TG0408 without the ROCm libraries."""
    hip, _ = require_pyhip()
    return Hiprtc("hiprtc", str(hip.hipRuntimeGetVersion()), ".hip", ".co")


def require_pyhip() -> tuple:
    """The modules (hip, hiprtc) of pyhip. Raises TG0304 without it, TG0408 without the ROCm libraries."""
    try:
        from pyhip import hip, hiprtc
    except ImportError:
        raise TilegenError("TG0304", "HIP kernels need the package pyhip-interface",
                           hint="pip install 'tilegen[hip]'") from None
    except (RuntimeError, OSError):
        raise TilegenError("TG0408", "HIP kernels cannot run: the ROCm library libamdhip64.so was not found",
                           hint="install ROCm, and set LD_LIBRARY_PATH to its lib folder") from None
    return hip, hiprtc

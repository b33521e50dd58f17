"""The machine instructions of a cubin, counted: which a compiler chose says more than registers do."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections import Counter
from functools import lru_cache
from pathlib import Path

from tilegen.build.toolchain import run
from tilegen.errors import TilegenError

# /*0040*/              @!P1 LDG.E.128 R4, [R2.64] ;
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(?P<name>[A-Z][A-Z0-9_]*)", re.MULTILINE)
_IN_PACKAGES = (("triton", "backends/nvidia/bin"), ("nvidia", "cu13/bin"), ("nvidia", "cuda_nvcc/bin"))


@lru_cache(maxsize=1)
def disassembler() -> tuple[str, ...]:
    """The command that prints a cubin's instructions: nvdisasm or cuobjdump of the PATH, a CUDA toolkit, or an
    installed package that brings one. Raises TG0301 where there is none."""
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    folders: list[str | None] = [None, *(str(Path(root, "bin")) for root in roots if root)]
    for package, inner in _IN_PACKAGES:
        found = importlib.util.find_spec(package)
        folders += [str(Path(root, inner)) for root in (found and found.submodule_search_locations) or ()]
    for name, options in (("nvdisasm", ("-c", "-gi")), ("cuobjdump", ("-sass",))):
        for folder in folders:
            if command := shutil.which(name, path=folder):
                return command, *options
    raise TilegenError("TG0301", "neither nvdisasm nor cuobjdump was found",
                       hint="pip install nvidia-cuda-nvdisasm, or set CUDA_HOME to a CUDA toolkit that has them")


def listing(cubin: Path) -> str:
    """The instructions of a cubin as text; nvdisasm says with them which lines they come from.

    Raises TG0301 where nothing can disassemble it.
    """
    command = disassembler()
    status, text = run((*command, str(cubin)))
    if status:
        raise TilegenError("TG0301", f"{command[0]} cannot read {cubin}: {text.strip().splitlines()[-1:] or status}")
    return text


def mix(cubin: Path) -> Counter[str]:
    """{instruction: how often it stands in the code}, without modifiers: LDG, HMMA, FFMA.

    Raises TG0301 where nothing can disassemble it.
    """
    return counted(listing(cubin))


def counted(text: str) -> Counter[str]:
    """The instructions in a listing."""
    return Counter(match["name"] for match in _INSTRUCTION.finditer(text))

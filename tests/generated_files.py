"""The emitted files of the examples, as they are committed under generated/."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from tilegen import kernel_files, targets
from tilegen.jit import Specialised
from tilegen.runtime.contract import Contract, read_contract

ROOT = Path(__file__).resolve().parent.parent
ARCHS = {"cuda": "sm_80", "hip": "gfx942", "maca": "xcore1000", "cpu": "avx2"}
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("[0-9]*.py"))


# Further files of an example, for another arch or with other values of its parameters: {example: {tail of the name:
# values}}.
VARIANTS = {"14_gemm_dtypes": {"half": {"dtype": "float16", "accum": "float16"},
                               "tf32": {"dtype": "tfloat32", "accum": "float32"},
                               "double": {"dtype": "float64", "accum": "float64", "BK": 16}},
            "09_gemm_tensor_core": {"sm90a": {"arch": "sm_90a"}, "sm120": {"arch": "sm_120"}},
            "10_flash_attention": {"sm90a": {"arch": "sm_90a"}, "sm120": {"arch": "sm_120"}},
            "31_gemm_small": {"sm90a": {"arch": "sm_90a"}}}

# Knobs that older GPUs need: an SM of sm_75 holds 1024 threads.
OF_OLDER_GPUS = {("16_rmsnorm", "sm_75"): {"blocks": 4}, ("18_online_softmax", "sm_75"): {"blocks": 2}}


class Generated(NamedTuple):
    """One file: the example that it comes from, its target, and which of VARIANTS it is."""

    example: str
    target: str
    variant: str = ""

    @property
    def path(self) -> Path:
        tail = f"_{self.variant}" if self.variant else ""
        return ROOT / "generated" / self.target / (self.example + tail + targets.find(self.target).suffix)

    @property
    def python(self) -> Path:
        return ROOT / "examples" / f"{self.example}.py"

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def contract(self) -> Contract:
        return read_contract(self.text, str(self.path))

    def specialised(self, arch: str | None = None, **values: Any) -> Specialised:
        """The example for the target, with these knobs and sizes. The working folder has to be ROOT."""
        fixed = {name: value for name, value in self.variation.items() if name != "arch"}
        fixed |= OF_OLDER_GPUS.get((self.example, arch), {})
        kernel = kernel_files.find(f"examples/{self.example}.py").specialize(**fixed | values)
        return kernel.specialised(self.target, arch or self.arch)

    @property
    def variation(self) -> dict[str, Any]:
        """The values, and perhaps the arch, that make it another file than the example's own."""
        return VARIANTS[self.example][self.variant] if self.variant else {}

    @property
    def arch(self) -> str:
        """The architecture of the file."""
        return self.variation.get("arch", ARCHS[self.target])

    def __str__(self) -> str:
        return "-".join(filter(None, (self.target, self.example, self.variant)))


FILES = [Generated(example, target) for target in ARCHS for example in EXAMPLES]
FILES += [Generated(example, "cuda", variant) for example, variants in VARIANTS.items() for variant in variants]


# ---- Parts of a file -----------------------------------------------------------------------------
@lru_cache
def sections(text: str) -> dict[str, str]:
    """{title: text} of the parts under `// ---- Title ---` lines; what comes before is "Provenance"."""
    pieces = re.split(r"^// ---- (.*?) -+\n", text, flags=re.MULTILINE)
    return {"Provenance": pieces[0], **dict(zip(pieces[1::2], pieces[2::2]))}


def without_selftest(text: str) -> str:
    """The file up to the stand-alone part."""
    return text.partition("// ---- Stand-alone")[0]


def without_contract(text: str) -> str:
    """The lines that a compiler of kernels reads, and their comments."""
    return without_selftest(text).partition("// tilegen-launch:")[0]


def code(text: str) -> str:
    """Text without comments, and without what is quoted."""
    return re.sub(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"', "", text)

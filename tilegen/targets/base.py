"""What a target is: facts about the hardware, and how its language spells things."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilegen.dtypes import DType


@dataclass(frozen=True)
class Target:
    """Facts of one target and arch. Passes receive it and read; nothing here plans."""

    name: str  # cuda, hip, maca, cpu
    arch: str  # sm_80, gfx942, avx2
    family: str  # 'gpu' or 'cpu': which list of passes plans for it
    suffix: str  # of emitted files: .cu
    folders: tuple[str, ...]  # template folders, searched in order
    warp_size: int = 1
    max_threads: int = 1024
    max_shared: int = 0  # bytes of shared memory that one block may have
    max_registers: int = 255  # of 32 bits, per thread
    multiprocessors: int = 0  # of a GPU of this arch, where the planner counts them
    register_file: int = 0  # of 32 bits, per SM; 0: occupancy is left to the compiler
    resident_threads: int = 2048  # of all blocks that an SM holds at once
    resident_blocks: int = 32  # that an SM holds at once
    vector_bytes: int = 16  # widest memory access
    async_copies: bool = False  # copies from global to shared memory in the background
    stores_matrices: bool = False  # stmatrix: a warp's 8 x 8 matrices of 16-bit elements to shared memory
    rounds_bfloat16: bool = False  # an instruction that rounds a float to bfloat16
    warpgroups: bool = False  # products by warpgroups, with operands that a copy engine brings to shared memory
    copy_engine: bool = False  # boxes of tensors to shared memory by an engine (TMA), for products of any kind
    plainer: str = ""  # the arch whose text takes calls that the copy engine cannot serve
    pair_arithmetic: bool = False  # instructions that add and multiply two float16 in a register
    includes: tuple[str, ...] = ()
    types: dict[str, str] = field(default_factory=dict, hash=False)
    functions: dict[str, dict[str, str]] = field(
        default_factory=dict, hash=False
    )  # dtype -> name -> spelling
    atomics: dict[str, dict[str, str]] = field(
        default_factory=dict, hash=False
    )  # dtype -> operation -> spelling
    compile_line: str = ""  # how a person builds the file alone

    def type(self, dtype: DType) -> str:
        """The name of an element type in emitted text."""
        return self.types.get(dtype.name, dtype.name)


# The C spelling of element types, shared by all targets.
C_TYPES = {
    "float64": "double",
    "float32": "float",
    "tfloat32": "float",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned",
    "uint64": "unsigned long long",
}

_NAMES = (
    "exp exp2 exp10 log log2 log10 log1p sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
    "erf pow fmod hypot floor ceil round trunc nearbyint"
).split()

# C's math library: float takes an f.
C_FUNCTIONS = {
    "float32": {**{n: n + "f" for n in _NAMES}, "abs": "fabsf", "min": "fminf", "max": "fmaxf"},
    "float64": {**{n: n for n in _NAMES}, "abs": "fabs", "min": "fmin", "max": "fmax"},
    "int32": {"abs": "abs", "min": "min", "max": "max"},
    "int64": {"abs": "llabs", "min": "min", "max": "max"},
}


def gpu_functions() -> dict[str, dict[str, str]]:
    """The functions of device code: C's, and instructions that CUDA, HIP and MACA give the same names."""
    result = {dtype: dict(names) for dtype, names in C_FUNCTIONS.items()}
    tests = {"isnan": "is_nan", "isinf": "is_infinite", "isfinite": "is_finite"}
    result["float32"] |= {
        "rsqrt": "rsqrtf",
        "atan2": "atan2f",
        "copysign": "copysignf",
        **tests,
    }
    result["float64"] |= {
        "rsqrt": "rsqrt",
        "atan2": "atan2",
        "copysign": "copysign",
        **tests,
    }
    for dtype in ("int32", "int64", "uint32", "uint64"):
        long = "ll" if dtype.endswith("64") else ""
        result[dtype] = {
            "abs": "llabs" if dtype == "int64" else "abs",
            "min": "min",
            "max": "max",
            "popcount": f"__popc{long}",
            "clz": f"__clz{long}",
        }
    return result


# The atomic instructions of GPUs, by dtype and operation.
GPU_ATOMICS = {
    **{dtype: {"add": "atomicAdd"} for dtype in ("float32", "float64")},
    **{
        dtype: {"add": "atomicAdd", "max": "atomicMax", "min": "atomicMin", "or": "atomicOr"}
        for dtype in ("int32", "int64", "uint32", "uint64")
    },
}

"""Names that an emitted file cannot give to a value of the kernel."""

from __future__ import annotations

from tilegen.errors import Loc, TilegenError
from tilegen.language.math import FLOAT_FUNCTIONS

_WORDS = """
alignas alignof and_eq asm auto bitand bitor bool case catch char char16_t char32_t compl const const_cast
constexpr decltype default delete do double dynamic_cast enum explicit export extern float friend goto inline
int long mutable namespace new noexcept not_eq nullptr operator or_eq private protected public register
reinterpret_cast short signed sizeof static static_assert static_cast struct switch template this
thread_local throw typedef typeid typename union unsigned using virtual void volatile wchar_t xor xor_eq
restrict main std NULL EOF NAN INFINITY assert errno threadIdx blockIdx blockDim gridDim warpSize
abs min max pow clz popc ceildiv
"""
RESERVED = frozenset(_WORDS.split()) | frozenset(FLOAT_FUNCTIONS)

# Types that emitted files define: a tile or a loop variable gets another name, since a type cannot be told from it.
TYPES = frozenset("float32x8 float64x4 int32x8 float16 bfloat16 float8_e4m3 float8_e5m2".split())

# What a C++ file with products calls the constants of its register tile, which its functions know.
REGISTER_TILE = ("MR", "NV", "LANES", "DOUBLE_LANES", "NR")

# Functions of the C library that no emitted file calls: only a name of file scope clashes with them.
AT_FILE_SCOPE = frozenset("y0 y1 yn j0 j1 jn gamma signbit time clock".split())


def require_free(name: str, what: str, loc: Loc | None) -> None:
    """Raises TG0013 for a name that is visible outside of the kernel and that C++ has already."""
    if name in RESERVED or (name in AT_FILE_SCOPE and what != "a parameter"):
        raise TilegenError("TG0013", f"{what} cannot be called {name}, which is a name of C++", loc,
                           f"choose another name, such as {name}_")
    if name in TYPES:
        raise TilegenError("TG0013", f"{what} cannot be called {name}, which is a type of emitted files", loc,
                           f"choose another name, such as {name}_")

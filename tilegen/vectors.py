"""The vector types of emitted C++ (32 bytes, GCC's vector extension) and what has a form for them."""

from __future__ import annotations

from tilegen.dtypes import DType, float32, float64, int32

# Vector types of the emitted text, by the element type that they compute in.
VECTORS = {float32: DType("float32x8", "float", 32), float64: DType("float64x4", "float", 64),
           int32: DType("int32x8", "int", 32)}
# What `&x` is in expressions.
ADDRESS = DType("address", "uint", 64)

# Functions that have a vector form (templates/cpu/helpers), by vector type.
VECTOR_FUNCTIONS = {
    "float32x8": ("exp", "exp2", "log", "log2", "tanh", "erf", "sqrt", "rsqrt", "abs", "floor", "ceil", "trunc",
                  "nearbyint"),
    "float64x4": ("abs",),
    "int32x8": ("abs",),
}
# Element types that vectors are loaded from and stored to, by vector type.
VECTOR_ELEMENTS = {"float32x8": ("float32", "float16", "bfloat16"), "float64x4": ("float64",),
                   "int32x8": ("int32", "int8", "uint8")}
VECTOR_STORES = {"float32x8": ("float32", "float16", "bfloat16"), "float64x4": ("float64",), "int32x8": ("int32",)}

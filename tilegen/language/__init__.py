"""The language of kernels: `import tilegen.language as T`.

Each name is one function that holds its signature, its documentation and the IR that it builds.
"""

import types as _types

from tilegen.language.activations import gelu, relu, sigmoid, silu, softplus
from tilegen.language.alloc import alloc_fragment, alloc_local, alloc_shared, alloc_var
from tilegen.language.asynchronous import copy_async, ptx_wait_group, sync
from tilegen.language.atomics import (
    atomic_add, atomic_addx2, atomic_addx4, atomic_max, atomic_min, atomic_or,
)
from tilegen.language.bindings import (
    get_block_binding, get_block_bindings, get_block_extent, get_block_extents, get_thread_binding,
    get_thread_bindings, get_thread_extent, get_thread_extents,
)
from tilegen.language.debug import assume, device_assert, print, sync_threads
from tilegen.language.layouts import Fragment, Layout, annotate_layout
from tilegen.language.loops import (
    Kernel, Parallel, Persistent, PersistentTileScheduler, Pipelined, grid, loop_break, serial, unroll, vectorized,
)
from tilegen.language.math import (
    abs, acos, acosh, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_not, bitwise_or, bitwise_xor,
    ceil, clamp, clz, copysign, cos, cosh, erf, exp, exp10, exp2, floor, fmod, hypot, isfinite, isinf,
    isnan, log, log10, log1p, log2, max, min, nearbyint, popcount, pow, round, rsqrt, shift_left,
    shift_right, sin, sinh, sqrt, tan, tanh, trunc,
)
from tilegen.language.random import philox, rng_init, rng_rand, rng_rand_float
from tilegen.language.raw import Raw, call_extern, import_source
from tilegen.language.reducers import alloc_reducer, finalize_reducer, reducer_init, reducer_update
from tilegen.language.reductions import (
    all_of, any_of, reduce, reduce_absmax, reduce_abssum, reduce_bitand, reduce_bitor, reduce_bitxor, reduce_max,
    reduce_min, reduce_sum,
)
from tilegen.language.safe_values import annotate_safe_value
from tilegen.language.scalar import (
    Select, bfloat16, bool_, cast, ceildiv, float8_e4m3, float8_e4m3fn, float8_e5m2, float16, float32,
    float64, floordiv, floormod, if_then_else, infinity, int4, int8, int16, int32, int64, max_value, min_value,
    reinterpret, tfloat32, truncdiv, truncmod, uint4, uint8, uint16, uint32, uint64, where,
)
from tilegen.language.scans import cummax, cumsum
from tilegen.language.scheduling import annotate_min_blocks_per_sm, use_swizzle
from tilegen.language.tensors import (
    StridedTensor, Tensor, alloc_global, by_target, const, dynamic, empty, macro, prim_func,
)
from tilegen.language.tiles import GemmWarpPolicy, clear, copy, fill, gemm
from tilegen.language.views import reshape, transpose, view
from tilegen.language.warp_tiles import gemm_warp
from tilegen.language.warps import (
    all_sync, any_sync, ballot_sync, get_lane_idx, get_warp_idx, shfl_down, shfl_sync, shfl_up, shfl_xor,
    warp_reduce_max, warp_reduce_min, warp_reduce_sum,
)

Serial, Unroll, Vectorized, async_copy = serial, unroll, vectorized, copy_async

# Every name imported above is public.
__all__ = sorted(name for name, value in globals().items()
                 if not name.startswith("_") and not isinstance(value, _types.ModuleType))

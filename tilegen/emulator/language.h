// The words of CUDA and HIP C++ that a host compiler does not know: qualifiers, indices, vectors.
#pragma once
#include "machine.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __shared__ thread_local
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict

#define threadIdx (::tilegen_emulator::self().thread_index)
#define blockIdx (::tilegen_emulator::self().block_index)
#define blockDim (::tilegen_emulator::self().block_size)
#define gridDim (::tilegen_emulator::self().grid_size)
#define warpSize (int(::tilegen_emulator::self().warp_size))

#undef assert
#define assert(condition) ((condition) ? (void)0 : ::tilegen_emulator::assertion_failed(#condition))
#define __trap() ::tilegen_emulator::trap()
#define __builtin_trap() ::tilegen_emulator::trap()
#define __brkpt() ((void)0)

namespace tilegen_emulator {

#define TILEGEN_VECTORS(T, NAME, ALIGN2, ALIGN4)                                                   \
    struct NAME##1 { T x; };                                                                       \
    struct alignas(ALIGN2) NAME##2 { T x, y; };                                                    \
    struct NAME##3 { T x, y, z; };                                                                 \
    struct alignas(ALIGN4) NAME##4 { T x, y, z, w; };                                              \
    inline NAME##1 make_##NAME##1(T x) { return {x}; }                                             \
    inline NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                                     \
    inline NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }                             \
    inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }

using uint3 = ::uint3;
using dim3 = ::dim3;
struct uint1 { unsigned x; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
inline uint1 make_uint1(unsigned x) { return {x}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

TILEGEN_VECTORS(signed char, char, 2, 4)
TILEGEN_VECTORS(unsigned char, uchar, 2, 4)
TILEGEN_VECTORS(short, short, 4, 8)
TILEGEN_VECTORS(unsigned short, ushort, 4, 8)
TILEGEN_VECTORS(int, int, 8, 16)
TILEGEN_VECTORS(float, float, 8, 16)
TILEGEN_VECTORS(double, double, 16, 16)
TILEGEN_VECTORS(long, long, 16, 16)
TILEGEN_VECTORS(unsigned long, ulong, 16, 16)
TILEGEN_VECTORS(long long, longlong, 16, 16)
TILEGEN_VECTORS(unsigned long long, ulonglong, 16, 16)
#undef TILEGEN_VECTORS

// 128 bytes that describe a tensor to the copy engine; filled by the launcher (see tensor_copy.h).
struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };

}  // namespace tilegen_emulator

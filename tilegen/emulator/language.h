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
// `used`: others may write it too, so a read is a read even where this file never writes. Shared memory
// is not initialised; g++ has to be told, or it puts a "constructed" flag beside the variable.
#if defined(__clang__)
#define __shared__ __attribute__((used)) thread_local
#else
#define __shared__ __attribute__((used)) __constinit thread_local
#endif
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

// Vectors are copied whole, through `all`: one access to memory, as on the GPU.
#define TILEGEN_WHOLE(NAME)                                                                                  \
    NAME() = default;                                                                                        \
    NAME(const NAME& other) : all(other.all) {}                                                              \
    NAME& operator=(const NAME& other)                                                                       \
    {                                                                                                        \
        all = other.all;                                                                                     \
        return *this;                                                                                        \
    }

#define TILEGEN_VECTOR2(T, NAME)                                                                             \
    struct alignas(2 * sizeof(T)) NAME {                                                                     \
        typedef T Whole __attribute__((vector_size(2 * sizeof(T))));                                         \
        union {                                                                                              \
            struct {                                                                                         \
                T x, y;                                                                                      \
            };                                                                                               \
            Whole all;                                                                                       \
        };                                                                                                   \
        TILEGEN_WHOLE(NAME)                                                                                  \
        NAME(T x, T y) : x(x), y(y) {}                                                                       \
    };                                                                                                       \
    inline NAME make_##NAME(T x, T y) { return NAME(x, y); }

// Four values are one access up to 16 bytes; four of 8 bytes are aligned to 16, and copied as two.
#define TILEGEN_VECTOR4(T, NAME)                                                                             \
    struct alignas(4 * sizeof(T)) NAME {                                                                     \
        typedef T Whole __attribute__((vector_size(4 * sizeof(T))));                                         \
        union {                                                                                              \
            struct {                                                                                         \
                T x, y, z, w;                                                                                \
            };                                                                                               \
            Whole all;                                                                                       \
        };                                                                                                   \
        TILEGEN_WHOLE(NAME)                                                                                  \
        NAME(T x, T y, T z = 0, T w = 0) : x(x), y(y), z(z), w(w) {}                                         \
    };                                                                                                       \
    inline NAME make_##NAME(T x, T y, T z, T w) { return NAME(x, y, z, w); }

#define TILEGEN_VECTOR1(T, NAME)                                                                             \
    struct NAME {                                                                                            \
        T x;                                                                                                 \
    };                                                                                                       \
    inline NAME make_##NAME(T x) { return {x}; }
#define TILEGEN_VECTOR3(T, NAME)                                                                             \
    struct NAME {                                                                                            \
        T x, y, z;                                                                                           \
    };                                                                                                       \
    inline NAME make_##NAME(T x, T y, T z) { return {x, y, z}; }
#define TILEGEN_LONG_VECTOR4(T, NAME)                                                                        \
    struct alignas(16) NAME {                                                                                \
        T x, y, z, w;                                                                                        \
    };                                                                                                       \
    inline NAME make_##NAME(T x, T y, T z, T w) { return {x, y, z, w}; }

#define TILEGEN_VECTORS(T, NAME)                                                                             \
    TILEGEN_VECTOR1(T, NAME##1)                                                                              \
    TILEGEN_VECTOR2(T, NAME##2)                                                                              \
    TILEGEN_VECTOR3(T, NAME##3)                                                                              \
    TILEGEN_VECTOR4(T, NAME##4)
#define TILEGEN_LONG_VECTORS(T, NAME)                                                                        \
    TILEGEN_VECTOR1(T, NAME##1)                                                                              \
    TILEGEN_VECTOR2(T, NAME##2)                                                                              \
    TILEGEN_VECTOR3(T, NAME##3)                                                                              \
    TILEGEN_LONG_VECTOR4(T, NAME##4)

using uint3 = ::uint3;
using dim3 = ::dim3;
TILEGEN_VECTOR1(unsigned, uint1)
TILEGEN_VECTOR2(unsigned, uint2)
TILEGEN_VECTOR4(unsigned, uint4)
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
TILEGEN_VECTORS(signed char, char)
TILEGEN_VECTORS(unsigned char, uchar)
TILEGEN_VECTORS(short, short)
TILEGEN_VECTORS(unsigned short, ushort)
TILEGEN_VECTORS(int, int)
TILEGEN_VECTORS(float, float)
TILEGEN_LONG_VECTORS(double, double)
TILEGEN_LONG_VECTORS(long, long)
TILEGEN_LONG_VECTORS(unsigned long, ulong)
TILEGEN_LONG_VECTORS(long long, longlong)
TILEGEN_LONG_VECTORS(unsigned long long, ulonglong)

// 128 bytes that describe a tensor to the copy engine; filled by the launcher (see tensor_copy.h).
struct alignas(64) CUtensorMap {
    unsigned long long opaque[16];
};
using TensorMap = CUtensorMap;

} // namespace tilegen_emulator

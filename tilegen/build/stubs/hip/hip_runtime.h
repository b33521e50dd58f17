// The part of HIP's device interface that emitted kernels use, for compiling them without ROCm:
//
//   clang -x hip --offload-arch=gfx942 --offload-device-only -nogpuinc -nogpulib -I stubs -S kernel.hip
//
// It makes assembly to check and to measure. Programs that run use the header that ROCm brings.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
// As HIP does: the second number is the least waves on a SIMD unit, which bounds registers.
#define __launch_bounds__(THREADS, WAVES)                                                          \
    __attribute__((amdgpu_flat_work_group_size(1, THREADS), amdgpu_waves_per_eu(WAVES)))
#define TILEGEN_STUB static __device__ __forceinline__

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define assert(condition) ((condition) ? (void)0 : __builtin_trap())

typedef __SIZE_TYPE__ size_t;
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __UINTPTR_TYPE__ uintptr_t;

// ---- Vectors, by members --------------------------------------------------------------------
#define TILEGEN_VECTOR2(T, NAME) \
    struct __align__(2 * sizeof(T)) NAME { T x, y; }; \
    TILEGEN_STUB NAME make_##NAME(T x, T y) { return {x, y}; }
#define TILEGEN_VECTOR4(T, NAME) \
    struct __align__(4 * sizeof(T)) NAME { T x, y, z, w; }; \
    TILEGEN_STUB NAME make_##NAME(T x, T y, T z, T w) { return {x, y, z, w}; }
TILEGEN_VECTOR2(float, float2)
TILEGEN_VECTOR2(double, double2)
TILEGEN_VECTOR2(int, int2)
TILEGEN_VECTOR2(unsigned, uint2)
TILEGEN_VECTOR2(short, short2)
TILEGEN_VECTOR2(unsigned short, ushort2)
TILEGEN_VECTOR2(char, char2)
TILEGEN_VECTOR2(unsigned char, uchar2)
TILEGEN_VECTOR2(long long, longlong2)
TILEGEN_VECTOR4(float, float4)
TILEGEN_VECTOR4(int, int4)
TILEGEN_VECTOR4(unsigned, uint4)
TILEGEN_VECTOR4(short, short4)
TILEGEN_VECTOR4(unsigned short, ushort4)
TILEGEN_VECTOR4(char, char4)
TILEGEN_VECTOR4(unsigned char, uchar4)

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

// ---- Where a thread is ----------------------------------------------------------------------
#define TILEGEN_COORDINATES(NAME, X, Y, Z) \
    struct tilegen_##NAME { \
        static __device__ unsigned get_x() { return X; } \
        static __device__ unsigned get_y() { return Y; } \
        static __device__ unsigned get_z() { return Z; } \
        __declspec(property(get = get_x)) unsigned x; \
        __declspec(property(get = get_y)) unsigned y; \
        __declspec(property(get = get_z)) unsigned z; \
    }; \
    static const __device__ tilegen_##NAME NAME = {};
#define TILEGEN_BLOCKS(AXIS) __builtin_amdgcn_grid_size_##AXIS() / __builtin_amdgcn_workgroup_size_##AXIS()
TILEGEN_COORDINATES(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                    __builtin_amdgcn_workitem_id_z())
TILEGEN_COORDINATES(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                    __builtin_amdgcn_workgroup_id_z())
TILEGEN_COORDINATES(blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
                    __builtin_amdgcn_workgroup_size_z())
TILEGEN_COORDINATES(gridDim, TILEGEN_BLOCKS(x), TILEGEN_BLOCKS(y), TILEGEN_BLOCKS(z))

#define warpSize ((int)__builtin_amdgcn_wavefrontsize())

// ---- Barriers and fences --------------------------------------------------------------------
TILEGEN_STUB void __syncthreads()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ int __syncthreads_or(int predicate);
__device__ int __syncthreads_and(int predicate);
TILEGEN_STUB void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
TILEGEN_STUB void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }

// ---- Shuffles: values of 4 or 8 bytes, within groups of `width` lanes --------------------------
TILEGEN_STUB int tilegen_lane()
{
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

template <typename T>
TILEGEN_STUB T tilegen_read_lane(T value, int lane)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffled value has 4 or 8 bytes");
    int words[sizeof(T) / 4];
    __builtin_memcpy(words, &value, sizeof(T));
    for (unsigned i = 0; i < sizeof(T) / 4; ++i)
        words[i] = __builtin_amdgcn_ds_bpermute(4 * lane, words[i]);
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
}

template <typename T>
TILEGEN_STUB T __shfl(T value, int source, int width = warpSize)
{
    const int first = tilegen_lane() & -width;
    return tilegen_read_lane(value, first + (source & (width - 1)));
}

template <typename T>
TILEGEN_STUB T __shfl_xor(T value, int mask, int width = warpSize)
{
    const int lane = tilegen_lane(), source = lane ^ mask, end = (lane & -width) + width;
    return tilegen_read_lane(value, source < end ? source : lane);
}

template <typename T>
TILEGEN_STUB T __shfl_up(T value, unsigned distance, int width = warpSize)
{
    const int lane = tilegen_lane(), source = lane - (int)distance;
    return tilegen_read_lane(value, source >= (lane & -width) ? source : lane);
}

template <typename T>
TILEGEN_STUB T __shfl_down(T value, unsigned distance, int width = warpSize)
{
    const int lane = tilegen_lane(), source = lane + (int)distance, end = (lane & -width) + width;
    return tilegen_read_lane(value, source < end ? source : lane);
}

template <typename T>
TILEGEN_STUB T __shfl_xor_sync(unsigned long long, T value, int mask, int width = warpSize)
{
    return __shfl_xor(value, mask, width);
}

template <typename T>
TILEGEN_STUB T __shfl_sync(unsigned long long, T value, int source, int width = warpSize)
{
    return __shfl(value, source, width);
}

template <typename T>
TILEGEN_STUB T __shfl_up_sync(unsigned long long, T value, unsigned distance, int width = warpSize)
{
    return __shfl_up(value, distance, width);
}

template <typename T>
TILEGEN_STUB T __shfl_down_sync(unsigned long long, T value, unsigned distance, int width = warpSize)
{
    return __shfl_down(value, distance, width);
}

// ---- Counts of bits ---------------------------------------------------------------------------
TILEGEN_STUB int __popc(unsigned x) { return __builtin_popcount(x); }
TILEGEN_STUB int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
TILEGEN_STUB int __clz(int x) { return x ? __builtin_clz(x) : 32; }
TILEGEN_STUB int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }

// ---- Votes: a bit for each lane ---------------------------------------------------------------
TILEGEN_STUB unsigned long long __ballot(int predicate) { return __builtin_amdgcn_uicmp(predicate, 0, 33); }
TILEGEN_STUB int __any(int predicate) { return __ballot(predicate) != 0; }
TILEGEN_STUB int __all(int predicate) { return __ballot(predicate == 0) == 0; }

// ---- Atomics: the value before --------------------------------------------------------------
#define TILEGEN_ATOMIC(NAME, BUILTIN, T) \
    TILEGEN_STUB T NAME(T* address, T value) \
    { \
        return BUILTIN(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
    }
#define TILEGEN_ATOMICS(T) \
    TILEGEN_ATOMIC(atomicAdd, __hip_atomic_fetch_add, T) \
    TILEGEN_ATOMIC(atomicMax, __hip_atomic_fetch_max, T) \
    TILEGEN_ATOMIC(atomicMin, __hip_atomic_fetch_min, T) \
    TILEGEN_ATOMIC(atomicExch, __hip_atomic_exchange, T)
TILEGEN_ATOMICS(int)
TILEGEN_ATOMICS(unsigned)
TILEGEN_ATOMICS(unsigned long long)
TILEGEN_ATOMIC(atomicOr, __hip_atomic_fetch_or, int)
TILEGEN_ATOMIC(atomicOr, __hip_atomic_fetch_or, unsigned)
TILEGEN_ATOMIC(atomicOr, __hip_atomic_fetch_or, unsigned long long)
TILEGEN_ATOMIC(atomicMax, __hip_atomic_fetch_max, long long)
TILEGEN_ATOMIC(atomicMin, __hip_atomic_fetch_min, long long)
TILEGEN_ATOMICS(float)
TILEGEN_ATOMICS(double)

template <typename T>
TILEGEN_STUB T atomicCAS(T* address, T expected, T value)
{
    __hip_atomic_compare_exchange_strong(address, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                         __HIP_MEMORY_SCOPE_AGENT);
    return expected;
}

// ---- Mathematics ----------------------------------------------------------------------------
// What the compiler makes into instructions, and what ROCm's device library has. ROCm inlines the latter: a line of
// assembly with its name stands for it and takes eight registers meanwhile. A call would put all that lives into memory.
#define TILEGEN_BUILTIN(NAME, T) \
    TILEGEN_STUB T NAME(T x) { return __builtin_##NAME(x); }
#define TILEGEN_BUILTIN2(NAME, T) \
    TILEGEN_STUB T NAME(T x, T y) { return __builtin_##NAME(x, y); }
#define TILEGEN_EIGHT "=&v"(a), "=&v"(b), "=&v"(c), "=&v"(d), "=&v"(e), "=&v"(f), "=&v"(g), "=&v"(h)
#define TILEGEN_LIBRARY(NAME, LIBRARY, T) \
    TILEGEN_STUB T NAME(T x) \
    { \
        T y; \
        float a, b, c, d, e, f, g, h; \
        asm("; " #LIBRARY " %0, %9" : "=&v"(y), TILEGEN_EIGHT : "v"(x)); \
        return y; \
    }
#define TILEGEN_LIBRARY2(NAME, LIBRARY, T) \
    TILEGEN_STUB T NAME(T x, T y) \
    { \
        T z; \
        float a, b, c, d, e, f, g, h; \
        asm("; " #LIBRARY " %0, %9, %10" : "=&v"(z), TILEGEN_EIGHT : "v"(x), "v"(y)); \
        return z; \
    }
#define TILEGEN_BOTH(MACRO, NAME) MACRO(NAME##f, float) MACRO(NAME, double)
#define TILEGEN_LIBRARY_BOTH(MACRO, NAME) \
    MACRO(NAME##f, __ocml_##NAME##_f32, float) MACRO(NAME, __ocml_##NAME##_f64, double)
#define TILEGEN_SPLIT(NAME) \
    TILEGEN_BUILTIN(NAME##f, float) TILEGEN_LIBRARY(NAME, __ocml_##NAME##_f64, double)

TILEGEN_BOTH(TILEGEN_BUILTIN, sqrt)
TILEGEN_BOTH(TILEGEN_BUILTIN, fabs)
TILEGEN_BOTH(TILEGEN_BUILTIN, floor)
TILEGEN_BOTH(TILEGEN_BUILTIN, ceil)
TILEGEN_BOTH(TILEGEN_BUILTIN, trunc)
TILEGEN_BOTH(TILEGEN_BUILTIN, round)
TILEGEN_BOTH(TILEGEN_BUILTIN, rint)
TILEGEN_BOTH(TILEGEN_BUILTIN, nearbyint)
TILEGEN_BOTH(TILEGEN_BUILTIN2, fmax)
TILEGEN_BOTH(TILEGEN_BUILTIN2, fmin)
TILEGEN_BOTH(TILEGEN_BUILTIN2, fmod)
TILEGEN_BOTH(TILEGEN_BUILTIN2, copysign)
TILEGEN_SPLIT(exp)
TILEGEN_SPLIT(exp2)
TILEGEN_SPLIT(exp10)
TILEGEN_SPLIT(log)
TILEGEN_SPLIT(log2)
TILEGEN_SPLIT(log10)
TILEGEN_SPLIT(sin)
TILEGEN_SPLIT(cos)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY, tan)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY, asin)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY, acos)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY, atan)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY, sinh)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY, cosh)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY, tanh)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY, asinh)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY, acosh)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY, atanh)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY, erf)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY, erfc)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY, expm1)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY, log1p)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY, cbrt)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY2, pow)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY2, atan2)
TILEGEN_LIBRARY_BOTH(TILEGEN_LIBRARY2, hypot)

TILEGEN_STUB float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
TILEGEN_STUB double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
TILEGEN_STUB float rsqrtf(float x) { return __builtin_amdgcn_rsqf(x); }
TILEGEN_STUB double rsqrt(double x) { return __builtin_amdgcn_rsq(x); }
TILEGEN_STUB float __expf(float x) { return __builtin_expf(x); }
TILEGEN_STUB float __logf(float x) { return __builtin_logf(x); }
TILEGEN_STUB float __fdividef(float x, float y) { return x / y; }
TILEGEN_STUB float __frcp_rn(float x) { return 1 / x; }

template <typename T>
TILEGEN_STUB T min(T x, T y) { return y < x ? y : x; }
template <typename T>
TILEGEN_STUB T max(T x, T y) { return x < y ? y : x; }
TILEGEN_STUB int min(int x, int y) { return y < x ? y : x; }
TILEGEN_STUB int max(int x, int y) { return x < y ? y : x; }
TILEGEN_STUB int abs(int x) { return x < 0 ? -x : x; }
TILEGEN_STUB long long llabs(long long x) { return x < 0 ? -x : x; }
TILEGEN_STUB bool isnan(float x) { return __builtin_isnan(x); }
TILEGEN_STUB bool isnan(double x) { return __builtin_isnan(x); }
TILEGEN_STUB bool isinf(float x) { return __builtin_isinf(x); }
TILEGEN_STUB bool isinf(double x) { return __builtin_isinf(x); }

// ---- Bits -----------------------------------------------------------------------------------
TILEGEN_STUB unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
TILEGEN_STUB int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
TILEGEN_STUB float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
TILEGEN_STUB float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
TILEGEN_STUB long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
TILEGEN_STUB double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }

extern "C" __device__ int printf(const char* format, ...);

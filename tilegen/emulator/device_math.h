// The math functions of device code, by the compiler's builtins so that no library header is needed.
#pragma once
#include "types.h"

namespace tilegen_emulator {

#define TILEGEN_MATH1(NAME)                                                                                  \
    inline float NAME##f(float x) { return __builtin_##NAME##f(x); }                                         \
    inline float NAME(float x) { return __builtin_##NAME##f(x); }                                            \
    inline double NAME(double x) { return __builtin_##NAME(x); }                                             \
    inline double NAME(int x) { return __builtin_##NAME(double(x)); }
#define TILEGEN_MATH2(NAME)                                                                                  \
    inline float NAME##f(float x, float y) { return __builtin_##NAME##f(x, y); }                             \
    inline float NAME(float x, float y) { return __builtin_##NAME##f(x, y); }                                \
    inline double NAME(double x, double y) { return __builtin_##NAME(x, y); }

TILEGEN_MATH1(exp)
TILEGEN_MATH1(exp2)
TILEGEN_MATH1(expm1)
TILEGEN_MATH1(log)
TILEGEN_MATH1(log2)
TILEGEN_MATH1(log10)
TILEGEN_MATH1(log1p)
TILEGEN_MATH1(sqrt)
TILEGEN_MATH1(cbrt)
TILEGEN_MATH1(sin)
TILEGEN_MATH1(cos)
TILEGEN_MATH1(tan)
TILEGEN_MATH1(asin)
TILEGEN_MATH1(acos)
TILEGEN_MATH1(atan)
TILEGEN_MATH1(sinh)
TILEGEN_MATH1(cosh)
TILEGEN_MATH1(tanh)
TILEGEN_MATH1(asinh)
TILEGEN_MATH1(acosh)
TILEGEN_MATH1(atanh)
TILEGEN_MATH1(erf)
TILEGEN_MATH1(erfc)
TILEGEN_MATH1(tgamma)
TILEGEN_MATH1(lgamma)
TILEGEN_MATH1(floor)
TILEGEN_MATH1(ceil)
TILEGEN_MATH1(trunc)
TILEGEN_MATH1(round)
TILEGEN_MATH1(rint)
TILEGEN_MATH1(nearbyint)
TILEGEN_MATH1(fabs)
TILEGEN_MATH2(pow)
TILEGEN_MATH2(fmod)
TILEGEN_MATH2(fmin)
TILEGEN_MATH2(fmax)
TILEGEN_MATH2(atan2)
TILEGEN_MATH2(hypot)
TILEGEN_MATH2(copysign)
TILEGEN_MATH2(remainder)
TILEGEN_MATH2(fdim)
#undef TILEGEN_MATH1
#undef TILEGEN_MATH2

inline float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline float ldexpf(float x, int e) { return __builtin_ldexpf(x, e); }
inline double ldexp(double x, int e) { return __builtin_ldexp(x, e); }
inline float rsqrtf(float x) { return float(1 / __builtin_sqrt(double(x))); }
inline double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return float(1 / __builtin_cbrt(double(x))); }
inline float normcdff(float x) { return 0.5f * __builtin_erfcf(x * -0.70710678118654752f); }
inline float exp10f(float x) { return float(__builtin_pow(10.0, double(x))); }
inline double exp10(double x) { return __builtin_pow(10.0, x); }
inline void sincosf(float x, float* s, float* c)
{
    *s = __builtin_sinf(x);
    *c = __builtin_cosf(x);
}

inline bool isnan(double x) { return x != x; }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }
inline bool signbit(double x) { return __builtin_signbit(x); }
inline int abs(int x) { return x < 0 ? -x : x; }
inline long abs(long x) { return x < 0 ? -x : x; }
inline long long abs(long long x) { return x < 0 ? -x : x; }
inline long long llabs(long long x) { return x < 0 ? -x : x; }
inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }

// Approximate functions of the hardware: the emulator gives the exact ones.
inline float __expf(float x) { return __builtin_expf(x); }
inline float exp2_flushed(float x)
{
    const float y = __builtin_exp2f(x);
    return y < 1.17549435e-38f ? 0.0f : y;
}
inline float __exp2f(float x) { return __builtin_exp2f(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline float __logf(float x) { return __builtin_logf(x); }
inline float __log2f(float x) { return __builtin_log2f(x); }
inline float __log10f(float x) { return __builtin_log10f(x); }
inline float __sinf(float x) { return __builtin_sinf(x); }
inline float __cosf(float x) { return __builtin_cosf(x); }
inline float __tanf(float x) { return __builtin_tanf(x); }
inline float __powf(float x, float y) { return __builtin_powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
inline float __frcp_rn(float x) { return 1 / x; }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline float ex2(float x) { return __builtin_exp2f(x); }

inline int __float2int_rn(float x) { return int(__builtin_rintf(x)); }
inline int __float2int_rz(float x) { return int(x); }
inline int __float2int_rd(float x) { return int(__builtin_floorf(x)); }
inline int __float2int_ru(float x) { return int(__builtin_ceilf(x)); }
inline float __int2float_rn(int x) { return float(x); }

template <class T> struct IsFloating {
    static constexpr bool value = false;
};
template <> struct IsFloating<float> {
    static constexpr bool value = true;
};
template <> struct IsFloating<double> {
    static constexpr bool value = true;
};
template <> struct IsFloating<float16> {
    static constexpr bool value = true;
};
template <> struct IsFloating<bfloat16> {
    static constexpr bool value = true;
};

// A NaN loses against a number, as in fminf and fmaxf.
template <class A, class B> constexpr auto min(A a, B b) -> decltype(true ? A() : B())
{
    if constexpr (IsFloating<A>::value && IsFloating<B>::value)
        if (a != a) return b;
    return b < a ? b : a;
}
template <class A, class B> constexpr auto max(A a, B b) -> decltype(true ? A() : B())
{
    if constexpr (IsFloating<A>::value && IsFloating<B>::value)
        if (a != a) return b;
    return a < b ? b : a;
}
inline int umin(unsigned a, unsigned b) { return int(min(a, b)); }
inline int umax(unsigned a, unsigned b) { return int(max(a, b)); }

// ---- Bits and bytes ------------------------------------------------------------------------------
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x)
{
    unsigned result = 0;
    for (int i = 0; i < 32; ++i) result |= (x >> i & 1) << (31 - i);
    return result;
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    const uint64_t bytes = uint64_t(b) << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned pick = selector >> (4 * i) & 15, byte = unsigned(bytes >> (pick % 8 * 8)) & 255;
        result |= (pick & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
    }
    return result;
}
inline int __mul24(int a, int b) { return a * b; }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(uint64_t(a) * b >> 32); }
inline int __mulhi(int a, int b) { return int(int64_t(a) * b >> 32); }
inline int __dp4a(int a, int b, int c)
{
    for (int i = 0; i < 4; ++i) c += int(int8_t(a >> (8 * i))) * int(int8_t(b >> (8 * i)));
    return c;
}

// ---- Loads and stores with a cache hint ----------------------------------------------------------
template <class T> inline T __ldg(const T* p) { return *p; }
template <class T> inline T __ldcg(const T* p) { return *p; }
template <class T> inline T __ldca(const T* p) { return *p; }
template <class T> inline T __ldcs(const T* p) { return *p; }
template <class T> inline T __ldcv(const T* p) { return *p; }
template <class T> inline void __stcg(T* p, T value) { *p = value; }
template <class T> inline void __stcs(T* p, T value) { *p = value; }
template <class T> inline void __stwt(T* p, T value) { *p = value; }
template <class T> inline T __builtin_nontemporal_load(const T* p) { return *p; }

inline long long clock64() { return 0; }
inline int clock() { return 0; }

} // namespace tilegen_emulator

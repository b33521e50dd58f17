// The 16-bit and 8-bit floats, rounded to nearest even as the hardware does.
#pragma once
#include "language.h"

namespace tilegen_emulator {

inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}
inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

// A float of 1 sign, EXPONENT and MANTISSA bits. FINITE: no infinities, the all-ones pattern is NaN.
template <int EXPONENT, int MANTISSA, bool FINITE> struct SmallFloat {
    static constexpr int bias = (1 << (EXPONENT - 1)) - 1;
    static constexpr uint32_t sign = 1u << (EXPONENT + MANTISSA);
    static constexpr uint32_t infinity = ((1u << EXPONENT) - 1) << MANTISSA;
    static constexpr uint32_t nan = FINITE ? sign - 1 : infinity | 1u << (MANTISSA - 1);
    static constexpr uint32_t overflow = FINITE ? nan : infinity;
    static constexpr uint32_t first_overflow = FINITE ? nan : infinity;

    static uint32_t encode(float value)
    {
        const uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffffu;
        const uint32_t negative = bits >> 31 ? sign : 0;
        if (magnitude > 0x7f800000u) return negative | nan;
        if (magnitude == 0x7f800000u) return negative | overflow;
        const int exponent = int(magnitude >> 23) - 127;
        const int below = 1 - bias - exponent; // > 0: the result is subnormal
        if (below > 24 || magnitude < 0x00800000u) {
            return EXPONENT == 8 ? negative | round_shift(magnitude, 23 - MANTISSA) : negative;
        }
        if (below > 0 && 23 - MANTISSA + below > 25) return negative;
        if (below > 0) {
            return negative | round_shift((magnitude & 0x7fffffu) | 0x800000u, 23 - MANTISSA + below);
        }
        const uint32_t rounded = round_shift(magnitude, 23 - MANTISSA) - (uint32_t(127 - bias) << MANTISSA);
        return negative | (rounded >= first_overflow ? overflow : rounded);
    }

    static float decode(uint32_t bits)
    {
        const uint32_t negative = bits & sign ? 0x80000000u : 0, magnitude = bits & (sign - 1);
        if (FINITE ? magnitude == nan : magnitude > infinity) return float_of(negative | 0x7fc00000u);
        if (!FINITE && magnitude == infinity) return float_of(negative | 0x7f800000u);
        if (EXPONENT == 8) return float_of(negative | magnitude << (23 - MANTISSA));
        // The bits read as a float are 2 ** (127 - bias) too small, for normal and subnormal values.
        const float scale = float_of(uint32_t(127 + 127 - bias) << 23);
        return float_of(negative | bits_of(float_of(magnitude << (23 - MANTISSA)) * scale));
    }

    static uint32_t round_shift(uint32_t value, int shift)
    {
        const uint32_t odd = value >> shift & 1;
        return (value + (1u << (shift - 1)) - 1 + odd) >> shift;
    }
};

// The nearest float towards zero, with its last bit set if that was inexact: rounding this again to
// fewer bits gives the same as rounding the double once.
inline float round_to_odd(double value)
{
    float near = float(value);
    if (double(near) == value || value != value) return near;
    uint32_t bits = bits_of(near);
    const double error = double(near) - value;
    if (near - near != 0 || (error > 0) == (value > 0)) --bits; // it was rounded away from zero
    return float_of(bits | 1);
}

#define TILEGEN_FLOAT(NAME, STORAGE, FORMAT)                                                                 \
    struct NAME {                                                                                            \
        STORAGE bits;                                                                                        \
        typedef FORMAT format;                                                                               \
        NAME() = default;                                                                                    \
        NAME(float value) : bits(STORAGE(format::encode(value))) {}                                          \
        NAME(double value) : bits(STORAGE(format::encode(round_to_odd(value)))) {}                           \
        NAME(int value) : NAME(double(value)) {}                                                             \
        NAME(unsigned value) : NAME(double(value)) {}                                                        \
        NAME(long value) : NAME(float(value)) {}                                                             \
        NAME(unsigned long value) : NAME(float(value)) {}                                                    \
        NAME(long long value) : NAME(float(value)) {}                                                        \
        NAME(unsigned long long value) : NAME(float(value)) {}                                               \
        operator float() const { return format::decode(bits); }                                              \
        NAME& operator+=(float value) { return *this = NAME(float(*this) + value); }                         \
        NAME& operator-=(float value) { return *this = NAME(float(*this) - value); }                         \
        NAME& operator*=(float value) { return *this = NAME(float(*this) * value); }                         \
        NAME& operator/=(float value) { return *this = NAME(float(*this) / value); }                         \
    };

typedef SmallFloat<5, 10, false> Format16;
typedef SmallFloat<8, 7, false> FormatBrain;
typedef SmallFloat<4, 3, true> FormatE4M3;
typedef SmallFloat<5, 2, false> FormatE5M2;
TILEGEN_FLOAT(float16, uint16_t, Format16)
TILEGEN_FLOAT(bfloat16, uint16_t, FormatBrain)
TILEGEN_FLOAT(float8_e4m3, uint8_t, FormatE4M3)
TILEGEN_FLOAT(float8_e5m2, uint8_t, FormatE5M2)
#undef TILEGEN_FLOAT

// The vendors' names for the same types.
typedef float16 half;
typedef float16 __half;
typedef bfloat16 __nv_bfloat16;
typedef bfloat16 __hip_bfloat16;
typedef bfloat16 maca_bfloat16;
typedef float8_e4m3 __nv_fp8_e4m3;
typedef float8_e5m2 __nv_fp8_e5m2;
struct alignas(4) half2 {
    half x, y;
};
struct alignas(4) __nv_bfloat162 {
    bfloat16 x, y;
};
typedef half2 __half2;

inline half __float2half(float value) { return half(value); }
inline half __float2half_rn(float value) { return half(value); }
inline float __half2float(half value) { return float(value); }
inline bfloat16 __float2bfloat16(float value) { return bfloat16(value); }
inline float __bfloat162float(bfloat16 value) { return float(value); }
inline half2 __floats2half2_rn(float x, float y) { return {half(x), half(y)}; }
inline half2 __float22half2_rn(float2 v) { return {half(v.x), half(v.y)}; }
inline float2 __half22float2(half2 v) { return {float(v.x), float(v.y)}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {bfloat16(x), bfloat16(y)}; }

// Two values as the low and the high half of a register.
inline unsigned pack_float16(float low, float high)
{ return unsigned(half(low).bits) | unsigned(half(high).bits) << 16; }
inline unsigned pack_bfloat16(float low, float high)
{ return unsigned(bfloat16(low).bits) | unsigned(bfloat16(high).bits) << 16; }
inline unsigned pack_bf16(float low, float high) { return pack_bfloat16(low, high); }

// Instructions on two float16 in a register, each result rounded once, and x & mask | bits.
inline half half_of(unsigned bits)
{
    half value;
    value.bits = uint16_t(bits);
    return value;
}
inline unsigned add_pairs(unsigned a, unsigned b)
{ return pack_float16(half_of(a) + half_of(b), half_of(a >> 16) + half_of(b >> 16)); }
inline unsigned subtract_pairs(unsigned a, unsigned b)
{ return pack_float16(half_of(a) - half_of(b), half_of(a >> 16) - half_of(b >> 16)); }
inline unsigned multiply_pairs(unsigned a, unsigned b)
{ return pack_float16(half_of(a) * half_of(b), half_of(a >> 16) * half_of(b >> 16)); }
inline unsigned and_or(unsigned x, unsigned mask, unsigned bits) { return (x & mask) | bits; }

inline int __float_as_int(float value) { return int(bits_of(value)); }
inline unsigned __float_as_uint(float value) { return bits_of(value); }
inline float __int_as_float(int bits) { return float_of(unsigned(bits)); }
inline float __uint_as_float(unsigned bits) { return float_of(bits); }
inline long long __double_as_longlong(double value)
{
    long long b;
    memcpy(&b, &value, 8);
    return b;
}
inline double __longlong_as_double(long long bits)
{
    double v;
    memcpy(&v, &bits, 8);
    return v;
}
inline unsigned short __half_as_ushort(half value) { return value.bits; }
inline half __ushort_as_half(unsigned short bits)
{
    half h;
    h.bits = bits;
    return h;
}

} // namespace tilegen_emulator

// The upper half of a float, rounded to nearest even when stored. NaN stays NaN.
struct bfloat16 {
    unsigned short bits;
    bfloat16() = default;
//% if target.rounds_bfloat16
    __device__ bfloat16(float value) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value)); }
//% else
    __device__ bfloat16(float value)
    {
        const unsigned whole = bits_of(value);
        bits = value == value ? (whole + 0x7fff + (whole >> 16 & 1)) >> 16 : 0x7fff;
    }
//% endif
    __device__ operator float() const { return float_of(unsigned(bits) << 16); }
};

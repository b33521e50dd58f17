// 1 sign, 4 exponent and 3 mantissa bits, no infinity. Rounded to nearest even; too large is NaN.
struct float8_e4m3 {
    unsigned char bits;
    float8_e4m3() = default;
    __device__ float8_e4m3(float value)
    {
        const unsigned whole = bits_of(value), magnitude = whole & 0x7fffffff;
        unsigned code = (magnitude + 0x7ffff + (magnitude >> 20 & 1)) >> 20;
        if (magnitude < 0x3c800000)         // below 2^-6: a multiple of 2^-9
            code = bits_of(float_of(magnitude) * 512.0f + 8388608.0f) & 0xf;
        else
            code = code - 960 < 0x7f ? code - 960 : 0x7f;
        bits = code | (whole >> 24 & 0x80);
    }
    __device__ operator float() const
    {
        const float magnitude = float_of((bits & 0x7f) << 20) * 0x1p120f;
        const float value = (bits & 0x7f) == 0x7f ? float_of(0x7fffffff) : magnitude;
        return bits & 0x80 ? -value : value;
    }
};

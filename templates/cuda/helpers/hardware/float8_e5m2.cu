// 1 sign, 5 exponent and 2 mantissa bits, with infinity. Rounded to nearest even.
struct float8_e5m2 {
    unsigned char bits;
    float8_e5m2() = default;
    __device__ float8_e5m2(float value)
    {
        const unsigned whole = bits_of(value), magnitude = whole & 0x7fffffff;
        unsigned code = (magnitude + 0xfffff + (magnitude >> 21 & 1)) >> 21;
        if (magnitude < 0x38800000)         // below 2^-14: a multiple of 2^-16
            code = bits_of(float_of(magnitude) * 65536.0f + 8388608.0f) & 0xf;
        else
            code = code - 448 < 0x7c ? code - 448 : value == value ? 0x7c : 0x7e;
        bits = code | (whole >> 24 & 0x80);
    }
    __device__ operator float() const
    {
        const unsigned code = bits & 0x7f;
        const float magnitude = float_of(code << 21) * 0x1p112f;
        const unsigned special = code == 0x7c ? 0x7f800000 : 0x7fffffff;
        const float value = code < 0x7c ? magnitude : float_of(special);
        return bits & 0x80 ? -value : value;
    }
};

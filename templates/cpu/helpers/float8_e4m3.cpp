// 4 bits of exponent, 3 of mantissa, no infinity: what is too large becomes NaN.
struct float8_e4m3 {
    unsigned char bits;
    float8_e4m3() = default;
    float8_e4m3(float x)
        : bits(static_cast<unsigned char>(float8_bits<3, -6>(x, 0x7f) | std::signbit(x) << 7)) {}
    operator float() const
    {
        if ((bits & 0x7f) == 0x7f) return not_a_number();
        const unsigned word = (bits & 0x80u) << 24 | (bits & 0x7fu) << 20;
        float x;
        memcpy(&x, &word, sizeof x);
        return x * 0x1p120f;
    }
};

// 5 bits of exponent, 2 of mantissa: the upper half of a float16.
struct float8_e5m2 {
    unsigned char bits;
    float8_e5m2() = default;
    float8_e5m2(float x)
        : bits(static_cast<unsigned char>(
              (x != x ? 0x7e : float8_bits<2, -14>(x, 0x7c)) | std::signbit(x) << 7)) {}
    operator float() const { return _cvtsh_ss(static_cast<unsigned short>(bits << 8)); }
};

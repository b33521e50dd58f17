// |x| rounded to nearest even, as a number of MANTISSA bits whose normal exponents begin at LOWEST;
// `overflow` stands for all that is larger than `overflow - 1`.
template <int MANTISSA, int LOWEST>
static inline int float8_bits(float x, int overflow)
{
    const float size = std::fabs(x);
    if (!(size < 65536.0f)) return overflow;
    const int exponent = std::max(size == 0 ? LOWEST : std::ilogb(size), LOWEST);
    const int digits = int(std::nearbyint(std::ldexp(size, MANTISSA - exponent)));
    return std::min(((exponent - LOWEST) << MANTISSA) + digits, overflow);
}

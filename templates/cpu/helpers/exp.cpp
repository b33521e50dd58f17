// e to the x: 2^n e^r with |r| <= ln(2) / 2, in which e^r is a polynomial.
// Error: 1.1 units in the last place.
static inline float32x8 exp(float32x8 x)
{
    x = _mm256_min_ps(broadcast(89.0f), _mm256_max_ps(broadcast(-104.0f), x));   // a NaN stays one
    const float32x8 n = nearbyint(x * 1.44269504f);
    const float32x8 r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float32x8 p = r * 0.00138131448f + 0.00836941879f;
    p = p * r + 0.041668456f;
    p = p * r + 0.166665152f;
    p = p * r + 0.49999994f;
    return times_power_of_two(p * r * r + r + 1.0f, to_int32(n));
}

// x, which is not negative, with the sign of y.
static inline float32x8 with_sign_of(float32x8 x, float32x8 y)
{
    return _mm256_or_ps(x, _mm256_and_ps(y, broadcast(-0.0f)));
}

static inline float32x8 trunc(float32x8 x)
{
    return _mm256_round_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

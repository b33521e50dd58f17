// As float16 would keep it.
static inline float32x8 round_to_float16(float32x8 x)
{
    return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

// As bfloat16 would keep it.
static inline float32x8 round_to_bfloat16(float32x8 x)
{
    bfloat16 rounded[8];
    store_bfloat16(rounded, x);
    return load_bfloat16(rounded);
}

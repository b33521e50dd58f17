// A polynomial near 0, 1 - 2 / (e^2x + 1) elsewhere. Error: 1.4 units in the last place.
static inline float32x8 tanh(float32x8 x)
{
    const float32x8 size = abs(x), square = x * x;
    float32x8 p = square * -0.00570498686f + 0.0206390861f;
    p = p * square - 0.0537397154f;
    p = p * square + 0.133314416f;
    p = p * square - 0.333332807f;
    const float32x8 far = 1.0f - 2.0f / (exp(size + size) + 1.0f);
    return size < 0.625f ? p * square * x + x : with_sign_of(far, x);
}

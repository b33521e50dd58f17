// A polynomial near 0, 1 - e^-p(|x|) elsewhere. Error: 1.4 units in the last place.
static inline float32x8 erf(float32x8 x)
{
    const float32x8 size = abs(x) > 3.95f ? broadcast(3.95f) : abs(x), square = x * x;
    float32x8 near = square * -0.000595374149f + 0.00498594064f;
    near = near * square - 0.02676172f;
    near = near * square + 0.112816826f;
    near = near * square - 0.376124799f;
    near = near * square + 0.128379151f;
    float32x8 p = size * -0.000195936969f + 0.00304321479f;
    p = p * size - 0.022226911f;
    p = p * size + 0.103931576f;
    p = p * size + 0.637182295f;
    p = p * size + 1.12767565f;
    const float32x8 far = 1.0f - exp(-0.000195678876f - p * size);
    return abs(x) < 0.93f ? near * x + x : with_sign_of(far, x);
}

// The natural logarithm: x = 2^n (1 + f), in which log(1 + f) is a polynomial.
// Error: 0.9 units in the last place.
static inline float32x8 log(float32x8 x)
{
    const float32x8 tiny = broadcast(1.17549435e-38f);
    const float32x8 scaled = x < tiny ? x * 8388608.0f : x;            // subnormals by 2^23
    const int32x8 shifted = int32x8(scaled) - 0x3f3504f3;              // sqrt(1/2)
    const float32x8 n = to_float32(shifted >> 23) - (x < tiny ? broadcast(23.0f) : float32x8{});
    const float32x8 f = float32x8((shifted & 0x7fffff) + 0x3f3504f3) - 1.0f;
    float32x8 p = f * -0.0763449669f + 0.127615765f;
    p = p * f - 0.131601825f;
    p = p * f + 0.142017573f;
    p = p * f - 0.166233569f;
    p = p * f + 0.200012267f;
    p = p * f - 0.250008196f;
    p = p * f + 0.333333313f;
    const float32x8 square = f * f;
    float32x8 y = p * f * square - n * 2.12194440e-4f - square * 0.5f + f + n * 0.693359375f;
    y = x == infinity() ? x : y;
    y = x == 0.0f ? broadcast(-infinity()) : y;
    return x >= 0.0f ? y : broadcast(not_a_number());
}

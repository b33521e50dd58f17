// Error: 2 units in the last place.
static inline float32x8 log2(float32x8 x) { return log(x) * 1.44269504f; }

// IEEE half precision: a float when it is computed with, rounded to nearest even when stored.
struct float16 {
    _Float16 value;
    float16() = default;
    __device__ float16(float x) : value(static_cast<_Float16>(x)) {}
    __device__ operator float() const { return static_cast<float>(value); }
};

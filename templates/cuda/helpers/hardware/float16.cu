// IEEE half precision: a float when it is computed with, rounded to nearest even when stored.
struct float16 {
    unsigned short bits;
    float16() = default;
    __device__ float16(float value) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value)); }
    __device__ operator float() const
    {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
        return value;
    }
};

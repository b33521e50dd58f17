// IEEE half precision. Arithmetic happens in float.
struct float16 {
    unsigned short bits;
    float16() = default;
    float16(float x) : bits(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT)) {}
    operator float() const { return _cvtsh_ss(bits); }
};

// The upper half of a float, rounded to nearest even. Arithmetic happens in float.
struct bfloat16 {
    unsigned short bits;
    bfloat16() = default;
    bfloat16(float x)
    {
        unsigned word;
        memcpy(&word, &x, sizeof word);
        const unsigned rounded = word + 0x7fff + (word >> 16 & 1);
        bits = (x != x ? word | 0x400000 : rounded) >> 16;
    }
    operator float() const
    {
        const unsigned word = unsigned(bits) << 16;
        float x;
        memcpy(&x, &word, sizeof x);
        return x;
    }
};

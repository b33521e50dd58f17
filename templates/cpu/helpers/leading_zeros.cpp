// How many bits stand before the highest one that is set.
template <class T> static inline int leading_zeros(T x)
{
    const int unused = 64 - 8 * int(sizeof x);
    return x == 0 ? 64 - unused : __builtin_clzll(std::make_unsigned_t<T>(x)) - unused;
}

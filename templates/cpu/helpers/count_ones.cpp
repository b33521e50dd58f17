// How many bits of an integer are set.
template <class T> static inline int count_ones(T x)
{
    return __builtin_popcountll(std::make_unsigned_t<T>(x));
}

// Of a NaN and a number, the number.
template <class V> static inline V max(V a, V b)
{
    const auto first = (a > b) | (b != b);
    return first ? a : b;
}

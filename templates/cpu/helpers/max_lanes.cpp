template <class V> static inline auto max_lanes(V x)
{
    auto largest = x[0] > x[1] ? x[0] : x[1];
    for (unsigned lane = 2; lane < sizeof x / sizeof largest; ++lane)
        largest = x[lane] > largest ? x[lane] : largest;
    return largest;
}

template <class V> static inline auto min_lanes(V x)
{
    auto least = x[0] < x[1] ? x[0] : x[1];
    for (unsigned lane = 2; lane < sizeof x / sizeof least; ++lane)
        least = x[lane] < least ? x[lane] : least;
    return least;
}

template <class V> static inline auto sum_lanes(V x)
{
    auto sum = x[0] + x[1];
    for (unsigned lane = 2; lane < sizeof x / sizeof sum; ++lane) sum += x[lane];
    return sum;
}

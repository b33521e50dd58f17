// The first `count` elements; `beyond` in the lanes after them.
static inline int32x8 load_int8_first(const signed char* p, int count, int beyond = 0)
{
    int32x8 x = broadcast(beyond);
    for (int lane = 0; lane < std::min(count, 8); ++lane) x[lane] = p[lane];
    return x;
}

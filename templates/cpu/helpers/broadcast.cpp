// A vector with x in every lane.
template <class T> static inline auto broadcast(T x)
{
    typedef T vector __attribute__((vector_size(32)));
    return x - vector{};
}

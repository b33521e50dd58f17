// N elements that move as one access.
template <class T, int N> struct alignas(sizeof(T) * N) Vector { T data[N]; };

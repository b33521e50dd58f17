template <class T> __device__ T min_of(T x, T other) { return x < other ? x : other; }

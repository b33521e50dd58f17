template <class T> __device__ T sum_of(T x, T other) { return x + other; }

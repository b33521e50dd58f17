template <class T> __device__ T max_of(T x, T other) { return x > other ? x : other; }
